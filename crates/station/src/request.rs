//! What a page may ask of the station itself.

use crate::frame::Request;
use crate::live::Live;
use crate::people::Role;
use crate::policy;
use crate::replay::Replay;
use crate::station::{Context, Source};
use bowline_component::service::{self as calls, ServiceName};
use bowline_host::service::{self, Client};
use bowline_log::play::{Command, Rate};
use bowline_msgs::{Bookmark, ModelTransform, ModelTransformRequest};
use bowline_wire::Fingerprint;
use serde_json::Value;
use serde_json::value::RawValue;
use std::time::Duration;

/// How long a service may take.
const SERVICE_WITHIN: Duration = Duration::from_secs(4);

/// What came of a request; the error is for people.
pub(crate) type Answer = Result<Option<Box<RawValue>>, String>;

/// How a request is written down; `None` if it changes nothing and is not.
pub(crate) fn about(request: &Request) -> Option<(&'static str, String, String)> {
    match request {
        Request::Service {
            name,
            type_name,
            request,
        } => {
            let is_question = policy::is_sim_question(type_name, request);
            (!is_question).then(|| ("service", name.clone(), request.to_string()))
        }
        Request::Transform { .. } => None,
        Request::Player { action, value } => {
            let value = value.as_ref().map(Value::to_string);
            Some(("player", action.clone(), value.unwrap_or_default()))
        }
        Request::Acknowledge { alarm, since_utime } => {
            Some(("acknowledge", alarm.clone(), since_utime.to_string()))
        }
    }
}

/// Whether this role may ask that; the error is for people.
pub(crate) fn judge(role: Role, request: &Request) -> Result<(), String> {
    match request {
        Request::Service {
            name,
            type_name,
            request,
        } => policy::judge_service(role, name, type_name, request).map_err(|it| it.to_string()),
        Request::Transform { vehicle, .. } if !policy::is_prefix(vehicle) => Err(format!(
            "expected the prefix of a vehicle, found {vehicle:?}"
        )),
        Request::Player { .. } if role == Role::Viewer => {
            Err("a viewer may not command the player".to_owned())
        }
        Request::Acknowledge { .. } if role == Role::Viewer => {
            Err("a viewer may not acknowledge alarms".to_owned())
        }
        Request::Transform { .. } | Request::Player { .. } | Request::Acknowledge { .. } => Ok(()),
    }
}

/// Answers a request that is permitted.
pub(crate) async fn answer(context: &Context, request: Request) -> Answer {
    match request {
        Request::Service {
            name,
            type_name,
            request,
        } => {
            let Source::Live(live) = &context.source else {
                return Err("this is a replay: no service answers".to_owned());
            };
            let _permit = context.may_call()?;
            call(live, &name, &type_name, &request).await
        }
        Request::Transform {
            frame,
            reference,
            vehicle,
        } => transform(context, &vehicle, (frame, reference)).await,
        Request::Player { action, value } => {
            let Source::Replay(replay) = &context.source else {
                return Err("this is live: nothing is played".to_owned());
            };
            play(replay, &action, value.as_ref())
        }
        Request::Acknowledge { .. } => Ok(None),
    }
}

async fn call(live: &Live, name: &str, type_name: &str, request: &Value) -> Answer {
    let service = ServiceName::new(name).map_err(|error| error.to_string())?;
    let Some((types, id)) = live.type_named(type_name).await? else {
        return Err(format!("the type {type_name} is not described"));
    };
    let value = types.from_json(id, request.to_string().as_bytes());
    let value = value.map_err(|error| error.to_string())?;
    let body = types.encode(id, &value).map_err(|it| it.to_string())?;
    live.bus.describe(&service.call_channel(), &types, id);
    let request = calls::Request {
        service,
        body,
        reply: None,
        timeout: SERVICE_WITHIN,
    };
    let bus = live.bus.clone();
    let called = tokio::task::spawn_blocking(move || Client::new(&bus).call_bytes(request));
    let (reply, _) = called
        .await
        .map_err(|error| error.to_string())?
        .map_err(|error| error.to_string())?;
    let front = reply.first_chunk().copied().unwrap_or_default();
    let fingerprint = Fingerprint(u64::from_be_bytes(front));
    let Some((types, id)) = live.type_of(fingerprint).await? else {
        return Err("it was done, but the type of the reply is not described".to_owned());
    };
    let value = types
        .decode_as(id, &reply)
        .map_err(|error| error.to_string())?;
    raw(types.to_json(id, &value))
}

async fn transform(context: &Context, vehicle: &str, frames: (String, String)) -> Answer {
    let (foi, reference) = frames;
    if let Some(model) = context.models.iter().find(|it| it.prefix == vehicle) {
        let found = model.model.transform_by_name(&foi, &reference);
        let transform = found.map_err(|error| error.to_string())?;
        return matrix(transform.matrix().as_flattened());
    }
    let Source::Live(live) = &context.source else {
        return Err("the station was not given the robot's model".to_owned());
    };
    let _permit = context.may_call()?;
    let bus = live.bus.clone();
    let name = format!("{vehicle}model.transform");
    let request = ModelTransformRequest {
        foi,
        reference,
        utime: 0,
    };
    let called = tokio::task::spawn_blocking(move || {
        service::call::<_, ModelTransform>(&bus, &name, &request, SERVICE_WITHIN)
    });
    let reply = called.await.map_err(|error| error.to_string())?;
    matrix(&reply.map_err(|error| error.to_string())?.matrix)
}

fn matrix(numbers: &[f64]) -> Answer {
    raw(serde_json::json!({ "matrix": numbers }).to_string())
}

fn raw(json: String) -> Answer {
    let raw = RawValue::from_string(json).map_err(|error| error.to_string())?;
    Ok(Some(raw))
}

fn play(replay: &Replay, action: &str, value: Option<&Value>) -> Answer {
    let command = command(&replay.view().bookmarks, action, value)?;
    replay.order(command).map_err(|error| error.to_string())?;
    Ok(None)
}

fn command(bookmarks: &[Bookmark], action: &str, value: Option<&Value>) -> Result<Command, String> {
    let number = || {
        let number = value.and_then(Value::as_f64);
        number.ok_or_else(|| format!("expected a number to {action}"))
    };
    #[expect(
        clippy::cast_possible_truncation,
        reason = "what is too far is as far as it goes"
    )]
    let whole = |number: f64| number as i64;
    Ok(match action {
        "play" => Command::Play,
        "pause" => Command::Pause,
        "step" => Command::Step,
        "seek_to" => Command::SeekTo(whole(number()?)),
        "seek_by" => Command::SeekBy(whole(number()? * 1e6)),
        "rate" => Command::SetRate(Rate::new(number()?)),
        "loop" => Command::SetLoop(number()?.abs() > 0.0),
        "bookmark" => {
            let text = value.and_then(Value::as_str).unwrap_or_default();
            let found = bookmarks.iter().find(|it| it.text == text);
            let found = found.ok_or_else(|| format!("the log has no bookmark {text:?}"))?;
            Command::SeekTo(found.utime)
        }
        _ => {
            return Err(format!(
                "expected play, pause, step, seek_to, seek_by, rate, loop or bookmark, found {action:?}"
            ));
        }
    })
}
