//! A connection as the system has it: what went through it, and how it is ended so that the last bytes arrive.

use socket2::SockRef;
use std::future::poll_fn;
use std::io;
use std::net::Shutdown;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// What the system keeps beside what is on its way. More would be old by the time that it is sent; here it is replaced by
/// something newer while it waits.
const MAX_UNSENT: u32 = 16 << 10;
/// How often it is looked, within the time in which something should move, whether it did: so much later than promised a
/// line that stands still is given up at most.
const LOOKS: u32 = 10;
/// How long hanging up may take, and what is read meanwhile.
const HANG_UP_WITHIN: Duration = Duration::from_millis(500);
const MAX_UNHEARD: usize = 1 << 20;

/// Shared by the readers and writers, and those who watch them.
#[derive(Clone, Debug)]
pub(crate) struct Line(Arc<State>);

#[derive(Debug)]
struct State {
    stream: TcpStream,
    n_moved: AtomicU64,
    is_a_pages: AtomicBool,
}

impl Line {
    pub(crate) fn new(stream: TcpStream) -> Self {
        // Small frames should not wait for others. Where a system knows neither, pages are only later.
        drop(stream.set_nodelay(true));
        drop(SockRef::from(&stream).set_tcp_notsent_lowat(MAX_UNSENT));
        Self(Arc::new(State {
            stream,
            n_moved: AtomicU64::new(0),
            is_a_pages: AtomicBool::new(false),
        }))
    }

    /// From now on it belongs to a page, and not to HTTP.
    pub(crate) fn give_to_page(&self) {
        self.0.is_a_pages.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_a_pages(&self) -> bool {
        self.0.is_a_pages.load(Ordering::Relaxed)
    }

    /// Does something for as long as anything moves on the line. `None` if nothing did for so long.
    pub(crate) async fn while_moving<T>(
        &self,
        within: Duration,
        what: impl Future<Output = T>,
    ) -> Option<T> {
        let n_moved = || self.0.n_moved.load(Ordering::Relaxed);
        while_moving(within, n_moved, what).await
    }

    /// Sends something short on a new line, whether it arrives or not.
    pub(crate) fn say_at_once(&self, bytes: &[u8]) {
        drop(self.0.stream.try_write(bytes));
    }

    /// Shuts down sending, and reads what the other side still sends: to close with something unread would discard
    /// what was sent last.
    pub(crate) async fn hang_up(&self) {
        // It may be gone already.
        drop(SockRef::from(&self.0.stream).shutdown(Shutdown::Write));
        let unheard = async {
            let mut bytes = vec![0; 4 << 10];
            let mut n_unheard = 0;
            while n_unheard < MAX_UNHEARD {
                let n_read = poll_fn(|cx| self.read(cx, &mut bytes)).await;
                match n_read {
                    Ok(0) | Err(_) => return,
                    Ok(n_read) => n_unheard += n_read,
                }
            }
        };
        drop(timeout(HANG_UP_WITHIN, unheard).await);
    }

    fn read(&self, cx: &mut Context<'_>, bytes: &mut [u8]) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.0.stream.poll_read_ready(cx))?;
            match self.0.stream.try_read(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                result => return Poll::Ready(self.count(result)),
            }
        }
    }

    fn write(&self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.0.stream.poll_write_ready(cx))?;
            match self.0.stream.try_write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                result => return Poll::Ready(self.count(result)),
            }
        }
    }

    fn count(&self, result: io::Result<usize>) -> io::Result<usize> {
        if let Ok(n_bytes) = result {
            self.0.n_moved.fetch_add(n_bytes as u64, Ordering::Relaxed);
        }
        result
    }
}

async fn while_moving<T>(
    within: Duration,
    n_moved: impl Fn() -> u64,
    what: impl Future<Output = T>,
) -> Option<T> {
    let mut what = pin!(what);
    let mut n_still = 0;
    loop {
        let before = n_moved();
        match timeout(within / LOOKS, &mut what).await {
            Ok(result) => return Some(result),
            Err(_) if n_moved() != before => n_still = 0,
            Err(_) if n_still + 1 == LOOKS => return None,
            Err(_) => n_still += 1,
        }
    }
}

impl AsyncRead for Line {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let n_read = ready!(self.read(cx, buffer.initialize_unfilled()))?;
        buffer.advance(n_read);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Line {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(SockRef::from(&self.0.stream).shutdown(Shutdown::Write))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use tokio::sync::Notify;

    fn run<T>(what: impl Future<Output = T>) -> T {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_time().build();
        runtime.unwrap().block_on(what)
    }

    #[test]
    fn what_moves_slowly_is_waited_for_however_long_it_takes() {
        let n_looks = Cell::new(0);
        let arrived = Notify::new();
        let n_moved = || {
            n_looks.set(n_looks.get() + 1);
            if n_looks.get() == 20 {
                arrived.notify_one();
            }
            n_looks.get()
        };
        let done = while_moving(Duration::from_millis(1), n_moved, arrived.notified());
        assert_eq!(run(done), Some(()));
    }

    #[test]
    fn what_moved_at_first_is_given_up_as_soon_as_it_stood_still_for_so_long() {
        let n_looks = Cell::new(0_u64);
        let n_moved = || {
            n_looks.set(n_looks.get() + 1);
            n_looks.get().min(4)
        };
        let done = while_moving(
            Duration::from_millis(1),
            n_moved,
            std::future::pending::<()>(),
        );
        assert_eq!(run(done), None);
        // Before and after each time that it waited: the fourth look is the last that finds anything new.
        assert_eq!(n_looks.get(), 4 + 2 * u64::from(LOOKS));
    }

    #[test]
    fn what_does_not_move_is_given_up() {
        let done = while_moving(Duration::from_millis(1), || 7, std::future::pending::<()>());
        assert_eq!(run(done), None);
    }
}
