//! Lines of the system: serial ports, and pseudo-terminals that look like one.

use super::{Arguments, Parity};
use crate::input::Usage;
use anyhow::Context as _;
use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::pty::{PtyMaster, grantpt, posix_openpt, ptsname_r, unlockpt};
use nix::sys::termios::{
    BaudRate, ControlFlags, FlushArg, SetArg, Termios, cfmakeraw, cfsetspeed, tcflush, tcgetattr,
    tcsetattr,
};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{OpenOptionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How a line is opened, again and again.
pub(super) enum Open {
    /// A serial port.
    Device { device: PathBuf, settings: Settings },
    /// A pseudo-terminal, which is there all the time.
    Pty(Pty),
}

/// A line that is open.
pub(super) enum Line {
    Device(File),
    Pty(PtyMaster),
}

/// A pseudo-terminal with a link to its other end. Dropped, the link is gone.
pub(super) struct Pty {
    link: PathBuf,
    /// Until it is taken.
    master: Option<PtyMaster>,
    /// So that those who come and go at the other end do not hang it up.
    other_end: File,
}

/// How fast, and what a byte looks like.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    baud: BaudRate,
    bits_per_s: u32,
    bits: u8,
    parity: Parity,
    stop_bits: u8,
}

const BAUDS: [(u32, BaudRate); 22] = [
    (300, BaudRate::B300),
    (600, BaudRate::B600),
    (1_200, BaudRate::B1200),
    (1_800, BaudRate::B1800),
    (2_400, BaudRate::B2400),
    (4_800, BaudRate::B4800),
    (9_600, BaudRate::B9600),
    (19_200, BaudRate::B19200),
    (38_400, BaudRate::B38400),
    (57_600, BaudRate::B57600),
    (115_200, BaudRate::B115200),
    (230_400, BaudRate::B230400),
    (460_800, BaudRate::B460800),
    (500_000, BaudRate::B500000),
    (576_000, BaudRate::B576000),
    (921_600, BaudRate::B921600),
    (1_000_000, BaudRate::B1000000),
    (1_152_000, BaudRate::B1152000),
    (1_500_000, BaudRate::B1500000),
    (2_000_000, BaudRate::B2000000),
    (3_000_000, BaudRate::B3000000),
    (4_000_000, BaudRate::B4000000),
];

impl Settings {
    /// The requested line; or which there are.
    pub(super) fn new(arguments: &Arguments) -> Result<Self, String> {
        let found = BAUDS.iter().find(|(baud, _)| *baud == arguments.baud);
        let Some((_, baud)) = found else {
            let known: Vec<String> = BAUDS.iter().map(|(baud, _)| baud.to_string()).collect();
            return Err(format!(
                "--baud: expected one of {}, found {}",
                known.join(", "),
                arguments.baud
            ));
        };
        Ok(Self {
            baud: *baud,
            bits_per_s: arguments.baud,
            bits: arguments.bits,
            parity: arguments.parity,
            stop_bits: arguments.stop_bits,
        })
    }

    /// How long a byte takes, with the bits around it.
    fn byte(&self) -> Duration {
        let n_bits = 1 + self.bits + u8::from(self.parity != Parity::None) + self.stop_bits;
        Duration::from_secs(1) * n_bits.into() / self.bits_per_s
    }

    fn apply(&self, termios: &mut Termios) -> nix::Result<()> {
        cfmakeraw(termios);
        cfsetspeed(termios, self.baud)?;
        let flags = &mut termios.control_flags;
        flags.remove(ControlFlags::CSIZE | ControlFlags::CRTSCTS);
        flags.insert(ControlFlags::CLOCAL | ControlFlags::CREAD);
        flags.insert(match self.bits {
            7 => ControlFlags::CS7,
            _ => ControlFlags::CS8,
        });
        flags.set(ControlFlags::CSTOPB, self.stop_bits == 2);
        flags.set(ControlFlags::PARENB, self.parity != Parity::None);
        flags.set(ControlFlags::PARODD, self.parity == Parity::Odd);
        Ok(())
    }
}

impl Open {
    /// Makes a pseudo-terminal, which others find at a link.
    pub(super) fn pty(link: &Path) -> anyhow::Result<Self> {
        Ok(Self::Pty(Pty::new(link)?))
    }

    pub(super) fn name(&self) -> String {
        match self {
            Self::Device { device, .. } => device.display().to_string(),
            Self::Pty(pty) => pty.link.display().to_string(),
        }
    }

    /// How long a byte takes on its way; unknown for a pseudo-terminal.
    pub(super) fn byte(&self) -> Option<Duration> {
        match self {
            Self::Device { settings, .. } => Some(settings.byte()),
            Self::Pty(_) => None,
        }
    }

    /// Whether something was written to the line that the other end has not read, where that can be seen.
    pub(super) fn has_unread(&self) -> bool {
        let Self::Pty(pty) = self else {
            return false;
        };
        let mut other_end = [PollFd::new(pty.other_end.as_fd(), PollFlags::POLLIN)];
        poll(&mut other_end, PollTimeout::ZERO).is_ok_and(|n_ready| n_ready > 0)
    }

    /// Throws that away.
    pub(super) fn discard_unread(&self) {
        if let Self::Pty(pty) = self {
            // What cannot be thrown away is read late, and was counted.
            let _is_refused = tcflush(&pty.other_end, FlushArg::TCIFLUSH);
        }
    }

    pub(super) fn open(&mut self) -> io::Result<Line> {
        match self {
            Self::Device { device, settings } => open_device(device, settings).map(Line::Device),
            Self::Pty(pty) => {
                let master = pty.master.take().map(Ok);
                master.unwrap_or_else(|| pty.remake()).map(Line::Pty)
            }
        }
    }
}

fn open_device(device: &Path, settings: &Settings) -> io::Result<File> {
    let flags = OFlag::O_NOCTTY | OFlag::O_NONBLOCK;
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(flags.bits())
        .open(device)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            return Err(io::Error::other("another program has it"));
        }
        Err(TryLockError::Error(error)) => return Err(error),
    }
    let mut termios = tcgetattr(&file).map_err(|error| {
        if error == Errno::ENOTTY {
            return io::Error::other("it is no serial line");
        }
        error.into()
    })?;
    settings.apply(&mut termios)?;
    tcsetattr(&file, SetArg::TCSANOW, &termios)?;
    // What came before the line was opened is old.
    tcflush(&file, FlushArg::TCIOFLUSH)?;
    Ok(file)
}

impl Pty {
    fn new(link: &Path) -> anyhow::Result<Self> {
        let is_other = fs::symlink_metadata(link).is_ok_and(|found| !found.is_symlink());
        if is_other {
            let found = link.display();
            let usage = format!("--pty: expected a name that is free, found the file {found}");
            return Err(Usage(usage).into());
        }
        let (master, other_end) = pair(link)
            .with_context(|| format!("cannot make a pseudo-terminal at {}", link.display()))?;
        Ok(Self {
            link: link.to_owned(),
            master: Some(master),
            other_end,
        })
    }

    fn remake(&mut self) -> io::Result<PtyMaster> {
        let (master, other_end) = pair(&self.link)?;
        self.other_end = other_end;
        Ok(master)
    }
}

/// Both ends of a pseudo-terminal, and a link to one.
fn pair(link: &Path) -> io::Result<(PtyMaster, File)> {
    let flags = OFlag::O_RDWR | OFlag::O_NOCTTY | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
    let master = posix_openpt(flags)?;
    grantpt(&master)?;
    unlockpt(&master)?;
    let name = ptsname_r(&master)?;
    let other_end = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags((OFlag::O_NOCTTY | OFlag::O_NONBLOCK).bits())
        .open(&name)?;
    // Bytes are bytes: no echo, no lines, nothing that is made of something else.
    let mut termios = tcgetattr(&other_end)?;
    cfmakeraw(&mut termios);
    tcsetattr(&other_end, SetArg::TCSANOW, &termios)?;
    // In one go, so that there is always one to be found.
    let beside = link.with_extension(format!("new-{}", std::process::id()));
    symlink(&name, &beside)?;
    fs::rename(&beside, link)?;
    Ok((master, other_end))
}

impl Drop for Pty {
    fn drop(&mut self) {
        // It may be gone already, and then it is as it should be.
        drop(fs::remove_file(&self.link));
    }
}

impl Line {
    pub(super) fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Device(file) => file.read(bytes),
            Self::Pty(master) => master.read(bytes),
        }
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Device(file) => file.write(bytes),
            Self::Pty(master) => master.write(bytes),
        }
    }
}

impl AsFd for Line {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Device(file) => file.as_fd(),
            Self::Pty(master) => master.as_fd(),
        }
    }
}
