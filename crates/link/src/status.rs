//! What a link publishes about itself on its bus.

use crate::counts::{Ages, Cause, Counts};
use crate::path::PathState;
use crate::session::Session;
use bowline_component::Time;
use bowline_msgs::{Link, LinkPath, LinkStream};

/// What a session does not know of a path.
#[derive(Clone, Debug, Default)]
pub(crate) struct PathName {
    pub(crate) name: String,
    pub(crate) is_secure: bool,
    pub(crate) problem: String,
}

/// What a session does not know of itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Names<'n> {
    pub(crate) name: &'n str,
    pub(crate) peer: &'n str,
    pub(crate) scheduler: &'n str,
    pub(crate) paths: &'n [PathName],
}

pub(crate) fn status(session: &Session, names: Names<'_>, now: Time) -> Link {
    let paths = session.paths().zip(names.paths);
    let paths: Vec<LinkPath> = paths
        .map(|(path, name)| LinkPath {
            name: name.name.clone(),
            is_secure: name.is_secure,
            state: match path.state {
                PathState::Down => LinkPath::DOWN,
                PathState::Connecting => LinkPath::CONNECTING,
                PathState::Ready => LinkPath::READY,
                PathState::Stalled => LinkPath::STALLED,
            },
            is_active: path.is_active,
            problem: name.problem.clone(),
            rtt_s: path.rtt.map_or(f64::NAN, |rtt| rtt.as_secs_f64()),
            capacity_bps: path.capacity_bytes_per_s * 8.0,
            loss_ratio: path.loss,
            n_sent: count(path.n_sent),
            n_received: count(path.n_received),
            sent_bytes: count(path.sent_bytes),
            received_bytes: count(path.received_bytes),
            n_stalls: count(path.n_stalls),
            n_bad: count(path.n_bad),
        })
        .collect();
    let sends = session.sends().map(|(declared, counts)| {
        let names = (declared.channel.as_str(), declared.name.as_str());
        stream(names, counts, None)
    });
    let receives = session.receives().map(|(declared, counts, ages)| {
        let names = (declared.channel.as_str(), declared.name.as_str());
        stream(names, counts, Some(ages))
    });
    Link {
        utime: now.utime(),
        name: names.name.to_owned(),
        peer: names.peer.to_owned(),
        scheduler: names.scheduler.to_owned(),
        n_unknown: count(session.n_unknown()),
        paths,
        streams: sends.chain(receives).collect(),
        ..Link::default()
    }
    .with_lengths()
}

fn stream((channel, name): (&str, &str), counts: &Counts, ages: Option<&Ages>) -> LinkStream {
    let age_s = |percent| {
        let age = ages.and_then(|ages| ages.percentile(percent));
        age.map_or(f64::NAN, |age| age.as_secs_f64())
    };
    let dropped = |cause| count(counts.dropped(cause));
    LinkStream {
        channel: channel.to_owned(),
        name: name.to_owned(),
        is_sent: ages.is_none(),
        age_p50_s: age_s(50),
        age_p99_s: age_s(99),
        n_offered: count(counts.n_offered),
        n_sent: count(counts.n_sent),
        n_delivered: count(counts.n_delivered),
        n_bytes: count(counts.n_bytes),
        n_resent: count(counts.n_resent),
        n_expired: dropped(Cause::Expired),
        n_replaced: dropped(Cause::Replaced),
        n_shed: dropped(Cause::Shed),
        n_queue_full: dropped(Cause::QueueFull),
        n_too_large: dropped(Cause::TooLarge),
        n_unchanged: dropped(Cause::Unchanged),
        n_looped: dropped(Cause::Looped),
        n_stale: dropped(Cause::Stale),
        n_duplicate: dropped(Cause::Duplicate),
        n_incomplete: dropped(Cause::Incomplete),
        n_not_peers: dropped(Cause::NotPeers),
    }
}

fn count(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}
