//! How a component is, in its own judgement: one type for the component that says it, the message that carries it and
//! whoever hears it.

use bowline_msgs::HeartbeatComponent;

/// How a component is, in the order of how bad that is.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Health {
    /// It does its work.
    Good,
    /// It has not said yet.
    #[default]
    Starting,
    /// It does less than it should, and says why.
    Degraded(String),
    /// It cannot do its work, and says why.
    Failed(String),
}

impl Health {
    /// As a heartbeat says it.
    #[must_use]
    pub fn of(component: &HeartbeatComponent) -> Option<Self> {
        let why = || component.text.clone();
        Some(match component.health {
            HeartbeatComponent::GOOD => Self::Good,
            HeartbeatComponent::STARTING => Self::Starting,
            HeartbeatComponent::DEGRADED => Self::Degraded(why()),
            HeartbeatComponent::FAILED => Self::Failed(why()),
            _ => return None,
        })
    }

    /// For a heartbeat: the component of that name is so, and has counted nothing.
    #[must_use]
    pub fn heartbeat(&self, name: &str) -> HeartbeatComponent {
        HeartbeatComponent {
            name: name.to_owned(),
            health: self.code(),
            text: self.why().to_owned(),
            ..HeartbeatComponent::default()
        }
    }

    /// In a word.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Starting => "starting",
            Self::Degraded(_) => "degraded",
            Self::Failed(_) => "failed",
        }
    }

    /// Why it is not well; empty where nothing is wrong.
    #[must_use]
    pub fn why(&self) -> &str {
        match self {
            Self::Good | Self::Starting => "",
            Self::Degraded(why) | Self::Failed(why) => why,
        }
    }

    fn code(&self) -> i8 {
        match self {
            Self::Good => HeartbeatComponent::GOOD,
            Self::Starting => HeartbeatComponent::STARTING,
            Self::Degraded(_) => HeartbeatComponent::DEGRADED,
            Self::Failed(_) => HeartbeatComponent::FAILED,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_component_says_is_what_others_hear() {
        let worse = [
            Health::Good,
            Health::Starting,
            Health::Degraded("dusty".to_owned()),
            Health::Failed("broken".to_owned()),
        ];
        for health in &worse {
            assert_eq!(
                Health::of(&health.heartbeat("lidar")).as_ref(),
                Some(health)
            );
        }
        assert!(worse.is_sorted());
        assert_eq!(Health::of(&HeartbeatComponent::default()), None);
    }
}
