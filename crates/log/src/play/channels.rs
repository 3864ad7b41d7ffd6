//! Which channels are played, and under which names.

use super::{REQUEST_CHANNEL, STATUS_CHANNEL};
use crate::rename::{Rename, Renames};
use bowline_bus::Pattern;
use std::collections::HashMap;

/// Channels that are remembered; others are decided about each time.
const MAX_ROUTES: usize = 100_000;

/// Rules about channels: the last that matches decides.
#[derive(Clone, Debug, Default)]
pub struct Channels {
    /// Whether channels that no rule is about are left out.
    is_closed: bool,
    switches: Vec<Switch>,
    renames: Renames,
    routes: Vec<Route>,
    by_channel: HashMap<String, usize>,
    last: usize,
}

#[derive(Clone, Debug)]
struct Switch {
    pattern: Pattern,
    is_on: bool,
}

/// What is known of a channel that was met.
#[derive(Clone, Debug)]
struct Route {
    channel: String,
    name: String,
    is_enabled: bool,
    n_published: u64,
}

/// What became of a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelStatus {
    /// As it is in the log.
    pub channel: String,
    /// As it is published.
    pub name: String,
    /// Whether it is played.
    pub is_enabled: bool,
    /// How many of its events were published.
    pub n_published: u64,
}

impl Channels {
    /// Nothing is played but what is enabled later.
    #[must_use]
    pub fn none() -> Self {
        Self {
            is_closed: true,
            ..Self::default()
        }
    }

    /// Plays what matches.
    pub fn enable(&mut self, pattern: Pattern) {
        self.switch(pattern, true);
    }

    /// Does not play what matches.
    pub fn disable(&mut self, pattern: Pattern) {
        self.switch(pattern, false);
    }

    fn switch(&mut self, pattern: Pattern, is_on: bool) {
        // A switch with exactly the same pattern is superseded; so toggling for days fills no memory.
        let same = |switch: &Switch| switch.pattern.as_str() == pattern.as_str();
        self.switches.retain(|switch| !same(switch));
        self.switches.push(Switch { pattern, is_on });
        self.decide_again();
    }

    /// Publishes under another name.
    pub fn rename(&mut self, rename: Rename) {
        self.renames.add(rename);
        self.decide_again();
    }

    /// Every channel that was met, in the order in which they were.
    pub fn statuses(&self) -> impl Iterator<Item = ChannelStatus> {
        self.routes.iter().map(|route| ChannelStatus {
            channel: route.channel.clone(),
            name: route.name.clone(),
            is_enabled: route.is_enabled,
            n_published: route.n_published,
        })
    }

    /// Whether a channel is played.
    #[must_use]
    pub fn is_enabled(&self, channel: &str) -> bool {
        let switch = self
            .switches
            .iter()
            .rfind(|switch| switch.pattern.matches(channel));
        switch.map_or(!self.is_closed, |switch| switch.is_on) && !is_own(&self.name_of(channel))
    }

    fn name_of(&self, channel: &str) -> String {
        let renamed = self.renames.apply(channel);
        renamed.unwrap_or_else(|| channel.to_owned())
    }

    /// Makes itself familiar with a channel before it is met.
    pub(super) fn expect(&mut self, channel: &str) {
        self.find(channel);
    }

    /// Where events of a channel go; `None` if they are not played.
    pub(super) fn find(&mut self, channel: &str) -> Option<usize> {
        // Events come in runs, and a comparison with the last one's channel is quicker than any map.
        let is_last = |route: &Route| route.channel == channel;
        if !self.routes.get(self.last).is_some_and(is_last) {
            self.last = match self.by_channel.get(channel) {
                Some(at) => *at,
                None => self.add(channel),
            };
        }
        let route = self.routes.get(self.last)?;
        route.is_enabled.then_some(self.last)
    }

    fn add(&mut self, channel: &str) -> usize {
        let route = Route {
            channel: channel.to_owned(),
            name: self.name_of(channel),
            is_enabled: self.is_enabled(channel),
            n_published: 0,
        };
        if self.routes.len() > MAX_ROUTES {
            // The last place is for all that are too many.
            self.routes.pop();
        } else {
            self.by_channel
                .insert(channel.to_owned(), self.routes.len());
        }
        self.routes.push(route);
        self.routes.len() - 1
    }

    pub(super) fn published(&mut self, at: usize) {
        if let Some(route) = self.routes.get_mut(at) {
            route.n_published += 1;
        }
    }

    pub(super) fn name(&self, at: usize) -> &str {
        self.routes.get(at).map_or("", |route| &route.name)
    }

    fn decide_again(&mut self) {
        for at in 0..self.routes.len() {
            let Some(channel) = self.routes.get(at).map(|route| route.channel.clone()) else {
                return;
            };
            let (is_enabled, name) = (self.is_enabled(&channel), self.name_of(&channel));
            if let Some(route) = self.routes.get_mut(at) {
                route.is_enabled = is_enabled;
                route.name = name;
            }
        }
    }
}

/// A log of a bus where a log was played contains the commands of that player. Played, it would drive this one.
fn is_own(name: &str) -> bool {
    [REQUEST_CHANNEL, STATUS_CHANNEL].contains(&name)
}
