//! Where browsers come in: connections, how many of them, and for how long.

use crate::crowd::Crowd;
use crate::http::{self, Peer};
use crate::line::Line;
use crate::sessions::site_of;
use crate::station::Context;
use axum::{Extension, Router};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

/// Connections at once, beside those of pages, which have places of their own. One more is asked to come back later.
const MAX_CONNECTIONS: usize = 256;
/// Connections of one host, so that it takes at most one in eight. A browser has six.
const MAX_OF_HOST: usize = 32;
/// The same of this machine, from where tunnels and proxies bring many people: some are left for others.
const MAX_OF_LOOPBACK: usize = 192;
/// Connections that are refused with time to read why. Others may not, if they have sent something.
const MAX_TURNED_AWAY: usize = 64;
/// How long a browser may take to send its request.
pub(crate) const ASK_WITHIN: Duration = Duration::from_secs(10);
/// How long nothing may move on a connection while it is answered, and how long an answer may take at all.
const STILL_FOR: Duration = Duration::from_secs(20);
const ANSWER_WITHIN: Duration = Duration::from_secs(600);
/// How long no connection is accepted when the system gives none.
const PAUSE: Duration = Duration::from_millis(200);
/// What a request may be long without its body.
const MAX_HEAD: usize = 32 << 10;

/// Lets browsers in.
#[derive(Clone)]
pub(crate) struct Door {
    router: Router,
    context: Arc<Context>,
    tls: Option<TlsAcceptor>,
    crowd: Arc<Crowd<IpAddr>>,
    turned_away: Arc<Semaphore>,
}

impl Door {
    pub(crate) fn new(context: &Arc<Context>, tls: Option<TlsAcceptor>) -> Self {
        Self {
            router: http::router(context),
            context: Arc::clone(context),
            tls,
            crowd: Crowd::new(MAX_CONNECTIONS),
            turned_away: Arc::new(Semaphore::new(MAX_TURNED_AWAY)),
        }
    }

    pub(crate) async fn open(self, listener: TcpListener) {
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = self.context.ended() => return,
            };
            match accepted {
                Ok((stream, peer)) => self.admit(stream, peer),
                // There are too many open files, for a moment.
                Err(_) => {
                    let not_accepted = &self.context.counts.not_accepted;
                    not_accepted.fetch_add(1, Ordering::Relaxed);
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    fn admit(&self, stream: TcpStream, peer: SocketAddr) {
        let line = Line::new(stream);
        let Some(place) = self.crowd.enter(site_of(peer.ip()), most_of(peer.ip())) else {
            self.turn_away(line);
            return;
        };
        let door = self.clone();
        tokio::spawn(async move {
            door.serve(line, peer).await;
            drop(place);
        });
    }

    /// Answers that the station is full; with TLS it is only closed.
    fn turn_away(&self, line: Line) {
        let turned_away = &self.context.counts.turned_away;
        turned_away.fetch_add(1, Ordering::Relaxed);
        if self.tls.is_some() {
            return;
        }
        line.say_at_once(BUSY);
        if let Ok(permit) = Arc::clone(&self.turned_away).try_acquire_owned() {
            tokio::spawn(async move {
                line.hang_up().await;
                drop(permit);
            });
        }
    }

    async fn serve(self, line: Line, peer: SocketAddr) {
        match &self.tls {
            None => self.converse(line.clone(), &line, peer).await,
            Some(tls) => {
                let accepted = timeout(ASK_WITHIN, tls.accept(line.clone())).await;
                if let Ok(Ok(stream)) = accepted {
                    self.converse(stream, &line, peer).await;
                }
            }
        }
    }

    async fn converse<S>(&self, stream: S, line: &Line, peer: SocketAddr)
    where
        S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
    {
        let router = self.router.clone();
        let router = router
            .layer(Extension(Peer(peer)))
            .layer(Extension(line.clone()));
        let served = hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(ASK_WITHIN)
            .max_buf_size(MAX_HEAD)
            .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router))
            // What becomes a page's is over for this.
            .with_upgrades();
        let served = timeout(ANSWER_WITHIN, line.while_moving(STILL_FOR, served)).await;
        // Whatever is wrong with a connection is over with it.
        if let Ok(Some(_)) = served
            && !line.is_a_pages()
        {
            line.hang_up().await;
        }
    }
}

fn most_of(host: IpAddr) -> usize {
    if host.to_canonical().is_loopback() {
        MAX_OF_LOOPBACK
    } else {
        MAX_OF_HOST
    }
}

const BUSY: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_host_keeps_all_others_out_not_even_this_one() {
        let crowd = Crowd::new(MAX_CONNECTIONS);
        let enter = |host: &str| {
            let host: IpAddr = host.parse().unwrap();
            crowd.enter(site_of(host), most_of(host))
        };
        let mut inside: Vec<_> = (0..1_000).filter_map(|_| enter("127.0.0.1")).collect();
        assert_eq!(inside.len(), MAX_OF_LOOPBACK);
        let greedy = (0..1_000).filter_map(|n| enter(&format!("2001:db8::{n:x}")));
        inside.extend(greedy);
        assert_eq!(inside.len(), MAX_OF_LOOPBACK + MAX_OF_HOST);
        assert!(enter("10.0.0.1").is_some());
    }
}
