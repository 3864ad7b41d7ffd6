//! A player over the bus: its requests and its status.

use super::{Command, Lateness, Range, Rate, State, Status};
use crate::rename::BadRename;
use bowline_bus::{BadPattern, Pattern};
use bowline_msgs::{Bookmark, PlayerRequest, PlayerStatus};

/// Where players are asked for things, as `bowline.player_request_t`.
pub const REQUEST_CHANNEL: &str = "bowline.player.request";

/// The channel of players' statuses, as `bowline.player_status_t`. Also the clock of the log.
pub const STATUS_CHANNEL: &str = "bowline.player.status";

/// Why a request makes no sense.
#[derive(Debug, thiserror::Error)]
pub enum BadRequest {
    /// There is no such action.
    #[error("expected one of the actions of player_request_t, found {found}")]
    Action {
        /// What there was.
        found: i8,
    },
    /// The number is none.
    #[error("expected a number, found {found}")]
    Value {
        /// What there was.
        found: f64,
    },
    /// The pattern is malformed.
    #[error(transparent)]
    Pattern(#[from] BadPattern),
    /// The renaming is malformed.
    #[error(transparent)]
    Rename(#[from] BadRename),
    /// The log has no such bookmark.
    #[error("expected the text of a bookmark, found {found:?}")]
    Bookmark {
        /// What there was.
        found: String,
    },
}

/// What a request asks for. One end of the range leaves the other where it is.
pub(super) fn command_of(
    request: &PlayerRequest,
    status: &Status,
    bookmarks: &[Bookmark],
) -> Result<Command, BadRequest> {
    let pattern = || Pattern::new(&request.text);
    let utime = Some(request.log_utime).filter(|utime| *utime != 0);
    Ok(match request.action {
        PlayerRequest::PLAY => Command::Play,
        PlayerRequest::PAUSE => Command::Pause,
        PlayerRequest::TOGGLE => Command::Toggle,
        PlayerRequest::STEP if request.text.is_empty() => Command::Step,
        PlayerRequest::STEP => Command::StepTo(pattern()?),
        PlayerRequest::SEEK_TO => Command::SeekTo(request.log_utime),
        PlayerRequest::SEEK_BY => Command::SeekBy(micros(request.value)?),
        PlayerRequest::BOOKMARK => Command::SeekTo(bookmark(&request.text, bookmarks)?),
        PlayerRequest::RATE if request.value.is_nan() => {
            return Err(BadRequest::Value {
                found: request.value,
            });
        }
        PlayerRequest::RATE => Command::SetRate(Rate::new(request.value)),
        PlayerRequest::FASTER => Command::Faster,
        PlayerRequest::SLOWER => Command::Slower,
        PlayerRequest::START => Command::SetRange(status.range.starting(utime)),
        PlayerRequest::END => Command::SetRange(status.range.ending(utime)),
        PlayerRequest::LOOP => Command::SetLoop(request.value.abs() > 0.0),
        PlayerRequest::ENABLE => Command::Enable(pattern()?),
        PlayerRequest::DISABLE => Command::Disable(pattern()?),
        PlayerRequest::RENAME => Command::Rename(request.text.parse()?),
        PlayerRequest::QUIT => Command::Quit,
        found => return Err(BadRequest::Action { found }),
    })
}

fn bookmark(text: &str, bookmarks: &[Bookmark]) -> Result<i64, BadRequest> {
    let found = bookmarks.iter().find(|bookmark| bookmark.text == text);
    let found = found.ok_or_else(|| BadRequest::Bookmark {
        found: text.to_owned(),
    })?;
    Ok(found.utime)
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "what is too far is as far as it goes"
)]
fn micros(seconds: f64) -> Result<i64, BadRequest> {
    if seconds.is_finite() {
        Ok((seconds * 1e6) as i64)
    } else {
        Err(BadRequest::Value { found: seconds })
    }
}

/// The sender, the subject and the content of a status.
#[derive(Clone, Copy, Debug)]
pub(super) struct Saying<'a> {
    pub(super) player: &'a str,
    pub(super) log: &'a str,
    pub(super) utime: i64,
    pub(super) n_failed: u64,
    pub(super) n_refused: u64,
}

/// A status as a message.
pub(super) fn message_of(saying: Saying<'_>, status: &Status, lateness: &Lateness) -> PlayerStatus {
    let count = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    let (first, last) = status.span.unwrap_or_default();
    let Range { start, end } = status.range;
    let tallies = status.tallies;
    PlayerStatus {
        utime: saying.utime,
        player: saying.player.to_owned(),
        log: saying.log.to_owned(),
        state: match status.state {
            State::Playing => PlayerStatus::PLAYING,
            State::Paused => PlayerStatus::PAUSED,
            State::Ended => PlayerStatus::ENDED,
        },
        log_utime: status.log_utime.unwrap_or(0),
        rate: status.rate.times(),
        log_first_utime: first,
        log_last_utime: last,
        range_start_utime: start.unwrap_or(0),
        range_end_utime: end.unwrap_or(0),
        is_looping: status.is_looping,
        n_loops: count(tallies.n_loops),
        n_published: count(tallies.n_published),
        n_bytes: count(tallies.n_bytes),
        n_passed: count(tallies.n_passed),
        n_failed: count(saying.n_failed),
        n_backward: count(tallies.n_backward),
        n_shortened: count(tallies.n_shortened),
        n_stalls: count(tallies.n_stalls),
        n_refused: count(saying.n_refused),
        late_mean_s: lateness.mean().as_secs_f64(),
        late_p99_s: lateness.permille(990).as_secs_f64(),
        late_max_s: lateness.max().as_secs_f64(),
    }
}
