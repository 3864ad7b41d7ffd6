//! A bus: one transport, its subscriptions, and its publishers.

use crate::announce::Announcer;
use crate::callback::{Callback, Callbacks};
use crate::cork::{Batcher, Cork};
use crate::counts::{Counts, NetworkCounts, SenderCounts};
use crate::event::Event;
use crate::inbox::Inbox;
use crate::pattern::BadPattern;
use crate::pump::Pump;
use crate::queue::{Queue, QueueCounts};
use crate::router::{Inlet, Router};
use crate::schemes::{Capability, Scheme, Schemes};
use crate::subscription::{Received, RecvMessageError, Subscription};
use crate::transport::{Lending, ListenError, OpenError, Outgoing, SendError, Transport};
use crate::url::{BadUrl, DEFAULT_URL, Url};
use bowline_wire::datagram::{ChannelError, check_channel};
use bowline_wire::schema::{TypeId, TypeSet};
use bowline_wire::{Decode, EncodeError, Message};
use bytes::Bytes;
use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// A way to publish and subscribe. Cheap to clone, and usable from any thread.
///
/// Closes when the last clone and the last subscription are gone.
#[derive(Clone, Debug)]
pub struct Bus {
    pub(crate) shared: Arc<Shared>,
}

/// What all clones of a bus and its subscriptions share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) url: Url,
    row: &'static Scheme,
    pub(crate) transport: Arc<dyn Transport>,
    /// Of a transport whose senders hand in by themselves: where they do.
    attached: OnceLock<()>,
    /// Held while the transport learns of subscriptions, so that what it learns last is how they are.
    wanting: Mutex<()>,
    pub(crate) router: Arc<Router>,
    pub(crate) pump: Arc<Pump>,
    callbacks: OnceLock<Callbacks>,
    callbacks_starting: Mutex<()>,
    batcher: Option<Batcher>,
    announcer: Arc<Announcer>,
    tallies: Arc<Tallies>,
}

/// What is counted outside of transport and queues.
#[derive(Debug, Default)]
pub(crate) struct Tallies {
    published: AtomicU64,
    published_bytes: AtomicU64,
    publish_failures: AtomicU64,
    pub(crate) undecodable: AtomicU64,
    pub(crate) callback_panics: AtomicU64,
}

impl Bus {
    /// Opens the bus that `url` names, of a transport in [`Schemes::installed`]; an empty one is `BOWLINE_URL`, then
    /// `LCM_DEFAULT_URL`, then [`DEFAULT_URL`].
    ///
    /// Every transport takes `batch=DURATION`: short messages are held back for at most so long, to go together.
    /// Within a process they are handed over at once all the same, since that costs nothing. And every transport takes
    /// `announce=off`: what is published is not described on [`SCHEMA_CHANNEL`](crate::SCHEMA_CHANNEL).
    ///
    /// # Errors
    /// When the URL is malformed or its transport cannot be opened.
    pub fn open(url: &str) -> Result<Self, OpenError> {
        Self::open_among(Schemes::installed(), url)
    }

    /// [`open`](Self::open) with other transports than those of the process.
    ///
    /// # Errors
    /// When the URL is malformed or its transport cannot be opened.
    pub fn open_among(schemes: &Schemes, url: &str) -> Result<Self, OpenError> {
        Self::open_url(schemes, parse_or_default(url)?)
    }

    /// Opens a bus as LCM's own libraries do: options that the transport does not know are passed over, and reported to
    /// `ignored`, each with what the transport does know.
    ///
    /// # Errors
    /// When anything else is wrong with the URL, or its transport cannot be opened.
    pub fn open_ignoring(url: &str, mut ignored: impl FnMut(&BadUrl)) -> Result<Self, OpenError> {
        let mut url = parse_or_default(url)?;
        loop {
            let opened = Self::open_url(Schemes::installed(), url.clone());
            let Err(OpenError::Url(error)) = &opened else {
                return opened;
            };
            let Some(option) = error.unknown_option() else {
                return opened;
            };
            ignored(error);
            url = url.without(option);
        }
    }

    fn open_url(schemes: &Schemes, url: Url) -> Result<Self, OpenError> {
        let (url, own) = OwnOptions::take(url)?;
        let row = schemes.row_of(&url)?;
        let transport = row.open(&url)?;
        Self::assemble(url, row, transport, &own)
    }

    /// A bus on a transport that is open. The URL is without the bus's own options.
    pub(crate) fn assemble(
        url: Url,
        row: &'static Scheme,
        transport: Arc<dyn Transport>,
        own: &OwnOptions,
    ) -> Result<Self, OpenError> {
        let announcer = Arc::new(Announcer::new(own.is_announcing));
        let router = Arc::new(Router::new(Arc::clone(&announcer)));
        let pump = Pump::new(Arc::clone(&transport), Arc::clone(&router));
        let pump = pump.map_err(OpenError::system("make an event descriptor"))?;
        let tallies = Arc::<Tallies>::default();
        let batcher = own
            .batch
            .filter(|_| !pump.is_direct())
            .map(|delay| Batcher::start(Arc::clone(&transport), Arc::clone(&tallies), delay));
        let batcher = batcher
            .transpose()
            .map_err(OpenError::system("start a thread"))?;
        let shared = Shared {
            url,
            row,
            transport,
            attached: OnceLock::new(),
            wanting: Mutex::default(),
            router,
            pump: Arc::new(pump),
            callbacks: OnceLock::new(),
            callbacks_starting: Mutex::default(),
            batcher,
            announcer,
            tallies,
        };
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    /// Whether its transport has a capability.
    #[must_use]
    pub fn has(&self, capability: Capability) -> bool {
        self.shared.row.has(capability)
    }

    /// What it was opened with.
    #[must_use]
    pub fn url(&self) -> &Url {
        &self.shared.url
    }

    /// Publishes a message.
    ///
    /// # Errors
    /// When the channel's name or the message cannot be sent faithfully, or the transport refuses.
    pub fn publish<M: Message>(&self, channel: &str, message: &M) -> Result<(), PublishError> {
        thread_local!(static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) });
        self.see::<M>(channel);
        if self.shared.pump.is_direct() {
            // It keeps payloads, so this one gets memory of its own.
            return self.publish_shared(channel, &Bytes::from(message.encode()?));
        }
        if self.shared.batcher.is_none()
            && let Some(lending) = self.shared.transport.lending()
        {
            return self.publish_written(lending, channel, message);
        }
        SCRATCH.with_borrow_mut(|scratch| {
            let payload = message.encode_into(scratch)?;
            let published = self.publish_bytes(channel, payload);
            // A large message now and then should not be paid for by every thread for ever.
            if scratch.len() > MAX_SCRATCH {
                *scratch = Vec::new();
            }
            published
        })
    }

    /// Encodes a message where the transport wants it.
    fn publish_written<M: Message>(
        &self,
        lending: &dyn Lending,
        channel: &str,
        message: &M,
    ) -> Result<(), PublishError> {
        check_channel(channel)?;
        let size = message.encoded_size()?;
        let shared = &*self.shared;
        shared.announcer.announce(&*shared.transport);
        let mut encoded = Ok(size);
        let sent = lending.send_written(channel, size, &mut |memory| {
            encoded = message.encode_to_slice(memory);
            encoded.is_ok()
        });
        encoded?;
        shared.tallies.published(1, size as u64, sent.is_ok());
        sent.map_err(PublishError::Send)
    }

    /// Has what is published as bytes on `channel` described on [`SCHEMA_CHANNEL`](crate::SCHEMA_CHANNEL), as
    /// [`publish`](Self::publish) does by itself. Cheap when it was described before.
    pub fn describe(&self, channel: &str, types: &TypeSet, id: TypeId) {
        let is_first = self.shared.announcer.see_type(channel, types, id);
        self.hear_requests_if(is_first);
    }

    pub(crate) fn see<M: Message>(&self, channel: &str) {
        let is_first = self.shared.announcer.see::<M>(channel);
        self.hear_requests_if(is_first);
    }

    /// From the first type on that can be described there may be requests.
    fn hear_requests_if(&self, is_first: bool) {
        if is_first && !self.shared.router.interest().is_empty() {
            // A bus that cannot be asked describes them now and then anyway.
            drop(self.shared.announce_interest());
        }
    }

    /// Publishes an encoded message, or anything else.
    ///
    /// # Errors
    /// When the channel's name cannot be sent, or the transport refuses.
    pub fn publish_bytes(&self, channel: &str, payload: &[u8]) -> Result<(), PublishError> {
        check_channel(channel)?;
        self.send(&[Outgoing {
            channel,
            payload,
            shared: None,
        }])
    }

    /// Publishes bytes that are shared already. Transports within the process pass them on without a copy.
    ///
    /// # Errors
    /// When the channel's name cannot be sent, or the transport refuses.
    pub fn publish_shared(&self, channel: &str, payload: &Bytes) -> Result<(), PublishError> {
        check_channel(channel)?;
        self.send(&[Outgoing {
            channel,
            payload,
            shared: Some(payload),
        }])
    }

    /// Publishes several payloads on one channel, in as few calls into the system as it takes.
    ///
    /// # Errors
    /// When the channel's name cannot be sent, or the transport refuses; some may have been sent.
    pub fn publish_many<'a>(
        &self,
        channel: &str,
        payloads: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<(), PublishError> {
        check_channel(channel)?;
        let payloads = payloads.into_iter();
        let outgoing: Vec<Outgoing<'_>> = payloads
            .map(|payload| Outgoing {
                channel,
                payload,
                shared: None,
            })
            .collect();
        self.send(&outgoing)
    }

    /// Collects what is published through it, to go together: many small messages in few calls into the system.
    #[must_use]
    pub fn cork(&self) -> Cork<'_> {
        Cork::new(self)
    }

    /// Sends messages, with the descriptions of types that are due. Channels were checked. One that is alone waits for
    /// others where the URL asks for it.
    pub(crate) fn send(&self, messages: &[Outgoing<'_>]) -> Result<(), PublishError> {
        let shared = &*self.shared;
        shared.announcer.announce(&*shared.transport);
        if let (Some(batcher), [message]) = (&shared.batcher, messages) {
            return batcher.add(message).map_err(PublishError::Send);
        }
        let sent = shared.transport.send(messages);
        shared.tallies.published_all(messages, sent.is_ok());
        sent.map_err(PublishError::Send)
    }

    /// Subscribes to messages of one type.
    ///
    /// The pattern is a channel's name, `prefix.*`, or any regular expression that matches the whole name.
    ///
    /// # Errors
    /// When the pattern is malformed or nothing can be received.
    pub fn subscribe<T>(&self, pattern: &str) -> Result<Subscription<T>, SubscribeError>
    where
        T: Message + for<'a> Decode<'a>,
    {
        self.subscribe_queued(pattern, Queue::default())
    }

    /// [`subscribe`](Self::subscribe) with a choice of how many messages may wait and which are dropped.
    ///
    /// # Errors
    /// When the pattern is malformed or nothing can be received.
    pub fn subscribe_queued<T>(
        &self,
        pattern: &str,
        queue: Queue,
    ) -> Result<Subscription<T>, SubscribeError>
    where
        T: Message + for<'a> Decode<'a>,
    {
        let inbox = self.inbox();
        let id = inbox.subscribe(pattern, queue)?;
        Ok(Subscription::new(inbox, id))
    }

    /// Subscribes to events as they are, not decoded.
    ///
    /// # Errors
    /// When the pattern is malformed or nothing can be received.
    pub fn events(&self, pattern: &str) -> Result<Inbox, SubscribeError> {
        let inbox = self.inbox();
        inbox.subscribe(pattern, Queue::default())?;
        Ok(inbox)
    }

    /// An inbox for any number of subscriptions, read in one order.
    #[must_use]
    pub fn inbox(&self) -> Inbox {
        Inbox::new(self.clone())
    }

    /// An inbox as LCM's own libraries have it: of a log every event is received, also those that no subscription is
    /// for, and so is its end.
    #[must_use]
    pub fn lcm_inbox(&self) -> Inbox {
        let inbox = self.inbox();
        if self.has(Capability::Log) {
            // The pattern is sound, and a log can always be subscribed to.
            drop(inbox.subscribe(".*", Queue::default()));
        }
        inbox
    }

    /// Calls `handler` with each message, on a thread that all callbacks of the bus share: they run one after the
    /// other, in the order of arrival. Ends when the [`Callback`] is dropped.
    ///
    /// # Errors
    /// When the pattern is malformed or nothing can be received.
    pub fn on<T>(
        &self,
        pattern: &str,
        mut handler: impl FnMut(Result<Received<T>, RecvMessageError>) + Send + 'static,
    ) -> Result<Callback, SubscribeError>
    where
        T: Message + for<'a> Decode<'a>,
    {
        let tallies = Arc::clone(&self.shared.tallies);
        let decode_and_handle = move |event| handler(crate::subscription::decode(event, &tallies));
        self.callbacks()?
            .add(self, pattern, Box::new(decode_and_handle))
    }

    /// [`on`](Self::on) for events as they are, not decoded.
    ///
    /// # Errors
    /// When the pattern is malformed or nothing can be received.
    pub fn on_event(
        &self,
        pattern: &str,
        handler: impl FnMut(Event) + Send + 'static,
    ) -> Result<Callback, SubscribeError> {
        self.callbacks()?.add(self, pattern, Box::new(handler))
    }

    fn callbacks(&self) -> Result<&Callbacks, SubscribeError> {
        // One at a time: a second thread that reads for no subscriber would never end.
        let starting = &self.shared.callbacks_starting;
        let _starting = starting.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(callbacks) = self.shared.callbacks.get() {
            return Ok(callbacks);
        }
        let started = Callbacks::start(&self.shared).map_err(|source| ListenError::System {
            doing: "start a thread for callbacks".to_owned(),
            source,
            hint: None,
        })?;
        Ok(self.shared.callbacks.get_or_init(|| started))
    }

    /// What went through, and what did not.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let Shared {
            transport,
            router,
            tallies,
            ..
        } = &*self.shared;
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let (received, received_bytes, unwanted) = router.received();
        let (queue_drops, replaced) = router.queue_losses();
        let observed = transport.observed();
        let mut network = observed.map_or_else(NetworkCounts::default, |it| it.counts());
        network.unwanted = network.unwanted.max(unwanted);
        let (announced, announce_failures) = self.shared.announcer.counts();
        Counts {
            published: load(&tallies.published),
            published_bytes: load(&tallies.published_bytes),
            publish_failures: load(&tallies.publish_failures),
            announced,
            announce_failures,
            received,
            received_bytes,
            queue_drops,
            replaced,
            undecodable: load(&tallies.undecodable),
            callback_panics: load(&tallies.callback_panics),
            network,
        }
    }

    /// What keeps messages from coming and going now, in words: that no hub answers, for one. `None` where nothing is
    /// known to be wrong.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        self.shared.transport.observed()?.trouble()
    }

    /// What is known of each sender, on transports that distinguish senders.
    #[must_use]
    pub fn senders(&self) -> Vec<SenderCounts> {
        let observed = self.shared.transport.observed();
        observed.map(|it| it.senders()).unwrap_or_default()
    }

    /// Each subscription's pattern, and what happened to its messages.
    #[must_use]
    pub fn subscriptions(&self) -> Vec<(String, QueueCounts)> {
        self.shared.router.subscriptions()
    }

    pub(crate) fn tallies(&self) -> &Tallies {
        &self.shared.tallies
    }
}

/// The values of the options that are the bus's own: those of [`COMMON_OPTIONS`](crate::COMMON_OPTIONS).
#[derive(Debug)]
pub(crate) struct OwnOptions {
    batch: Option<Duration>,
    is_announcing: bool,
}

impl OwnOptions {
    /// The URL without these options, and their values.
    pub(crate) fn take(url: Url) -> Result<(Url, Self), BadUrl> {
        let (url, batch) = url.without_duration("batch")?;
        let (url, is_announcing) = url.without_switch("announce")?;
        let own = Self {
            batch,
            is_announcing: is_announcing.unwrap_or(true),
        };
        Ok((url, own))
    }
}

/// What encoding space a thread keeps between messages, in bytes.
const MAX_SCRATCH: usize = 1 << 20;

impl Shared {
    pub(crate) fn tallies(&self) -> Arc<Tallies> {
        Arc::clone(&self.tallies)
    }

    /// Passes the subscriptions to the transport, and has the reading thread look again.
    pub(crate) fn announce_interest(&self) -> Result<(), ListenError> {
        let inlet = || Inlet::new(Arc::clone(&self.router));
        if let Some(direct) = self.transport.direct() {
            self.attached.get_or_init(|| direct.attach(inlet()));
        }
        if let Some(selective) = self.transport.selective() {
            let _wanting = self.wanting.lock().unwrap_or_else(PoisonError::into_inner);
            selective.want(&self.router.interest(), &mut inlet())?;
        }
        self.pump.interrupt();
        self.pump
            .start_relief()
            .map_err(|source| ListenError::System {
                doing: "start a thread".to_owned(),
                source,
                hint: None,
            })
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if let Some(batcher) = &self.batcher {
            batcher.close();
        }
        self.pump.close();
        if let Some(callbacks) = self.callbacks.get() {
            callbacks.close();
        }
    }
}

impl Tallies {
    pub(crate) fn published_all(&self, messages: &[Outgoing<'_>], is_sent: bool) {
        let sizes = messages.iter().map(|message| message.payload.len() as u64);
        self.published(messages.len() as u64, sizes.sum(), is_sent);
    }

    fn published(&self, count: u64, bytes: u64, is_sent: bool) {
        if !is_sent {
            self.publish_failures.fetch_add(count, Ordering::Relaxed);
            return;
        }
        self.published.fetch_add(count, Ordering::Relaxed);
        self.published_bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// The URL that is used when none is given: `BOWLINE_URL`, then `LCM_DEFAULT_URL`, then [`DEFAULT_URL`].
#[must_use]
#[expect(
    clippy::disallowed_methods,
    reason = "LCM's programs are configured by this variable"
)]
pub fn default_url() -> String {
    let set = |name| std::env::var(name).ok().filter(|url| !url.is_empty());
    set("BOWLINE_URL")
        .or_else(|| set("LCM_DEFAULT_URL"))
        .unwrap_or_else(|| DEFAULT_URL.to_owned())
}

fn parse_or_default(url: &str) -> Result<Url, BadUrl> {
    if url.is_empty() {
        Url::parse(&default_url())
    } else {
        Url::parse(url)
    }
}

/// Takes a URL apart and checks all of it, as far as that is possible without opening it.
///
/// # Errors
/// When it is malformed, its transport is unknown, or one of its options is.
pub fn check_url(text: &str) -> Result<(Url, &'static Scheme), BadUrl> {
    let url = Url::parse(text)?;
    let (rest, _) = OwnOptions::take(url.clone())?;
    let row = Schemes::installed().row_of(&rest)?;
    (row.check)(&rest)?;
    Ok((url, row))
}

/// Why a message was not published.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// The channel has no name that can be sent.
    #[error("{0}")]
    Channel(#[from] ChannelError),
    /// The message has no faithful encoding.
    #[error("{0}")]
    Encode(#[from] EncodeError),
    /// The transport refused.
    #[error(transparent)]
    Send(SendError),
}

/// Why nothing can be subscribed to.
#[derive(Debug, thiserror::Error)]
pub enum SubscribeError {
    /// The pattern is malformed.
    #[error(transparent)]
    Pattern(#[from] BadPattern),
    /// Nothing can be received.
    #[error(transparent)]
    Listen(#[from] ListenError),
}
