//! From what a robot file says to a component that can run.

use super::{Component, Program, Robot, Source};
use crate::engine::Instance;
use crate::kind::MakeError;

impl Component {
    /// Makes the component, unless it is a program of its own.
    ///
    /// # Errors
    /// When it refuses, which it did not when the file was checked: a file that it needs has gone.
    pub fn make(&self) -> Option<Result<Instance, MakeError>> {
        let Program::Kind { kind, settings, .. } = &self.program else {
            return None;
        };
        let settings: Vec<_> = settings
            .iter()
            .map(|(name, value)| (name.as_str(), value.clone()))
            .collect();
        let channels = self.ports.iter().filter_map(|port| {
            let channel = port.channel.clone()?;
            Some((port.name.clone(), channel))
        });
        Some(Instance::new(
            kind,
            &self.name,
            &settings,
            channels.collect(),
        ))
    }
}

impl Robot {
    /// Makes all components that are ours, in the order of the file.
    ///
    /// # Errors
    /// When one refuses.
    pub fn make(&self, source: Source) -> Result<Vec<Instance>, MakeError> {
        self.components(source)
            .filter_map(Component::make)
            .collect()
    }
}
