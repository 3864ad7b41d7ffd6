//! What a component says.

use std::marker::PhantomData;

/// Where outputs go.
#[derive(Debug)]
pub struct Outbox<'a>(PhantomData<&'a ()>);
