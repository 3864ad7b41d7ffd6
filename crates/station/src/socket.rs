//! One page: what it sends, what it is sent, and when its connection is ended.

use crate::budget::Budget;
use crate::feed::Page;
use crate::frame::{self, BadFrame, FromPage, Hello, Reply};
use crate::http::Guest;
use crate::line::Line;
use crate::policy::{self, Ask, Speaker};
use crate::request;
use crate::sessions::SessionId;
use crate::station::{Context, Seat, Source};
use crate::wish::Wishes;
use axum::extract::ws::{CloseFrame, Message, WebSocket};
use bowline_bus::Bus;
use bowline_component::Time;
use bowline_msgs::Audit;
use bytes::Bytes;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite;

/// What goes to the network at a time, if there is more than one message. Over a thin link what is newer comes between.
const CHUNK: usize = 16 << 10;
/// A page that takes nothing for so long is gone; one that takes a long message slowly is not.
const WRITE_WITHIN: Duration = Duration::from_secs(10);
/// How long closing may take.
const GOODBYE_WITHIN: Duration = Duration::from_millis(500);
/// Frames that a page may send: a second, and at once.
const FRAMES: (f64, f64) = (400.0, 800.0);
/// Messages that it may publish: a second, and at once.
const PUBLISHES: (f64, f64) = (100.0, 100.0);
/// Stops that it may send on one channel: a second, and at once. The page sends one ten times a second until it is confirmed.
const STOPS: (f64, f64) = (20.0, 20.0);
/// Vehicles without a gate on the bus that it may stop nevertheless.
const MAX_UNHEARD: usize = 8;
/// Requests that are written down: a second, and at once.
const ASKS: (f64, f64) = (20.0, 40.0);
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
pub(crate) async fn attend(
    context: Arc<Context>,
    (socket, line): (WebSocket, Line),
    guest: Guest,
    seat: Seat,
) {
    let (mut sink, mut stream) = socket.split();
    let (number, page) = context.feed.join();
    let session = guest.session;
    let mut visit = Visit::new(&context, &page, guest);
    page.say(visit.greeting());
    page.say(context.status());
    visit.note("join", "", "", true, &[]);
    let goodbye = tokio::select! {
        goodbye = visit.read(&mut stream) => goodbye,
        goodbye = write(&context, &page, &mut sink, &line) => goodbye,
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
        let farewell = async {
            // Whether it arrives or not.
            drop(sink.send(close).await);
            while let Some(Ok(_)) = stream.next().await {}
        };
        drop(timeout(GOODBYE_WITHIN, farewell).await);
        line.hang_up().await;
    }
    drop(seat);
}

/// Sends what waits, as fast as the page takes it.
async fn write(
    context: &Context,
    page: &Page,
    sink: &mut SplitSink<WebSocket, Message>,
    line: &Line,
) -> Option<Goodbye> {
    loop {
        let (frames, due) = page.take(context.clock.now(), CHUNK);
        if frames.is_empty() {
            wait(context, page, due).await;
            continue;
        }
        match line.while_moving(WRITE_WITHIN, send(sink, frames)).await {
            Some(Ok(())) => {}
            Some(Err(_)) => return None,
            None => return Some(Goodbye::new(NOT_ALLOWED, "the page does not read")),
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

/// Waits for a reason to end the connection that neither side has sent.
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
    /// Of each channel that it stopped a vehicle on.
    stops: BTreeMap<String, Budget>,
    n_unheard: usize,
    refusals: Budget,
    asks: Budget,
    requests: Arc<Semaphore>,
}

/// What becomes of a stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StopVerdict {
    Say,
    /// A repetition of a moment ago.
    Said,
    /// There are no such vehicles as this page stops.
    NobodyThere,
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
            stops: BTreeMap::new(),
            n_unheard: 0,
            refusals: budget(REFUSALS),
            asks: budget(ASKS),
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
            panels: &self.context.panel_addresses(),
            rank: self.speaker.rank,
        })
    }

    /// Takes what the page sends, until it leaves.
    async fn read(&mut self, stream: &mut SplitStream<WebSocket>) -> Option<Goodbye> {
        while let Some(message) = stream.next().await {
            let goodbye = match message {
                Ok(Message::Binary(bytes)) => self.on_frame(&bytes),
                Ok(Message::Text(_)) => Err(Goodbye::new(
                    MALFORMED,
                    "expected binary messages, found text",
                )),
                Ok(Message::Close(_)) => return None,
                // The library answers these, which costs as much as any other.
                Ok(Message::Ping(_) | Message::Pong(_)) => self.on_control(),
                Err(error) => return broken(error),
            };
            if let Err(goodbye) = goodbye {
                return Some(goodbye);
            }
        }
        None
    }

    fn on_control(&mut self) -> Result<(), Goodbye> {
        if self.frames.spend(self.context.clock.now()) {
            return Ok(());
        }
        Err(too_many_frames())
    }

    fn on_frame(&mut self, bytes: &[u8]) -> Result<(), Goodbye> {
        if bytes.len() > frame::MAX_FROM_PAGE {
            return Err(too_large());
        }
        let frame = frame::read(bytes);
        let is_flood = !self.frames.spend(self.context.clock.now());
        // What might be a stop is looked at first.
        let might_stop = matches!(frame, Ok(FromPage::Publish { .. }));
        if is_flood && !might_stop {
            return Err(too_many_frames());
        }
        match frame.map_err(|error: BadFrame| Goodbye::new(MALFORMED, error.to_string()))? {
            FromPage::Subscribe(rows) => self.on_subscribe(rows),
            FromPage::Publish { channel, message } => match self.on_publish(channel, message) {
                Ok(Pace::Steady) => Ok(()),
                Ok(Pace::TooFast) if is_flood => Err(too_many_frames()),
                Ok(Pace::TooFast) => Ok(()),
                Err(goodbye) => Err(goodbye),
            },
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

    fn on_publish(&mut self, channel: &str, message: &[u8]) -> Result<Pace, Goodbye> {
        let context = Arc::clone(&self.context);
        let Source::Live(live) = &context.source else {
            return self.refuse(
                channel,
                message,
                "this is a replay: no vehicle can be commanded",
            );
        };
        let type_on = |name: &str| self.context.feed.type_on(name);
        let ask = match policy::judge(&self.speaker, channel, message, type_on) {
            Ok(ask) => ask,
            Err(refusal) => return self.refuse(channel, message, &refusal.to_string()),
        };
        match ask {
            Ask::Stop { is_heard } => match self.judge_stop(channel, is_heard) {
                StopVerdict::Say => {}
                StopVerdict::Said => {
                    let repeated = &self.context.counts.repeated_stops;
                    repeated.fetch_add(1, Ordering::Relaxed);
                    return Ok(Pace::TooFast);
                }
                StopVerdict::NobodyThere => return self.refuse(channel, message, NOBODY_THERE),
            },
            Ask::Other => {
                if !self.publishes.spend(self.context.clock.now()) {
                    return self.refuse(channel, message, "more than 100 messages a second");
                }
            }
        }
        let bus: &Bus = &live.bus;
        // A hub that is gone can keep a publisher waiting for a moment.
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
        Ok(Pace::Steady)
    }

    /// The first stop on a channel is let through whatever else the page sent, and so often again as any person needs.
    fn judge_stop(&mut self, channel: &str, is_heard: bool) -> StopVerdict {
        let now = self.context.clock.now();
        if let Some(budget) = self.stops.get_mut(channel) {
            return if budget.spend(now) {
                StopVerdict::Say
            } else {
                StopVerdict::Said
            };
        }
        // Invented vehicles would fill the bus with their channels.
        if !is_heard {
            if self.n_unheard >= MAX_UNHEARD || !self.context.may_begin(channel) {
                return StopVerdict::NobodyThere;
            }
            self.n_unheard += 1;
        }
        let (per_second, at_once) = STOPS;
        let mut budget = Budget::new(per_second, at_once, now);
        budget.spend(now);
        self.stops.insert(channel.to_owned(), budget);
        StopVerdict::Say
    }

    /// Drops it, notes it in the audit log, and ends the connection if that goes on.
    fn refuse(&mut self, channel: &str, message: &[u8], why: &str) -> Result<Pace, Goodbye> {
        self.context
            .counts
            .refused_messages
            .fetch_add(1, Ordering::Relaxed);
        if !self.refusals.spend(self.context.clock.now()) {
            return Err(Goodbye::new(NOT_ALLOWED, why));
        }
        self.note("publish", channel, why, false, message);
        Ok(Pace::Steady)
    }

    /// Answers in its own time, so that a slow service delays no other.
    fn on_request(&mut self, id: u32, request: frame::Request) {
        let about = request::about(&request);
        if about.is_some() && !self.asks.spend(self.context.clock.now()) {
            return self.put_off(id, "too many requests in a second");
        }
        let Ok(permit) = Arc::clone(&self.requests).try_acquire_owned() else {
            return self.put_off(id, "too many requests are under way");
        };
        if let Err(why) = request::judge(self.speaker.role, &request) {
            let refused = &self.context.counts.refused_requests;
            refused.fetch_add(1, Ordering::Relaxed);
            if let Some((action, subject, detail)) = about {
                self.note(action, &subject, &format!("{detail}: {why}"), false, &[]);
            }
            return self.page.say(frame::reply(id, &reply(Err(why))));
        }
        // A service may take long, and may have done it though it does not answer.
        let about = match about {
            Some(("service", subject, detail)) => {
                self.note("service", &subject, &detail, true, &[]);
                Some(("answer", subject, String::new()))
            }
            about => about,
        };
        let (context, page) = (Arc::clone(&self.context), Arc::clone(&self.page));
        let audit = self.audit();
        tokio::spawn(async move {
            let answer = request::answer(&context, request).await;
            if let Some((action, subject, detail)) = about {
                let parts = [Some(&detail), answer.as_ref().err()].into_iter().flatten();
                let parts: Vec<&str> = parts.map(|it| &**it).filter(|it| !it.is_empty()).collect();
                context.auditor.note(Audit {
                    utime: context.clock.now().utime(),
                    action: action.to_owned(),
                    subject,
                    detail: parts.join(": "),
                    is_done: answer.is_ok(),
                    ..audit
                });
            }
            page.say(frame::reply(id, &reply(answer)));
            drop(permit);
        });
    }

    /// Answers that it has to be asked again.
    fn put_off(&self, id: u32, why: &str) {
        let refused = &self.context.counts.refused_requests;
        refused.fetch_add(1, Ordering::Relaxed);
        let audit = Audit {
            action: "request".to_owned(),
            detail: why.to_owned(),
            ..self.audit()
        };
        self.context.note_refusal(self.guest.address, audit);
        self.page.say(frame::reply(id, &reply(Err(why.to_owned()))));
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

/// Whether a page sends at a pace that is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pace {
    Steady,
    TooFast,
}

const NOBODY_THERE: &str =
    "no vehicle has a gate there, and enough were stopped that have none already";

fn too_many_frames() -> Goodbye {
    Goodbye::new(NOT_ALLOWED, "too many frames")
}

fn too_large() -> Goodbye {
    let most = frame::MAX_FROM_PAGE;
    Goodbye::new(
        TOO_LARGE,
        format!("expected at most {most} bytes in a message"),
    )
}

/// The text about a connection that broke; none if there is no reader for it.
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
