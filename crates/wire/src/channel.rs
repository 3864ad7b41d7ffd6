//! The name of a channel.

use alloc::sync::Arc;
use core::borrow::Borrow;
use core::fmt;
use core::ops::Deref;

/// The name of a channel, shared by all its messages: cheap to clone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Channel(Arc<str>);

impl Channel {
    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Channel {
    fn from(name: &str) -> Self {
        Self(name.into())
    }
}

impl Deref for Channel {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// So that maps by channel can be asked for a name.
impl Borrow<str> for Channel {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.0)
    }
}
