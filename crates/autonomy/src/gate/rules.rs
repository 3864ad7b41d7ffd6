//! What can be chosen about a gate, before it begins.

use super::task::Contingency;
use std::collections::BTreeMap;
use std::time::Duration;

/// The bounds that a gate keeps.
#[derive(Clone, Debug, PartialEq)]
pub struct Rules {
    /// How old a direct command may get, from when its token was issued; then the thrust is zero.
    pub ttl: Duration,
    /// How old other commands may be when they arrive: thin links are slow.
    pub task_ttl: Duration,
    /// For how long heading and speed are kept without being sent anew.
    pub setpoint_ttl: Duration,
    /// How old a wish of the controller may get.
    pub wish_ttl: Duration,
    /// How far a direct command may go on each axis, in either direction; empty: as far as the kind of actuation has it.
    pub direct_limits: Vec<f64>,
    /// The channel that shows what the actuators are set to; empty: that of the gate's own output.
    pub setpoint: String,
    /// For how long a person shows neutral input before direct control begins.
    pub neutral_for: Duration,
    /// How long the holder of the lease may be silent.
    pub lease: Duration,
    /// How long the holder may take to answer who asks for the lease.
    pub answer_within: Duration,
    /// From the end of a lease until control counts as lost.
    pub grace: Duration,
    /// What is done then.
    pub contingency: Contingency,
    /// The highest rank that each station may have; 0 for those that are not here.
    pub ranks: BTreeMap<String, i32>,
    /// Corners of the fence, x east and y north in the map frame, metres.
    pub fence_m: Option<Vec<[f64; 2]>>,
    /// For how long the fence trusts a place.
    pub place_ttl: Duration,
    /// How uncertain a pose may be for the fence, metres. The caller looks at it before it hands in a place; here it is published.
    pub place_sd_m: f64,
    /// Without a beat for so long the vehicle is stopped on the spot; none where there is nothing that beats.
    pub beat_within: Option<Duration>,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            ttl: Duration::from_millis(250),
            task_ttl: Duration::from_secs(2),
            setpoint_ttl: Duration::from_millis(1_500),
            wish_ttl: Duration::from_millis(300),
            direct_limits: Vec::new(),
            setpoint: String::new(),
            neutral_for: Duration::from_millis(300),
            lease: Duration::from_secs(1),
            answer_within: Duration::from_secs(5),
            grace: Duration::from_secs(5),
            contingency: Contingency::Hold,
            ranks: BTreeMap::new(),
            fence_m: None,
            place_ttl: Duration::from_secs(2),
            place_sd_m: 5.0,
            beat_within: None,
        }
    }
}

impl Rules {
    /// The rank that a station gets when it wants this one. People who log in at a station have its rank, unless they have
    /// one of their own: `bridge/anna` may have what `bridge` may.
    pub(super) fn rank_of(&self, station: &str, wanted: i32) -> i32 {
        let place = || station.split_once('/').map(|(place, _)| place);
        let own = self.ranks.get(station);
        let most = own.or_else(|| self.ranks.get(place()?)).copied();
        let most = most.unwrap_or(0);
        wanted.clamp(0, most.max(0))
    }
}
