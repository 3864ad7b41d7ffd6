//! One page: what it says, what it is sent, and when it is sent away.

use crate::budget::Budget;
use crate::feed::Page;
use crate::frame::{self, BadFrame, FromPage, Hello, Reply};
use crate::http::Guest;
use crate::policy::{self, Ask, Speaker};
use crate::request;
use crate::sessions::SessionId;
use crate::station::{Context, Seat, Source};
use crate::wish::Wishes;
use axum::extract::ws::{CloseFrame, Message, WebSocket};
use bowline_bus::Bus;
use bowline_msgs::Audit;
use bowline_node::Time;
use bytes::Bytes;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite;

/// What goes to the network at a time.
const CHUNK: usize = 256 << 10;
/// A page that takes nothing for so long is gone.
const WRITE_WITHIN: Duration = Duration::from_secs(10);
/// How long saying goodbye may take.
const GOODBYE_WITHIN: Duration = Duration::from_millis(500);
/// Frames that a page may send: a second, and at once.
const FRAMES: (f64, f64) = (400.0, 800.0);
/// Messages that it may publish: a second, and at once.
const PUBLISHES: (f64, f64) = (100.0, 100.0);
/// What is refused before the page is sent away: a second, and at once.
const REFUSALS: (f64, f64) = (5.0, 50.0);
/// Requests of one page that may be under way.
const REQUESTS: usize = 8;
/// How often it is looked whether the log-in still lasts.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Why a page is sent away, with the protocol's code for it.
#[derive(Debug)]
struct Goodbye {
    code: u16,
    why: String,
}

const GOING_AWAY: u16 = 1001;
const MALFORMED: u16 = 1002;
const NOT_ALLOWED: u16 = 1008;
const TOO_LARGE: u16 = 1009;

/// The longest reason that fits into a frame that closes.
const MAX_REASON: usize = 123;

impl Goodbye {
    fn new(code: u16, why: impl Into<String>) -> Self {
        let mut why = why.into();
        why.truncate(why.floor_char_boundary(MAX_REASON));
        Self { code, why }
    }
}

/// Serves a page until one of the two has had enough.
pub(crate) async fn attend(context: Arc<Context>, socket: WebSocket, guest: Guest, seat: Seat) {
    let (mut sink, stream) = socket.split();
    let (number, page) = context.feed.join();
    let session = guest.session;
    let mut visit = Visit::new(&context, &page, guest);
    page.say(visit.greeting());
    page.say(context.status());
    visit.note("join", "", "", true, &[]);
    let goodbye = tokio::select! {
        goodbye = visit.read(stream) => goodbye,
        goodbye = write(&context, &page, &mut sink) => goodbye,
        goodbye = watch(&context, &page, session) => goodbye,
    };
    context.feed.leave(number);
    let why = goodbye.as_ref().map_or("", |it| &*it.why);
    visit.note("leave", "", why, true, &[]);
    if let Some(Goodbye { code, why }) = goodbye {
        context.counts.sent_away.fetch_add(1, Ordering::Relaxed);
        let close = Message::Close(Some(CloseFrame {
            code,
            reason: why.into(),
        }));
        // Whether it is heard or not.
        drop(timeout(GOODBYE_WITHIN, sink.send(close)).await);
    }
    drop(seat);
}

/// Sends what waits, as fast as the page takes it.
async fn write(
    context: &Context,
    page: &Page,
    sink: &mut SplitSink<WebSocket, Message>,
) -> Option<Goodbye> {
    loop {
        let (frames, due) = page.take(context.clock.now(), CHUNK);
        if frames.is_empty() {
            wait(context, page, due).await;
            continue;
        }
        match timeout(WRITE_WITHIN, send(sink, frames)).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return None,
            Err(_) => return Some(Goodbye::new(NOT_ALLOWED, "the page does not read")),
        }
    }
}

async fn send(
    sink: &mut SplitSink<WebSocket, Message>,
    frames: Vec<Bytes>,
) -> Result<(), axum::Error> {
    for frame in frames {
        sink.feed(Message::Binary(frame)).await?;
    }
    sink.flush().await
}

async fn wait(context: &Context, page: &Page, due: Option<Time>) {
    match due {
        Some(due) => drop(timeout(context.clock.until(due), page.woken()).await),
        None => page.woken().await,
    }
}

/// Waits for a reason to send the page away that neither side has said.
async fn watch(context: &Context, page: &Page, session: Option<SessionId>) -> Option<Goodbye> {
    loop {
        if timeout(LOOK_EVERY, context.ended()).await.is_ok() {
            return Some(Goodbye::new(GOING_AWAY, "the station ends"));
        }
        let now = context.clock.now();
        if session.is_some_and(|session| !context.sessions().lasts(now, session)) {
            return Some(Goodbye::new(NOT_ALLOWED, "the log-in is over"));
        }
        if page.is_overrun() {
            return Some(Goodbye::new(NOT_ALLOWED, "the page asks and does not read"));
        }
    }
}

/// A page that is there, and who sits before it.
struct Visit {
    context: Arc<Context>,
    page: Arc<Page>,
    guest: Guest,
    speaker: Speaker,
    frames: Budget,
    publishes: Budget,
    refusals: Budget,
    requests: Arc<Semaphore>,
}

impl Visit {
    fn new(context: &Arc<Context>, page: &Arc<Page>, guest: Guest) -> Self {
        let now = context.clock.now();
        let budget = |(per_second, at_once)| Budget::new(per_second, at_once, now);
        Self {
            speaker: Speaker {
                role: guest.person.role,
                station: context.station_of(&guest.person.name),
                rank: guest.person.rank,
            },
            guest,
            context: Arc::clone(context),
            page: Arc::clone(page),
            frames: budget(FRAMES),
            publishes: budget(PUBLISHES),
            refusals: budget(REFUSALS),
            requests: Arc::new(Semaphore::new(REQUESTS)),
        }
    }

    fn greeting(&self) -> Bytes {
        frame::hello(&Hello {
            version: frame::VERSION,
            user: &self.guest.person.name,
            role: self.speaker.role.as_str(),
            station: &self.speaker.station,
            source: self.context.source_name(),
            utime: self.context.time().0,
            charts: &self.context.chart_addresses(),
            rank: self.speaker.rank,
        })
    }

    /// Takes what the page says, until it leaves.
    async fn read(&mut self, mut stream: SplitStream<WebSocket>) -> Option<Goodbye> {
        while let Some(message) = stream.next().await {
            let goodbye = match message {
                Ok(Message::Binary(bytes)) => self.on_frame(&bytes),
                Ok(Message::Text(_)) => Err(Goodbye::new(
                    MALFORMED,
                    "expected binary messages, found text",
                )),
                Ok(Message::Close(_)) => return None,
                // The library answers these.
                Ok(Message::Ping(_) | Message::Pong(_)) => Ok(()),
                Err(error) => return broken(error),
            };
            if let Err(goodbye) = goodbye {
                return Some(goodbye);
            }
        }
        None
    }

    fn on_frame(&mut self, bytes: &[u8]) -> Result<(), Goodbye> {
        if bytes.len() > frame::MAX_FROM_PAGE {
            return Err(too_large());
        }
        let frame = frame::read(bytes);
        let is_stop = |frame: &FromPage<'_>| matches!(frame, FromPage::Publish { .. });
        // What might be a stop is looked at first.
        if !self.frames.spend(self.context.clock.now()) && !frame.as_ref().is_ok_and(is_stop) {
            return Err(Goodbye::new(NOT_ALLOWED, "too many frames"));
        }
        match frame.map_err(|error: BadFrame| Goodbye::new(MALFORMED, error.to_string()))? {
            FromPage::Subscribe(rows) => self.on_subscribe(rows),
            FromPage::Publish { channel, message } => self.on_publish(channel, message),
            FromPage::Request { id, request } => {
                self.on_request(id, request);
                Ok(())
            }
            FromPage::Ping(id) => {
                self.page.say(frame::pong(id));
                Ok(())
            }
        }
    }

    fn on_subscribe(&self, rows: Vec<frame::WishRow>) -> Result<(), Goodbye> {
        let wishes = Wishes::new(rows).map_err(|it| Goodbye::new(MALFORMED, it.to_string()))?;
        let now = self.context.clock.now();
        self.context.feed.subscribe(now, &self.page, wishes);
        Ok(())
    }

    fn on_publish(&mut self, channel: &str, message: &[u8]) -> Result<(), Goodbye> {
        let Source::Live(live) = &self.context.source else {
            return self.refuse(
                channel,
                message,
                "this is a replay: nobody can be commanded",
            );
        };
        let type_on = |name: &str| self.context.feed.type_on(name);
        let ask = match policy::judge(&self.speaker, channel, message, type_on) {
            Ok(ask) => ask,
            Err(refusal) => return self.refuse(channel, message, &refusal.to_string()),
        };
        let is_within = self.publishes.spend(self.context.clock.now());
        if ask == Ask::Other && !is_within {
            return self.refuse(channel, message, "more than 100 messages a second");
        }
        let bus: &Bus = &live.bus;
        // A hub that is gone can keep whoever speaks to it for a moment.
        let published = tokio::task::block_in_place(|| bus.publish_bytes(channel, message));
        let detail = published.as_ref().err().map(ToString::to_string);
        let is_done = published.is_ok();
        let counts = &self.context.counts;
        let count = if is_done {
            &counts.published
        } else {
            &counts.unpublished
        };
        count.fetch_add(1, Ordering::Relaxed);
        self.note(
            "publish",
            channel,
            &detail.unwrap_or_default(),
            is_done,
            message,
        );
        Ok(())
    }

    /// Drops it, says so in the audit log, and sends the page away if that goes on.
    fn refuse(&mut self, channel: &str, message: &[u8], why: &str) -> Result<(), Goodbye> {
        self.context
            .counts
            .refused_messages
            .fetch_add(1, Ordering::Relaxed);
        if !self.refusals.spend(self.context.clock.now()) {
            return Err(Goodbye::new(NOT_ALLOWED, why));
        }
        self.note("publish", channel, why, false, message);
        Ok(())
    }

    /// Answers in its own time, so that a service that takes long keeps nobody.
    fn on_request(&self, id: u32, request: frame::Request) {
        let Ok(permit) = Arc::clone(&self.requests).try_acquire_owned() else {
            let busy = Err("too many requests are under way".to_owned());
            self.page.say(frame::reply(id, &reply(busy)));
            return;
        };
        let about = request::about(&request);
        let (context, page) = (Arc::clone(&self.context), Arc::clone(&self.page));
        let role = self.speaker.role;
        let audit = self.audit();
        tokio::spawn(async move {
            let answer = request::answer(&context, role, request).await;
            if let Some((action, subject, detail)) = about {
                let why = answer.as_ref().err();
                let detail = why.map_or(detail.clone(), |why| format!("{detail}: {why}"));
                context.auditor.note(Audit {
                    action: action.to_owned(),
                    subject,
                    detail,
                    is_done: answer.is_ok(),
                    ..audit
                });
            }
            page.say(frame::reply(id, &reply(answer)));
            drop(permit);
        });
    }

    fn note(&self, action: &str, subject: &str, detail: &str, is_done: bool, message: &[u8]) {
        self.context.auditor.note(Audit {
            action: action.to_owned(),
            subject: subject.to_owned(),
            detail: detail.to_owned(),
            is_done,
            n_bytes: i32::try_from(message.len()).unwrap_or(0),
            message: message.to_vec(),
            ..self.audit()
        });
    }

    /// Who, when and where.
    fn audit(&self) -> Audit {
        Audit {
            utime: self.context.clock.now().utime(),
            station: self.speaker.station.clone(),
            user: self.guest.person.name.clone(),
            role: self.speaker.role.to_string(),
            address: self.guest.address.to_string(),
            ..Audit::default()
        }
    }
}

fn reply(answer: request::Answer) -> Reply {
    match answer {
        Ok(result) => Reply {
            ok: true,
            result,
            error: None,
        },
        Err(error) => Reply {
            ok: false,
            result: None,
            error: Some(error),
        },
    }
}

fn too_large() -> Goodbye {
    let most = frame::MAX_FROM_PAGE;
    Goodbye::new(
        TOO_LARGE,
        format!("expected at most {most} bytes in a message"),
    )
}

/// What is to be said about a connection that broke; nothing if nobody is there to hear it.
fn broken(error: axum::Error) -> Option<Goodbye> {
    let inner = error.into_inner();
    let error = inner.downcast_ref::<tungstenite::Error>()?;
    if let tungstenite::Error::Capacity(_) = error {
        return Some(too_large());
    }
    let is_malformed = matches!(
        error,
        tungstenite::Error::Protocol(_) | tungstenite::Error::Utf8(_)
    );
    is_malformed.then(|| Goodbye::new(MALFORMED, error.to_string()))
}
