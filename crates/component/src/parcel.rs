//! A message on its way between components: a value, bytes, or both.
//!
//! Within a process the value itself is handed over. It is encoded once, when the first one wants bytes: a bus, a log,
//! a trace. What comes from outside is decoded once for all who read it.

use bowline_wire::{Decode, DecodeError, EncodeError, Message};
use bytes::Bytes;
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
    opened: OnceLock<Opened>,
    bytes: OnceLock<Bytes>,
    encode: Option<fn(&dyn Any) -> Bytes>,
}

/// A value, and its own time in microseconds since the epoch where it has one.
#[derive(Clone)]
pub(crate) struct Opened {
    pub(crate) value: Value,
    pub(crate) stamp: Option<i64>,
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
        let opened = Opened::new(message);
        Ok(Self(Arc::new(Inner {
            opened: opened.into(),
            bytes: OnceLock::new(),
            encode: Some(encode::<M>),
        })))
    }

    /// Bytes as they came.
    #[must_use]
    pub fn from_bytes(bytes: Bytes) -> Self {
        Self(Arc::new(Inner {
            opened: OnceLock::new(),
            bytes: bytes.into(),
            encode: None,
        }))
    }

    /// The encoded message.
    #[must_use]
    pub fn bytes(&self) -> &Bytes {
        let Inner {
            opened,
            bytes,
            encode,
        } = &*self.0;
        bytes.get_or_init(|| match (opened.get(), encode) {
            (Some(opened), Some(encode)) => encode(&*opened.value),
            // There is always one or the other.
            (None, _) | (_, None) => Bytes::new(),
        })
    }

    /// The message as a value of its own, if it is one of this type.
    #[must_use]
    pub fn message<M>(&self) -> Option<M>
    where
        M: Message + for<'a> Decode<'a> + Clone + Send + Sync + 'static,
    {
        let opened = self.open(&Decoder::of::<M>()).ok()?;
        opened.value.downcast_ref::<M>().cloned()
    }

    /// The value, decoded unless an earlier reader did so.
    pub(crate) fn open(&self, decoder: &Decoder) -> Result<Opened, DecodeError> {
        if decoder.is_raw {
            return (decoder.decode)(self.bytes());
        }
        if let Some(opened) = self.0.opened.get()
            && (decoder.reads)(&*opened.value)
        {
            return Ok(opened.clone());
        }
        let opened = (decoder.decode)(self.bytes())?;
        // Readers of one channel have one type. If not, the first is remembered.
        drop(self.0.opened.set(opened.clone()));
        Ok(opened)
    }
}

impl Opened {
    fn new<M: Message + Send + Sync + 'static>(message: M) -> Self {
        Self {
            stamp: message.utime(),
            value: Arc::new(message),
        }
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
    decode: fn(&Bytes) -> Result<Opened, DecodeError>,
    reads: fn(&dyn Any) -> bool,
    is_raw: bool,
}

impl Decoder {
    pub(crate) fn of<M>() -> Self
    where
        M: Message + for<'a> Decode<'a> + Send + Sync + 'static,
    {
        Self {
            decode: |bytes| Ok(Opened::new(M::decode(bytes)?)),
            reads: |value| value.is::<M>(),
            is_raw: false,
        }
    }

    pub(crate) fn raw() -> Self {
        Self {
            decode: |bytes| {
                let bytes = bytes.clone();
                Ok(Opened {
                    value: Arc::new(Raw { bytes }),
                    stamp: None,
                })
            },
            reads: |value| value.is::<Raw>(),
            is_raw: true,
        }
    }
}

impl fmt::Debug for Decoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Decoder")
    }
}
