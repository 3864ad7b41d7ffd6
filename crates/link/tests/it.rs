//! What a link promises: in simulated time over simulated channels, and whole ends on the loopback.

#[path = "it/channel.rs"]
mod channel;
#[path = "it/ends.rs"]
mod ends;
#[path = "it/files.rs"]
mod files;
#[path = "it/outages.rs"]
mod outages;
#[path = "it/overload.rs"]
mod overload;
#[path = "it/robust.rs"]
mod robust;
#[path = "it/schedules.rs"]
mod schedules;
#[path = "it/world.rs"]
mod world;
