//! LCM's C library, on Bowline's bus.
//!
//! In: calls of C and C++ programs that were built for `liblcm.so.1`. Out: the same functions, structs and meanings,
//! without liblcm's defects; `README.md` lists what differs. C++ needs nothing of its own: its headers call C.
//!
//! `instance.rs` is a `lcm_t`, `turn.rs` decides who handles, `log.rs` reads event logs. What C sees, and with it all
//! `unsafe`, is in `ffi/`.
//!
//! No panic crosses into C. Exceptions of C++ handlers pass through `lcm_handle` as they did through liblcm.

#![deny(clippy::indexing_slicing)]

mod complaint;
mod ffi;
mod instance;
mod log;
mod turn;
