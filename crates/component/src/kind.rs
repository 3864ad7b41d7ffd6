//! Kinds of components: one table row each, with parameters, ports and documentation that can be asked for.

use crate::component::{Build, BuildError, Component};
use crate::parameter::{BadParameter, Parameter, Parameters, Setting};
use crate::port::{Ports, Service};
use crate::vehicle::MissingFact;
use bowline_msgs::{Parameters as ParametersReply, ParametersRequest};
use std::fmt;

/// A kind of component that robot files can name.
#[derive(Clone, Copy)]
pub struct Kind {
    /// What robot files call it.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub summary: &'static str,
    defaults: fn() -> Box<dyn Parameters>,
    build: Builder,
    outline: fn() -> Option<Outline>,
}

/// What is known of a kind's ports before it is made.
#[derive(Debug)]
pub struct Outline {
    /// Those that it has whatever its parameters are.
    pub ports: Ports,
    /// Which others there are, in a sentence; empty if these are all.
    pub others: &'static str,
}

type Builder = fn(&[(&str, Setting)]) -> Result<Built, MakeError>;

/// A component with what it declared.
pub struct Built {
    /// The component.
    pub component: Box<dyn Component>,
    /// What it reads and writes.
    pub ports: Ports,
    /// Where its parameters are asked for and set, if it shows them.
    pub(crate) parameters: Option<Service<ParametersRequest, ParametersReply>>,
}

impl Built {
    /// A component with what it declared. If it shows its parameters, there is a service for them.
    #[must_use]
    pub fn new(mut component: Box<dyn Component>, mut ports: Ports) -> Self {
        let doc = "Reads parameters, and sets those that may change at run time.";
        let has_parameters = component.parameters().is_some();
        let parameters = has_parameters.then(|| ports.service("parameters", doc));
        Self {
            component,
            ports,
            parameters,
        }
    }
}

impl Kind {
    /// The row of a kind.
    #[must_use]
    pub const fn of<C: Build>(name: &'static str, summary: &'static str) -> Self {
        Self {
            name,
            summary,
            defaults: || Box::new(C::Parameters::default()),
            build: build::<C>,
            outline: outline::<C>,
        }
    }

    /// Its default.
    #[must_use]
    pub fn defaults(&self) -> Box<dyn Parameters> {
        (self.defaults)()
    }

    /// What can be set.
    #[must_use]
    pub fn parameters(&self) -> &'static [Parameter] {
        (self.defaults)().table()
    }

    /// The files that parameters name, with the settings of a robot file; those that are not set as their defaults are.
    #[must_use]
    pub fn files(&self, settings: &[(&str, Setting)]) -> Vec<String> {
        let paths = self
            .parameters()
            .iter()
            .filter(|parameter| parameter.is_path());
        let mut files = Vec::new();
        for parameter in paths {
            parameter.value_in(settings).collect_texts(&mut files);
        }
        // An empty path is one that was not set.
        files.retain(|path| !path.is_empty());
        files
    }

    /// Its ports, as far as they are known without a robot file; or why they are not.
    ///
    /// # Errors
    /// When it cannot be made from its defaults, and does not declare its ports otherwise.
    pub fn outline(&self) -> Result<Outline, MakeError> {
        match self.attempt(&[]).built {
            Ok(built) => Ok(Outline {
                ports: built.ports,
                others: "",
            }),
            Err(error) => (self.outline)().ok_or(error),
        }
    }

    /// Makes one even if settings lack measures of the vehicle, to report all of them at once: each is taken to be 1, which
    /// is within the limits of all of them.
    #[must_use]
    pub fn attempt(&self, settings: &[(&str, Setting)]) -> Attempt {
        let mut settings = settings.to_vec();
        let mut missing = Vec::new();
        loop {
            let built = self.build(&settings);
            let lacks = match &built {
                Err(MakeError::Refused(error)) => error.downcast_ref::<MissingFact>(),
                Ok(_) | Err(MakeError::Parameter(_)) => None,
            };
            let name = lacks.map(|lacks| lacks.name);
            let Some(name) = name.filter(|name| !missing.contains(name)) else {
                return Attempt { built, missing };
            };
            missing.push(name);
            let one = Setting::Real(1.0);
            if self.defaults().set(name, &one).is_err() {
                return Attempt { built, missing };
            }
            settings.push((name, one));
        }
    }

    /// Makes one, with the settings of a robot file; what is not set is as its default.
    ///
    /// # Errors
    /// When a setting is wrong, or the component refuses.
    pub fn build(&self, settings: &[(&str, Setting)]) -> Result<Built, MakeError> {
        (self.build)(settings)
    }
}

fn build<C: Build>(settings: &[(&str, Setting)]) -> Result<Built, MakeError> {
    let mut parameters = C::Parameters::default();
    for (name, setting) in settings {
        parameters.set(name, setting)?;
    }
    let mut ports = Ports::default();
    let component = C::build(parameters, &mut ports).map_err(MakeError::Refused)?;
    Ok(Built::new(Box::new(component), ports))
}

fn outline<C: Build>() -> Option<Outline> {
    let mut ports = Ports::default();
    let others = C::outline(&mut ports)?;
    Some(Outline { ports, others })
}

/// What came of making a component, and what it lacked.
#[derive(Debug)]
pub struct Attempt {
    /// The component, not to be run if anything is missing.
    pub built: Result<Built, MakeError>,
    /// What `[vehicle]` does not have and this component needs, in the order in which it asked.
    pub missing: Vec<&'static str>,
}

/// Why there is no component.
#[derive(Debug, thiserror::Error)]
pub enum MakeError {
    /// A setting is wrong.
    #[error(transparent)]
    Parameter(#[from] BadParameter),
    /// The component itself refuses.
    #[error("{0}")]
    Refused(BuildError),
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kind({})", self.name)
    }
}

impl fmt::Debug for Built {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Built")
            .field("ports", &self.ports)
            .finish_non_exhaustive()
    }
}
