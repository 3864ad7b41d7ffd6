//! What the verbs share that send requests to supervisors: which there are, and which are meant.

use crate::input;
use crate::listen::{PLACES_HELP, Place};
use crate::verbs::doctor;
use anyhow::{Context as _, bail};
use bowline_bus::{Bus, Inbox};
use bowline_host::clock::Live;
use bowline_host::presence::PRESENCE_REQUEST_CHANNEL;
use bowline_host::supervise::{ChooseError, Roster, SUPERVISOR, SUPERVISOR_CHANNEL};
use bowline_msgs::{PresenceRequest, Supervisor};
use bowline_wire::Message as _;
use clap::Args;
use std::time::Duration;

/// How the place is explained, for the end of a help text.
pub(crate) const HELP: &str = PLACES_HELP;

/// Supervisors report their status once a second.
pub(crate) const LISTEN: Duration = Duration::from_millis(1_300);

// Which are meant. Not for the help: there, what a verb does comes first.
#[derive(Args, Debug)]
pub(crate) struct Whom {
    /// Only of this robot
    #[arg(long, value_name = "ROBOT")]
    pub(crate) robot: Option<String>,
    /// Only of the supervisor of this name: one of the robot's hosts
    #[arg(long, value_name = "HOST")]
    pub(crate) host: Option<String>,
    #[command(flatten)]
    pub(crate) place: Place,
    /// How long to listen for supervisors
    #[arg(long = "for", value_name = "DURATION", value_parser = input::period)]
    pub(crate) period: Option<Duration>,
}

impl Whom {
    /// Asks supervisors to report at once. They report every second anyway, so that nothing is lost if this is.
    pub(crate) fn ask(&self, bus: &Bus) {
        let process = |host: &String| format!("{SUPERVISOR}.{host}");
        let request = PresenceRequest {
            robot: self.robot.clone().unwrap_or_default(),
            process: self.host.as_ref().map(process).unwrap_or_default(),
            ..PresenceRequest::default()
        };
        drop(bus.publish(PRESENCE_REQUEST_CHANNEL, &request));
    }

    /// Whether the only supervisor that is meant was received from: robot and host together are one of a kind, so that
    /// there is nothing else to wait for.
    pub(crate) fn is_found(&self, roster: &Roster) -> bool {
        let Self { robot, host, .. } = self;
        robot.is_some()
            && host.is_some()
            && roster
                .of(robot.as_deref(), host.as_deref())
                .next()
                .is_some()
    }
}

/// Supervisors on a bus.
pub(crate) struct Heard {
    pub(crate) bus: Bus,
    pub(crate) inbox: Inbox,
    pub(crate) roster: Roster,
    pub(crate) clock: Live,
}

impl Heard {
    /// Opens a bus and listens until `is_enough`, or the time is over.
    pub(crate) fn open(whom: &Whom, is_enough: impl Fn(&Roster) -> bool) -> anyhow::Result<Self> {
        let url = whom.place.url.as_deref().unwrap_or_default();
        let bus = Bus::open(url).with_context(|| format!("cannot open the bus {url:?}"))?;
        let inbox = bus.events(SUPERVISOR_CHANNEL)?;
        whom.ask(&bus);
        let mut heard = Self {
            bus,
            inbox,
            roster: Roster::default(),
            clock: Live::new(),
        };
        let end = heard.clock.now() + whom.period.unwrap_or(LISTEN);
        while heard.clock.now() < end && !is_enough(&heard.roster) {
            heard.listen(heard.clock.until(end))?;
        }
        Ok(heard)
    }

    /// Waits for the next word of a supervisor.
    pub(crate) fn listen(&mut self, patience: Duration) -> anyhow::Result<()> {
        if let Some((_, event)) = self.inbox.recv_timeout(patience)?
            && let Ok(status) = Supervisor::decode(&event.payload)
        {
            self.roster.hear(self.clock.now(), status);
        }
        Ok(())
    }

    /// Those that have something of a name.
    pub(crate) fn choose(&self, whom: &Whom, target: &str) -> anyhow::Result<Vec<&Supervisor>> {
        let chosen = self
            .roster
            .choose(whom.robot.as_deref(), whom.host.as_deref(), target);
        match chosen {
            Ok(chosen) => Ok(chosen),
            Err(ChooseError::Nobody { found }) if found.is_empty() => {
                bail!("{}", self.nobody(whom))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Why no supervisor was received, and what may help.
    pub(crate) fn nobody(&self, whom: &Whom) -> String {
        let period = whom.period.unwrap_or(LISTEN);
        let why = self.bus.trouble().unwrap_or_else(|| {
            let url = doctor::quote(&self.bus.url().to_string());
            format!("does `bowline run` run, on this bus? `bowline doctor {url}` checks whether messages can arrive")
        });
        format!("no supervisor was received in {period:.1?}: {why}")
    }
}
