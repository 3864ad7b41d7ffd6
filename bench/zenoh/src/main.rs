//! zenoh as a worker: peers over TCP on the loopback, with or without shared memory.
//!
//! ADDRESS is `tcp:PORT` or `shm:PORT`; worker `--idx` i listens on PORT + i and the one at the centre connects to all.
//! Publishers block rather than drop, which is how zenoh loses nothing; its own batching is on.

use anyhow::{Context as _, Result, anyhow, bail};
use bowline_measure::{Endpoint, Handler, Publisher, Run, Settings, Subscriber, System};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use zenoh::qos::CongestionControl;
use zenoh::shm::{
    BlockOn, GarbageCollect, PosixShmProviderBackend, ShmProvider, ShmProviderBuilder,
};
use zenoh::{Config, Session, Wait as _};

const POOL_BYTES: usize = 64 << 20;

/// Declarations travel after the connection is there, and no event marks when all have come.
const SETTLING: Duration = Duration::from_millis(300);

fn main() -> Result<()> {
    bowline_measure::main(&Zenoh)
}

struct Zenoh;

impl System for Zenoh {
    fn open(&self, settings: &Settings) -> Result<Box<dyn Endpoint>> {
        let (kind, port) = settings
            .address
            .split_once(':')
            .context("expected tcp:PORT or shm:PORT")?;
        let port: usize = port.parse().context("expected a port")?;
        let endpoint = |idx: usize| format!("\"tcp/127.0.0.1:{}\"", port + idx);
        let has_shm = kind == "shm";
        let (connect, listen) = if settings.is_centre() {
            (
                (0..settings.n_peers)
                    .map(endpoint)
                    .collect::<Vec<_>>()
                    .join(","),
                String::new(),
            )
        } else {
            (String::new(), endpoint(settings.idx))
        };
        let mut config = Config::default();
        for (key, value) in [
            ("mode", "\"peer\"".to_string()),
            ("connect/endpoints", format!("[{connect}]")),
            ("listen/endpoints", format!("[{listen}]")),
            ("scouting/multicast/enabled", "false".to_string()),
            ("scouting/gossip/enabled", "false".to_string()),
            ("transport/shared_memory/enabled", has_shm.to_string()),
        ] {
            config
                .insert_json5(key, &value)
                .map_err(|e| anyhow!("{key} = {value}: {e}"))?;
        }
        let session = zenoh::open(config).wait().map_err(|e| anyhow!("{e}"))?;
        Ok(Box::new(Place {
            session,
            pool: has_shm.then(|| pool(settings.size)).transpose()?,
        }))
    }
}

type Pool = Arc<ShmProvider<PosixShmProviderBackend>>;

fn pool(size: usize) -> Result<Pool> {
    let backend = PosixShmProviderBackend::builder(POOL_BYTES.max(8 * size))
        .wait()
        .map_err(|e| anyhow!("{e}"))?;
    Ok(Arc::new(ShmProviderBuilder::backend(backend).wait()))
}

struct Place {
    session: Session,
    pool: Option<Pool>,
}

fn key(channel: &str) -> String {
    channel.replace('.', "/")
}

impl Endpoint for Place {
    fn publisher(&self, channel: &str) -> Result<Box<dyn Publisher>> {
        let publisher = self
            .session
            .declare_publisher(key(channel))
            .congestion_control(CongestionControl::Block)
            .wait()
            .map_err(|e| anyhow!("{e}"))?;
        Ok(Box::new(Sender {
            session: self.session.clone(),
            publisher,
            pool: self.pool.clone(),
        }))
    }

    fn subscriber(&self, channels: &[String]) -> Result<Box<dyn Subscriber>> {
        // Declared at once, so that `ready` is true; messages reach the handler that `serve` puts in.
        let handler: Arc<Mutex<Option<Handler>>> = Arc::default();
        let mut subscribers = Vec::new();
        for channel in channels {
            let handler = Arc::clone(&handler);
            let subscriber = self
                .session
                .declare_subscriber(key(channel))
                .callback(move |sample| {
                    if let Some(handler) = handler
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .as_mut()
                    {
                        handler(&sample.payload().to_bytes());
                    }
                })
                .wait()
                .map_err(|e| anyhow!("{e}"))?;
            subscribers.push(subscriber);
        }
        Ok(Box::new(Receiver {
            handler,
            _subscribers: subscribers,
        }))
    }
}

struct Sender {
    session: Session,
    publisher: zenoh::pubsub::Publisher<'static>,
    pool: Option<Pool>,
}

impl Publisher for Sender {
    fn wait_for_subscribers(&mut self, n: usize) -> Result<()> {
        for _ in 0..500 {
            let n_peers = self.session.info().peers_zid().wait().count();
            let status = self
                .publisher
                .matching_status()
                .wait()
                .map_err(|e| anyhow!("{e}"))?;
            if n_peers >= n && status.matching() {
                std::thread::sleep(SETTLING);
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        bail!("expected {n} subscribers within five seconds, found fewer")
    }

    fn publish(&mut self, message: &[u8]) -> Result<()> {
        let result = match &self.pool {
            None => self.publisher.put(message).wait(),
            Some(pool) => {
                let mut chunk = pool
                    .alloc(message.len())
                    .with_policy::<BlockOn<GarbageCollect>>()
                    .wait()
                    .map_err(|e| anyhow!("{e}"))?;
                chunk.as_mut().copy_from_slice(message);
                self.publisher.put(chunk).wait()
            }
        };
        result.map_err(|e| anyhow!("{e}"))
    }
}

struct Receiver {
    handler: Arc<Mutex<Option<Handler>>>,
    _subscribers: Vec<zenoh::pubsub::Subscriber<()>>,
}

impl Subscriber for Receiver {
    fn serve(&mut self, handler: Handler, run: &Run) -> Result<()> {
        *self.handler.lock().unwrap_or_else(PoisonError::into_inner) = Some(handler);
        run.wait();
        *self.handler.lock().unwrap_or_else(PoisonError::into_inner) = None;
        Ok(())
    }
}
