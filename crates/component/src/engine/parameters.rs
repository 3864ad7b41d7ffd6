//! Parameters of a running component, over the bus: the service `NAME.parameters` of every component that shows them.

use crate::parameter::{BadParameter, Change, Parameter, Parameters, Setting};
use crate::service::Failure;
use crate::time::Time;
use bowline_msgs::{Parameter as ParameterMessage, Parameters as Reply, ParametersRequest};

/// What came of a request.
pub(super) struct Outcome {
    pub(super) result: Result<Reply, Failure>,
    pub(super) is_changed: bool,
}

/// Sets what is asked for, all of it or nothing, and returns the values that hold then.
pub(super) fn serve(
    now: Time,
    component: &str,
    parameters: &mut dyn Parameters,
    request: &ParametersRequest,
) -> Outcome {
    let wishes = request.names.iter().zip(&request.values);
    let mut undo = Vec::new();
    for (name, text) in wishes {
        let before = parameters.get(name);
        if let Err(failure) = set(parameters, name, text) {
            take_back(parameters, undo);
            return Outcome {
                result: Err(failure),
                is_changed: false,
            };
        }
        undo.extend(before.map(|before| (name.as_str(), before)));
    }
    let is_changed = undo
        .iter()
        .any(|(name, before)| parameters.get(name).as_ref() != Some(before));
    Outcome {
        result: Ok(report(now, component, parameters)),
        is_changed,
    }
}

fn set(parameters: &mut dyn Parameters, name: &str, text: &str) -> Result<(), Failure> {
    let found = parameters.table().iter().find(|it| it.name == name);
    let setting = match (found, Setting::parse(text)) {
        (Some(parameter), _) if parameter.change == Change::AtStart => {
            let name = parameter.name;
            return Err(Failure::new(3, BadParameter::AtStart { name }.to_string()));
        }
        (_, Ok(setting)) => setting,
        // An error of quoting names the parameter, and what it is.
        (Some(Parameter { name, kind, .. }), Err(_)) => {
            let error = BadParameter::Type {
                name,
                expected: kind,
                found: format!("{text:?}"),
            };
            return Err(Failure::new(2, error.to_string()));
        }
        // Whether it could be a value does not matter: there is no such parameter.
        (None, Err(_)) => Setting::Boolean(false),
    };
    let set = parameters.set(name, &setting);
    set.map_err(|error| Failure::new(4, error.to_string()))
}

fn take_back(parameters: &mut dyn Parameters, undo: Vec<(&str, Setting)>) {
    for (name, before) in undo.into_iter().rev() {
        // It was so before, so it can be so again.
        drop(parameters.set(name, &before));
    }
}

fn report(now: Time, component: &str, parameters: &dyn Parameters) -> Reply {
    let rows = parameters.table().iter().map(|parameter| ParameterMessage {
        name: parameter.name.to_owned(),
        value: parameters
            .get(parameter.name)
            .map(|value| value.to_string())
            .unwrap_or_default(),
        default_value: (parameter.default)().to_string(),
        kind: parameter.kind.to_owned(),
        limits: parameter.limits.map(|limits| limits()).unwrap_or_default(),
        doc: parameter.doc.trim().to_owned(),
        is_live: parameter.change == Change::Live,
    });
    Reply {
        utime: now.utime(),
        component: component.to_owned(),
        parameters: rows.collect(),
        ..Reply::default()
    }
    .with_lengths()
}
