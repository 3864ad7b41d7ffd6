//! Publish and subscribe, with LCM on the wire.
//!
//! A [`Bus`] is opened by a URL that names a transport; nothing else changes with it. Messages are published on
//! channels, and subscribed to by patterns over their names.
//!
//! ```
//! use bowline_bus::Bus;
//! use std::time::Duration;
//! # use bowline_wire::{Decode, Encode, Fingerprint, Message, DecodeError, EncodeError, Meter, Reader, Writer};
//! # #[derive(Debug, PartialEq)]
//! # struct Depth { depth_m: f64 }
//! # impl Encode for Depth {
//! #     fn measure(&self, meter: &mut Meter) -> Result<(), EncodeError> { self.depth_m.measure(meter) }
//! #     fn write(&self, writer: &mut Writer<'_>) { self.depth_m.write(writer); }
//! # }
//! # impl<'a> Decode<'a> for Depth {
//! #     const MIN_SIZE: usize = 8;
//! #     fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> { Ok(Self { depth_m: f64::read(reader)? }) }
//! # }
//! # impl Message for Depth {
//! #     const NAME: &'static str = "depth_t";
//! #     const FINGERPRINT: Fingerprint = Fingerprint(0x1234);
//! # }
//!
//! let bus = Bus::open("memq://")?;
//! let depths = bus.subscribe::<Depth>("sonar.*")?;
//! bus.publish("sonar.depth", &Depth { depth_m: 2.5 })?;
//!
//! let depth = depths.recv_timeout(Duration::from_secs(1))?.expect("it was just published");
//! assert_eq!(depth.depth_m, 2.5);
//! assert_eq!(depth.channel.as_str(), "sonar.depth");
//! assert_eq!(bus.counts().lost(), 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Who reads the network: the thread that waits for a message (`pump.rs`). Who owns what waits: a mailbox for each
//! reader (`mailbox.rs`), bounded by a [`Queue`] for each subscription. Every drop anywhere is in [`Counts`].

#![deny(clippy::indexing_slicing)]

mod announce;
mod bus;
mod callback;
mod clock;
mod cork;
mod counts;
mod event;
pub mod eventlog;
pub mod hub;
mod inbox;
mod mailbox;
mod pattern;
mod pump;
mod queue;
mod router;
#[cfg(feature = "async")]
mod stream;
mod subscription;
mod sys;
pub mod transport;
mod url;

pub use announce::{SCHEMA_CHANNEL, SCHEMA_REQUEST_CHANNEL};
pub use bowline_wire::Channel;
pub use bus::{Bus, PublishError, SubscribeError, check_url, default_url};
pub use bytes::Bytes;
pub use callback::Callback;
pub use clock::{Wait, wall_ns};
pub use cork::Cork;
pub use counts::{Counts, NetworkCounts, SenderCounts};
pub use event::{Arrival, Event, Sender};
pub use hub::Hub;
pub use inbox::{Inbox, RecvError};
pub use pattern::{BadPattern, Pattern};
pub use queue::{Queue, QueueCounts, SubscriptionId, WhenFull};
pub use router::{Body, Inlet, Interest};
#[cfg(feature = "async")]
pub use stream::EventStream;
pub use subscription::{Received, RecvMessageError, Subscription};
pub use url::{BadUrl, DEFAULT_URL, Options, Url};
