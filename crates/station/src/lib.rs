//! The operator's station: a page in a browser, fed by a bus or a log.
//!
//! ```text
//!  bus ─▶ live ───┐          ┌─ Board: channels, types, last and past messages
//!  log ─▶ replay ─┴▶ Feed ───┤
//!                            └─ Outbox of each page ─▶ socket ─▶ browser
//!  bus ◀─ policy ◀───────────────────────────────────── socket ◀─ browser
//!          └─▶ audit ─▶ log, bus
//! ```
//!
//! The protocol between a station and its page is in `web/PROTOCOL.md`. The station cannot move a vehicle: it carries
//! what people ask for to the gate, if they may ask at all, and writes down that they did.
//!
//! | file | job |
//! | --- | --- |
//! | `frame.rs` | frames to bytes and back |
//! | `wish.rs` | what a page wants to be sent |
//! | `board.rs`, `past.rs` | what was received, in bounds |
//! | `outbox.rs` | what a page is sent next |
//! | `feed.rs` | from one source to all pages |
//! | `live.rs`, `replay.rs` | the two sources |
//! | `policy.rs` | what a page may publish, and which services it may call |
//! | `request.rs` | what a page may ask of the station |
//! | `people.rs`, `sessions.rs`, `budget.rs`, `crowd.rs` | who they are, what they may do, how often, and how many at once |
//! | `panels.rs` | custom panels, from a folder |
//! | `audit.rs`, `notices.rs` | what they did, and what they were refused |
//! | `fuzzing.rs` | what `fuzz/` tries |
//! | `door.rs`, `line.rs`, `tls.rs`, `names.rs` | connections, and what the station is called |
//! | `http.rs`, `socket.rs`, `assets.rs` | the only files that know browsers |
//! | `station.rs` | all of it together |
//!
//! Everything above `http.rs` receives the time and holds no socket.

mod assets;
mod audit;
mod board;
mod budget;
mod crowd;
mod door;
mod feed;
mod frame;
#[doc(hidden)]
pub mod fuzzing;
mod http;
mod line;
mod live;
mod names;
mod notices;
mod outbox;
mod panels;
mod past;
mod people;
mod policy;
mod replay;
mod request;
mod sessions;
mod socket;
mod station;
mod tls;
mod wish;

pub use panels::BadPanels;
pub use people::{BadPeople, MAX_PASSWORD, People, Role, hash_password};
pub use station::{Access, Chart, Model, Options, Origin, StartError, Station};
pub use tls::{Certificate, TlsError, self_signed};
