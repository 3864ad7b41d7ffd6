//! What a link promises, in simulated time over simulated channels.

#[path = "it/channel.rs"]
mod channel;
#[path = "it/outages.rs"]
mod outages;
#[path = "it/overload.rs"]
mod overload;
#[path = "it/robust.rs"]
mod robust;
#[path = "it/world.rs"]
mod world;
