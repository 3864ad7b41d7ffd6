//! Decisions of autonomous vehicles: what the terrain is like, which arcs are good, where to go, how to get there.
//!
//! In: ranges, poses, maps, votes. Out: maps, votes, plans, and one command for the vehicle.
//!
//! Deliberately absent: devices, sockets, clocks. Everything here is a function of what components hear.

pub mod plan;
