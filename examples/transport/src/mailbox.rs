//! A whole transport in one file: programs on one machine that meet in a folder, where each bus has a mailbox.
//!
//! A mailbox is a file that senders append to, and a pipe that wakes the reader. The transport has what every transport must
//! have and nothing else: it reports no buffers to the bus, filters by no subscriptions, and gives no counts.

use bowline::bus::diagnosis::examine_by_check;
use bowline::bus::transport::{OpenError, Outgoing, ReceiveError, SendError, Transport};
use bowline::bus::{Arrival, BadUrl, Body, Bytes, Inlet, Scheme, Sender, Url, Wait, wall_ns};
use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The row of the table.
pub(crate) static SCHEME: Scheme = Scheme {
    name: "mailbox",
    summary: "between programs on one machine, through files",
    example: "mailbox://NAME",
    options: &[],
    capabilities: &[],
    check,
    open,
    examine: examine_by_check,
    checks: &[],
};

/// What a mailbox holds at most, bytes: a reader that does not read loses what comes then, as with a full socket.
const MAX_UNREAD: u64 = 64 << 20;

fn check(url: &Url) -> Result<(), BadUrl> {
    if url.address().contains('/') {
        return Err(BadUrl::new(
            url.to_string(),
            "expected a name without a slash",
        ));
    }
    url.options().finish()
}

fn open(url: &Url) -> Result<Arc<dyn Transport>, OpenError> {
    check(url)?;
    let place = std::env::temp_dir()
        .join("bowline-mailboxes")
        .join(url.address());
    let mailbox = Mailbox::open(place).map_err(OpenError::system("make a mailbox"))?;
    Ok(Arc::new(mailbox))
}

#[derive(Debug)]
struct Mailbox {
    /// With a folder for each mailbox.
    place: PathBuf,
    /// Of the whole place, so that all receive in one order. A lock of the file is one of the process.
    lock: Mutex<File>,
    folder: PathBuf,
    mail: File,
    bell: File,
}

impl Mailbox {
    fn open(place: PathBuf) -> io::Result<Self> {
        static N_OPENED: AtomicU64 = AtomicU64::new(0);
        fs::create_dir_all(&place)?;
        let mut options = OpenOptions::new();
        options.create(true).append(true);
        let lock = options.open(place.join("lock"))?;
        let nth = N_OPENED.fetch_add(1, Ordering::Relaxed);
        let folder = place.join(format!("{}-{nth}", std::process::id()));
        // Senders take a mailbox without a reader for one that was left behind.
        lock.lock()?;
        // An earlier process of that number may have left it.
        drop(fs::remove_dir_all(&folder));
        fs::create_dir(&folder)?;
        mkfifo(&folder.join("bell"), Mode::S_IRUSR | Mode::S_IWUSR)?;
        let mut at_once = OpenOptions::new();
        at_once.custom_flags(OFlag::O_NONBLOCK.bits());
        let bell = at_once.read(true).write(true).open(folder.join("bell"))?;
        let mail = options.read(true).open(folder.join("mail"))?;
        lock.unlock()?;
        Ok(Self {
            place,
            lock: Mutex::new(lock),
            folder,
            mail,
            bell,
        })
    }

    /// Does something while no other bus of the place sends or receives.
    fn alone<T>(&self, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        lock.lock()?;
        let done = work();
        lock.unlock()?;
        done
    }

    /// Takes out what has arrived.
    fn take(&self) -> io::Result<Vec<u8>> {
        let mut mail = Vec::new();
        (&self.mail).rewind()?;
        (&self.mail).read_to_end(&mut mail)?;
        self.mail.set_len(0)?;
        Ok(mail)
    }
}

/// Puts records into all mailboxes of a place.
fn deliver(place: &Path, records: &[u8]) -> io::Result<()> {
    let mut at_once = OpenOptions::new();
    at_once.write(true).custom_flags(OFlag::O_NONBLOCK.bits());
    for entry in fs::read_dir(place)? {
        let folder = entry?.path();
        if !folder.is_dir() {
            continue;
        }
        let Ok(mut bell) = at_once.open(folder.join("bell")) else {
            // Its reader has ended without closing it.
            drop(fs::remove_dir_all(&folder));
            continue;
        };
        let mut mail = OpenOptions::new().append(true).open(folder.join("mail"))?;
        if mail.metadata()?.len() + records.len() as u64 <= MAX_UNREAD {
            mail.write_all(records)?;
        }
        // A full one wakes the reader already.
        drop(bell.write(&[1]));
    }
    Ok(())
}

impl Transport for Mailbox {
    fn send(&self, messages: &[Outgoing<'_>]) -> Result<(), SendError> {
        let mut records = Vec::new();
        for message in messages {
            for part in [message.channel.as_bytes(), message.payload] {
                records.extend_from_slice(&(part.len() as u64).to_le_bytes());
                records.extend_from_slice(part);
            }
        }
        Ok(self.alone(|| deliver(&self.place, &records))?)
    }

    fn receive(&self, inlet: &mut Inlet, wait: &Wait<'_>) -> Result<(), ReceiveError> {
        let mut fds = [
            PollFd::new(self.bell.as_fd(), PollFlags::POLLIN),
            PollFd::new(wait.interrupt(), PollFlags::POLLIN),
        ];
        let timeout = wait.left().map_or(PollTimeout::NONE, |left| {
            // Rounded up, so that a short time is not spent in turns.
            let ms = left.as_micros().div_ceil(1_000);
            PollTimeout::try_from(ms).unwrap_or(PollTimeout::MAX)
        });
        poll(&mut fds, timeout).map_err(io::Error::from)?;
        // First, so that what comes later wakes the reader again.
        if !(&self.bell).read(&mut [0; 4_096]).is_ok_and(|n| n > 0) {
            return Ok(());
        }
        let mut mail = Bytes::from(self.alone(|| self.take())?);
        while let Some((channel, payload)) = part(&mut mail).zip(part(&mut mail)) {
            let arrival = Arrival {
                received_ns: wall_ns(),
                // A mailbox does not keep who it was.
                sender: Sender::Hub,
                sequence: None,
            };
            if let Ok(channel) = str::from_utf8(&channel) {
                inlet.deliver(channel, Body::Owned(payload), arrival);
            }
        }
        Ok(())
    }
}

/// Takes the next part of a record; none if there is no whole one.
fn part(mail: &mut Bytes) -> Option<Bytes> {
    let length = u64::from_le_bytes(*mail.first_chunk()?);
    let end = usize::try_from(length).ok()?.checked_add(8)?;
    (end <= mail.len()).then(|| mail.split_to(end).split_off(8))
}

impl Drop for Mailbox {
    fn drop(&mut self) {
        drop(self.alone(|| fs::remove_dir_all(&self.folder)));
    }
}
