//! A message on its way between components: a value, bytes, or both.
//!
//! Within a process the value itself is handed over. It is encoded once, when the first one wants bytes: a bus, a log,
//! a trace. What comes from outside is decoded once for all who read it.

use bowline_bus::Bytes;
use bowline_wire::{Decode, DecodeError, EncodeError, Message};
use std::any::Any;
use std::fmt;
use std::sync::{Arc, OnceLock};

type Value = Arc<dyn Any + Send + Sync>;

/// Bytes of any type, for components that read everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raw {
    /// The message as it was sent.
    pub bytes: Bytes,
}

/// A message, shared by all who get it.
#[derive(Clone)]
pub struct Parcel(Arc<Inner>);

struct Inner {
    value: OnceLock<Value>,
    bytes: OnceLock<Bytes>,
    encode: Option<fn(&dyn Any) -> Bytes>,
    /// The message's own time, microseconds since the epoch, once the value is known.
    stamp: OnceLock<Option<i64>>,
}

impl Parcel {
    /// A value that is ready to be sent.
    ///
    /// # Errors
    /// When it has no faithful encoding: found here, so that it makes no difference who reads it.
    pub fn new<M>(message: M) -> Result<Self, EncodeError>
    where
        M: Message + Send + Sync + 'static,
    {
        message.encoded_size()?;
        let stamp = message.utime();
        let value: Value = Arc::new(message);
        Ok(Self(Arc::new(Inner {
            value: value.into(),
            bytes: OnceLock::new(),
            encode: Some(encode::<M>),
            stamp: stamp.into(),
        })))
    }

    /// Bytes as they came.
    #[must_use]
    pub fn from_bytes(bytes: Bytes) -> Self {
        Self(Arc::new(Inner {
            value: OnceLock::new(),
            bytes: bytes.into(),
            encode: None,
            stamp: OnceLock::new(),
        }))
    }

    /// The encoded message.
    #[must_use]
    pub fn bytes(&self) -> &Bytes {
        let Inner {
            bytes,
            value,
            encode,
            ..
        } = &*self.0;
        bytes.get_or_init(|| match (value.get(), encode) {
            (Some(value), Some(encode)) => encode(&**value),
            // There is always one or the other.
            (None, _) | (_, None) => Bytes::new(),
        })
    }

    /// The value, decoded if nobody did so before.
    pub(crate) fn open(&self, decoder: &Decoder) -> Result<Value, DecodeError> {
        if let Some(value) = self.0.value.get()
            && decoder.reads(&**value)
        {
            return Ok(Arc::clone(value));
        }
        let (value, stamp) = (decoder.decode)(self.bytes())?;
        // Readers of one channel have one type, but for those that take bytes. Whoever is first is remembered.
        drop(self.0.value.set(Arc::clone(&value)));
        drop(self.0.stamp.set(stamp));
        Ok(value)
    }

    /// The message's own time, microseconds since the epoch, where it has one.
    pub(crate) fn stamp(&self) -> Option<i64> {
        self.0.stamp.get().copied().flatten()
    }
}

impl fmt::Debug for Parcel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.bytes.get() {
            Some(bytes) => write!(f, "Parcel({} bytes)", bytes.len()),
            None => f.write_str("Parcel(value)"),
        }
    }
}

fn encode<M: Message + 'static>(value: &dyn Any) -> Bytes {
    let message = value.downcast_ref::<M>();
    // Its size was worked out when it was sent, so encoding cannot fail.
    let encoded = message.and_then(|message| message.encode().ok());
    encoded.unwrap_or_default().into()
}

/// How the bytes of a port become values.
#[derive(Clone, Copy)]
pub(crate) struct Decoder {
    decode: fn(&Bytes) -> Result<(Value, Option<i64>), DecodeError>,
    reads: fn(&dyn Any) -> bool,
}

impl Decoder {
    pub(crate) fn of<M>() -> Self
    where
        M: Message + for<'a> Decode<'a> + Send + Sync + 'static,
    {
        Self {
            decode: |bytes| {
                let message = M::decode(bytes)?;
                let stamp = message.utime();
                Ok((Arc::new(message), stamp))
            },
            reads: |value| value.is::<M>(),
        }
    }

    pub(crate) fn raw() -> Self {
        Self {
            decode: |bytes| {
                let raw = Raw {
                    bytes: bytes.clone(),
                };
                Ok((Arc::new(raw), None))
            },
            reads: |value| value.is::<Raw>(),
        }
    }

    fn reads(&self, value: &dyn Any) -> bool {
        (self.reads)(value)
    }
}

impl fmt::Debug for Decoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Decoder")
    }
}
