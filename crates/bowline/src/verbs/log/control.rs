//! `bowline log control`: drive a player over the bus.
//!
//! In: a verb. Out: a request on `bowline.player.request`, and the player's status after it.

use crate::input::Usage;
use crate::{Outcome, output};
use anyhow::Context as _;
use bowline_bus::{Bus, Subscription, wall_ns};
use bowline_log::play::{REQUEST_CHANNEL, STATUS_CHANNEL};
use bowline_log::{Moment, Rename};
use bowline_msgs::{PlayerRequest, PlayerStatus};
use bowline_wire::number::parse_seconds;
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  bowline log control status            what the player does
  bowline log control pause
  bowline log control step sonar.depth  up to the next event of that channel
  bowline log control seek +10          10 s forward; -2m: 2 min back
  bowline log control seek 90           to 90 s after the beginning
  bowline log control seek 2026-11-16T05:00:00Z
  bowline log control seek 'at the dock'
  bowline log control rate 0.5
  bowline log control disable 'camera\\..*'

Exit code 0 if a player confirmed it; 1 if none did.";

/// How long a player may take to answer: it publishes its status ten times a second.
const PATIENCE: Duration = Duration::from_secs(3);

#[derive(Args, Debug)]
#[command(about = "Drive a player over the bus: play, pause, step, seek, rate, ...", after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[arg(
        short = 'l',
        long = "lcm-url",
        visible_alias = "url",
        value_name = "URL",
        help = "Where the player plays; without it $BOWLINE_URL, then $LCM_DEFAULT_URL, then udpm://239.255.76.67:7667?ttl=0"
    )]
    url: Option<String>,
    /// The player that is meant, by the name in its status; without it the first one
    #[arg(long, value_name = "NAME")]
    player: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Print what the player does
    Status,
    /// Go on, or start again where the end was reached
    Play,
    /// Stand still
    Pause,
    /// Whichever of the two it is not doing
    Toggle,
    /// Publish the next event, or all up to the next one of a channel, and pause
    Step { channel: Option<String> },
    /// Go to a moment: +DURATION or -DURATION from here, or WHEN as in `bowline log play --help`
    Seek {
        #[arg(allow_hyphen_values = true)]
        when: String,
    },
    /// Play so fast; 0 or max is as fast as possible
    Rate { speed: String },
    /// Double the rate
    Faster,
    /// Halve the rate
    Slower,
    /// Begin the range there; without WHEN, with the log
    Start { when: Option<String> },
    /// End the range there; without WHEN, with the log
    End { when: Option<String> },
    /// Start again at the end of the range: on or off
    Loop {
        #[arg(value_parser = ["on", "off"])]
        switch: String,
    },
    /// Play the channels that match
    Enable { pattern: String },
    /// Do not play the channels that match
    Disable { pattern: String },
    /// Publish under other names: OLD=NEW
    Rename { rename: Rename },
    /// End the player
    Quit,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Outcome> {
    let bus = Bus::open(arguments.url.as_deref().unwrap_or_default())?;
    let statuses = bus.subscribe::<PlayerStatus>(STATUS_CHANNEL)?;
    let Some(status) = hear(&statuses, arguments.player.as_deref(), 0)? else {
        output::note(&format!(
            "no player was received on {} for {} s: is one playing there?",
            bus.url(),
            PATIENCE.as_secs()
        ));
        return Ok(Outcome::Diagnostics);
    };
    let asked_utime = wall_ns().div_euclid(1_000);
    let answer = match request(&arguments.action, &status)? {
        None => Some(status),
        Some(request) => {
            let player = status.player.clone();
            let request = PlayerRequest {
                utime: asked_utime,
                player: player.clone(),
                ..request
            };
            bus.publish(REQUEST_CHANNEL, &request)
                .context("cannot ask the player")?;
            answer(&statuses, &status, asked_utime)?
        }
    };
    let Some(answer) = answer else {
        output::note("the player did not confirm it");
        return Ok(Outcome::Diagnostics);
    };
    if arguments.json {
        output::line(&format!("{:#}", to_json(&answer)))?;
    } else {
        output::line(&to_text(&answer))?;
    }
    Ok(Outcome::Fine)
}

/// The first status of a player, of any if none is named, that is not older than `utime`.
fn hear(
    statuses: &Subscription<PlayerStatus>,
    player: Option<&str>,
    utime: i64,
) -> anyhow::Result<Option<PlayerStatus>> {
    // Bounded: others may talk without end.
    for _ in 0..1_000 {
        let Some(status) = statuses.recv_timeout(PATIENCE)? else {
            return Ok(None);
        };
        let is_meant = player.is_none_or(|player| player == status.player);
        if is_meant && status.utime >= utime {
            return Ok(Some(status.message));
        }
    }
    Ok(None)
}

/// The player's status after the request: a refusal is worth printing.
fn answer(
    statuses: &Subscription<PlayerStatus>,
    before: &PlayerStatus,
    asked_utime: i64,
) -> anyhow::Result<Option<PlayerStatus>> {
    let mut answer = None;
    // One may have been on its way; the second after the request knows of it.
    for _ in 0..2 {
        let heard = hear(statuses, Some(&before.player), asked_utime)?;
        let Some(heard) = heard else {
            break;
        };
        if heard.n_refused > before.n_refused {
            output::note("the player refused that: it made no sense to it");
        }
        let is_ended = heard.state == PlayerStatus::ENDED;
        answer = Some(heard);
        if is_ended {
            break;
        }
    }
    Ok(answer)
}

fn request(action: &Action, status: &PlayerStatus) -> Result<Option<PlayerRequest>, Usage> {
    let ask = |action: i8| PlayerRequest {
        action,
        ..PlayerRequest::default()
    };
    let about = |action: i8, text: &str| PlayerRequest {
        text: text.to_owned(),
        ..ask(action)
    };
    Ok(Some(match action {
        Action::Status => return Ok(None),
        Action::Play => ask(PlayerRequest::PLAY),
        Action::Pause => ask(PlayerRequest::PAUSE),
        Action::Toggle => ask(PlayerRequest::TOGGLE),
        Action::Step { channel } => {
            about(PlayerRequest::STEP, channel.as_deref().unwrap_or_default())
        }
        Action::Seek { when } => seek(when, status)?,
        Action::Rate { speed } => PlayerRequest {
            value: rate(speed)?,
            ..ask(PlayerRequest::RATE)
        },
        Action::Faster => ask(PlayerRequest::FASTER),
        Action::Slower => ask(PlayerRequest::SLOWER),
        Action::Start { when } => bound(PlayerRequest::START, when.as_deref(), status)?,
        Action::End { when } => bound(PlayerRequest::END, when.as_deref(), status)?,
        Action::Loop { switch } => PlayerRequest {
            value: if switch == "on" { 1.0 } else { 0.0 },
            ..ask(PlayerRequest::LOOP)
        },
        Action::Enable { pattern } => about(PlayerRequest::ENABLE, pattern),
        Action::Disable { pattern } => about(PlayerRequest::DISABLE, pattern),
        Action::Rename { rename } => about(PlayerRequest::RENAME, rename.as_str()),
        Action::Quit => ask(PlayerRequest::QUIT),
    }))
}

fn seek(when: &str, status: &PlayerStatus) -> Result<PlayerRequest, Usage> {
    if let Some(seconds) = relative_seconds(when) {
        return Ok(PlayerRequest {
            action: PlayerRequest::SEEK_BY,
            value: seconds,
            ..PlayerRequest::default()
        });
    }
    let when: Moment = when.parse().map_err(usage)?;
    if let Moment::Bookmark(text) = when {
        return Ok(PlayerRequest {
            action: PlayerRequest::BOOKMARK,
            text,
            ..PlayerRequest::default()
        });
    }
    Ok(PlayerRequest {
        action: PlayerRequest::SEEK_TO,
        log_utime: resolve(&when, status)?,
        ..PlayerRequest::default()
    })
}

/// Forward or back from where the player is: `+10`, `-2m`.
fn relative_seconds(when: &str) -> Option<f64> {
    let seconds = parse_seconds(when.get(1..)?)?;
    match when.as_bytes().first() {
        Some(b'+') => Some(seconds),
        Some(b'-') => Some(-seconds),
        Some(_) | None => None,
    }
}

fn bound(action: i8, when: Option<&str>, status: &PlayerStatus) -> Result<PlayerRequest, Usage> {
    let when = when.map(str::parse::<Moment>).transpose().map_err(usage)?;
    let utime = when.map(|when| resolve(&when, status)).transpose()?;
    Ok(PlayerRequest {
        action,
        log_utime: utime.unwrap_or(0),
        ..PlayerRequest::default()
    })
}

fn resolve(when: &Moment, status: &PlayerStatus) -> Result<i64, Usage> {
    if let Moment::AfterStart(_) = when
        && status.log_first_utime == 0
    {
        let message = "the player does not know where its log begins: `bowline log index` finds it";
        return Err(Usage(message.to_owned()));
    }
    when.resolve(status.log_first_utime, None).map_err(usage)
}

fn rate(text: &str) -> Result<f64, Usage> {
    if text == "max" {
        return Ok(0.0);
    }
    let number: Option<f64> = text.parse().ok();
    let number = number.filter(|number| number.is_finite());
    number.ok_or_else(|| Usage(format!("expected a number, or max, found {text:?}")))
}

fn usage(error: impl std::fmt::Display) -> Usage {
    Usage(error.to_string())
}

fn state(status: &PlayerStatus) -> &'static str {
    match status.state {
        PlayerStatus::PLAYING => "playing",
        PlayerStatus::PAUSED => "paused",
        PlayerStatus::ENDED => "ended",
        _ => "unknown",
    }
}

fn to_text(status: &PlayerStatus) -> String {
    let time = jiff::Timestamp::from_microsecond(status.log_utime)
        .map_or_else(|_far_away| String::new(), |time| format!(" ({time:.3})"));
    format!(
        "{} {} {} at {}{time}, speed {}, {} events published",
        status.player,
        state(status),
        status.log,
        status.log_utime,
        status.rate,
        status.n_published
    )
}

fn to_json(status: &PlayerStatus) -> Value {
    json!({
        "utime": status.utime,
        "player": status.player,
        "log": status.log,
        "state": state(status),
        "log_utime": status.log_utime,
        "rate": status.rate,
        "log_span": [status.log_first_utime, status.log_last_utime],
        "range": [status.range_start_utime, status.range_end_utime],
        "is_looping": status.is_looping,
        "loops": status.n_loops,
        "published": status.n_published,
        "bytes": status.n_bytes,
        "passed_over": status.n_passed,
        "failed": status.n_failed,
        "refused": status.n_refused,
        "late_s": { "mean": status.late_mean_s, "p99": status.late_p99_s, "max": status.late_max_s },
    })
}
