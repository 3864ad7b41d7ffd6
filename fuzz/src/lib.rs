//! Fuzz targets: for each parser and decoder, what must hold whatever the input is.
//!
//! In: any bytes. Out: nothing, or a panic that names the broken promise. `tests/replay.rs` runs every target over its
//! committed corpus in the ordinary build; `make soak` runs the same functions under libFuzzer (`libfuzzer/`).

mod datagrams;
mod dynamic;
mod eventlog;
mod gate;
mod generated;
mod language;
mod link_frames;
mod log_damage;
mod log_files;
mod log_index;
mod mcap;
mod models;
mod nmea;
mod robot_files;
mod roboteq;
mod scanner;
mod scratch;
mod station_frames;
mod tcpq;
mod worlds;

/// One thing that takes bytes from outside.
#[derive(Debug)]
pub struct Target {
    /// The name of its module, and of its folder in `corpus/`.
    pub name: &'static str,
    /// Panics where a promise is broken.
    pub run: fn(&[u8]),
}

/// All targets, sorted by name. Add yours here, and its corpus; nothing else needs to change.
pub const TARGETS: &[Target] = &[
    Target {
        name: "datagrams",
        run: datagrams::run,
    },
    Target {
        name: "dynamic",
        run: dynamic::run,
    },
    Target {
        name: "eventlog",
        run: eventlog::run,
    },
    Target {
        name: "gate",
        run: gate::run,
    },
    Target {
        name: "generated",
        run: generated::run,
    },
    Target {
        name: "language",
        run: language::run,
    },
    Target {
        name: "link_frames",
        run: link_frames::run,
    },
    Target {
        name: "log_damage",
        run: log_damage::run,
    },
    Target {
        name: "log_files",
        run: log_files::run,
    },
    Target {
        name: "log_index",
        run: log_index::run,
    },
    Target {
        name: "mcap",
        run: mcap::run,
    },
    Target {
        name: "models",
        run: models::run,
    },
    Target {
        name: "nmea",
        run: nmea::run,
    },
    Target {
        name: "robot_files",
        run: robot_files::run,
    },
    Target {
        name: "roboteq",
        run: roboteq::run,
    },
    Target {
        name: "scanner",
        run: scanner::run,
    },
    Target {
        name: "station_frames",
        run: station_frames::run,
    },
    Target {
        name: "tcpq",
        run: tcpq::run,
    },
    Target {
        name: "worlds",
        run: worlds::run,
    },
];
