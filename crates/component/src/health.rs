//! How a component is, in its own judgement: one type for the component that reports it, the message that carries it and
//! its receivers.

use bowline_msgs::HeartbeatComponent;

/// How a component is, in the order of how bad that is.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Health {
    /// It does its work.
    Good,
    /// It has not reported yet.
    #[default]
    Starting,
    /// It does less than it should, with the reason.
    Degraded(String),
    /// It cannot do its work, with the reason.
    Failed(String),
}

impl Health {
    /// As a heartbeat carries it.
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
    fn reported_health_equals_received_health() {
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
