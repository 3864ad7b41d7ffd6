//! LCM's encoding: bytes to values and back.
//!
//! Everything here is a function of its arguments: no I/O, no threads, no clock, `no_std` with `alloc`, and no
//! dependencies unless the `json` feature asks for them. It runs in a browser and on a microcontroller.
//!
//! There are two ways to a message. Generated types implement [`Encode`], [`Decode`] and [`Message`]; they are fast
//! and checked by the compiler. A [`schema::TypeSet`] describes types at run time, and decodes any message of any of
//! them into a [`Value`] with no generated code; tools use that.
//!
//! ```
//! use bowline_wire::schema::{Dim, Member, Primitive, Struct, Type, TypeDef, TypeKind, TypeSet};
//! use bowline_wire::{FieldPath, Value};
//!
//! let depth = Member { name: "depth_m".into(), doc: String::new(), ty: Type::Primitive(Primitive::Double), dims: vec![] };
//! let body = TypeKind::Struct(Struct { members: vec![depth], constants: vec![] });
//! let types = TypeSet::new(vec![TypeDef { package: "sea".into(), name: "depth_t".into(), doc: String::new(), kind: body }])?;
//!
//! let depth_t = types.by_name("sea.depth_t").expect("just defined");
//! let message = types.encode(depth_t, &Value::Struct(Box::new([Value::Double(2.5)])))?;
//! assert_eq!(message.len(), 16, "a fingerprint and a double");
//!
//! let (found, value) = types.decode(&message)?;
//! let depth = types.select(found, &FieldPath::parse("depth_m")?)?;
//! assert_eq!(depth.pick(&value), Some(Value::Double(2.5)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![no_std]
#![deny(clippy::indexing_slicing)]

extern crate alloc;

mod channel;
pub mod datagram;
mod decode;
mod dynamic;
mod encode;
mod entry;
pub mod eventlog;
pub mod fingerprint;
#[rustfmt::skip]
#[expect(dead_code, unreachable_pub, reason = "generated modules are public; what is used of this one is in `messages`")]
mod generated;
#[cfg(feature = "json")]
pub mod json;
mod message;
pub mod mpudpm;
pub mod number;
mod owned;
mod path;
pub mod random;
pub mod reassembly;
pub mod schema;
mod select;
pub mod sequence;
pub mod suggest;
pub mod tcpq;
mod text;
mod value;

pub use channel::Channel;
pub use decode::{Decode, DecodeError, DecodeFault, InField, Reader};
pub use encode::{Encode, EncodeError, EncodeFault, Meter, Writer};
pub use entry::{Recode, RecodeError, TypeEntry, recode};
pub use fingerprint::Fingerprint;
pub use message::Message;
pub use owned::{IntoOwned, boxed_array, boxed_bytes};
pub use path::{FieldPath, ParsePathError, Step};
pub use select::{SelectError, Selector};
pub use value::{Array, Items, Value};

/// The messages that formats of logs are made of: descriptions of types, and bookmarks. `bowline-msgs` has them with all
/// others.
///
/// Generated from the .lcm files in `types/` by `make gen`.
pub mod messages {
    pub use crate::generated::bowline::*;
}

/// The heap's types under their usual names, for generated code in programs without `std`.
pub mod heap {
    pub use alloc::boxed::Box;
    pub use alloc::string::String;
    pub use alloc::vec::Vec;
}

/// How deep a value may contain others of its own type. Bounds the stack that decoding takes.
pub const MAX_DEPTH: usize = 128;

/// How deep a dynamic value may contain others of any type: a schema off a bus could multiply its own depth with that
/// of a message.
pub const MAX_LEVELS: usize = 512;

/// How many elements without any bytes a message may have. They cost a sender nothing and a receiver memory.
pub const MAX_FREE_ELEMENTS: usize = 65_536;

/// How many dynamic values a message may have for each of its bytes, beside [`MAX_FREE_ELEMENTS`]. Members of real types
/// take bytes, all but a few empty arrays; a schema off a bus could nest structs without bytes two by two.
pub const MAX_VALUES_A_BYTE: usize = 16;

/// LCM's libraries count bytes in 32-bit signed numbers, so no peer can take more.
pub const MAX_MESSAGE_SIZE: usize = i32::MAX as usize;
