//! What a component is told at a step.

use std::marker::PhantomData;

/// One event, the time, and what is known of the inputs.
#[derive(Debug)]
pub struct Step<'a>(PhantomData<&'a ()>);
