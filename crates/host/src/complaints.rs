//! What goes wrong in components, reported now and then: a sender of garbage must not flood the output of a process.

use bowline_component::Time;
use std::collections::BTreeMap;
use std::time::Duration;

/// How often a component is complained about.
const EVERY: Duration = Duration::from_secs(1);

/// Lets through one fault of each component in a second, and counts the rest.
#[derive(Debug, Default)]
pub struct Complaints {
    told: BTreeMap<String, Told>,
}

#[derive(Debug)]
struct Told {
    at: Time,
    untold: u64,
}

impl Complaints {
    /// What is to be reported of these faults now, each with the name of its component.
    pub fn limit(&mut self, now: Time, faults: Vec<(String, String)>) -> Vec<(String, String)> {
        let told = faults.into_iter().filter_map(|(component, fault)| {
            let Some(before) = self.told.get_mut(&component) else {
                self.told
                    .insert(component.clone(), Told { at: now, untold: 0 });
                return Some((component, fault));
            };
            if now.since(before.at) < EVERY {
                before.untold += 1;
                return None;
            }
            let untold = std::mem::replace(before, Told { at: now, untold: 0 }).untold;
            let more = if untold > 0 {
                format!(" (and {untold} more before)")
            } else {
                String::new()
            };
            Some((component, format!("{fault}{more}")))
        });
        told.collect()
    }
}
