//! What a player decides, with a clock that the test turns.

use crate::support::{KINDS, events, open, options, write};
use bowline_bus::Pattern;
use bowline_log::play::{
    Channels, Command, Offer, Place, Player, PlayerOptions, Range, Rate, State, Step,
};
use bowline_log::{IndexUse, OwnedEvent, Reader};
use std::time::Duration;

/// What went out: when, as what, and which event.
type Played = Vec<(u64, String, i64)>;

/// A log in memory, a player, and a clock in milliseconds.
struct Rig {
    events: Vec<OwnedEvent>,
    at: usize,
    player: Player,
    now_ms: u64,
    is_ended: bool,
    played: Played,
}

fn event(number: i64, ms: i64, channel: &str) -> OwnedEvent {
    OwnedEvent {
        number,
        utime: 1_700_000_000_000_000 + ms * 1_000,
        channel: channel.to_owned(),
        payload: vec![0; 4],
        ..OwnedEvent::default()
    }
}

/// Events at these milliseconds, on channels a, b and c in turns.
fn log(times_ms: &[i64]) -> Vec<OwnedEvent> {
    let numbered = (0..).zip(times_ms);
    let channel = |number: i64| ["a", "b", "c"][usize::try_from(number % 3).unwrap()];
    numbered
        .map(|(number, ms)| event(number, *ms, channel(number)))
        .collect()
}

fn utime(ms: i64) -> i64 {
    1_700_000_000_000_000 + ms * 1_000
}

impl Rig {
    fn new(events: Vec<OwnedEvent>, options: PlayerOptions) -> Self {
        Self {
            events,
            at: 0,
            player: Player::new(options),
            now_ms: 0,
            is_ended: false,
            played: Played::new(),
        }
    }

    /// Plays until then, as a runner would, and returns what went out since the last time.
    fn until(&mut self, end_ms: u64) -> Played {
        // Bounded: a player that turns for ever has failed.
        for _ in 0..100_000 {
            let offer = self.events.get(self.at).map(|event| Offer {
                utime: event.utime,
                channel: &event.channel,
                len: event.payload.len(),
            });
            let now = Duration::from_millis(self.now_ms);
            match self.player.next(offer, now) {
                Step::Publish(channel) => {
                    let number = self.events[self.at].number;
                    self.played.push((self.now_ms, channel.to_owned(), number));
                    self.at += 1;
                }
                Step::Pass => self.at += 1,
                Step::Seek(Place::Beginning) => self.at = 0,
                Step::Seek(Place::Utime(utime)) => {
                    let found = self.events.iter().position(|event| event.utime >= utime);
                    self.at = found.unwrap_or(self.events.len());
                }
                Step::WaitUntil(due) => {
                    let due_ms = u64::try_from(due.as_micros().div_ceil(1_000)).unwrap();
                    if due_ms > end_ms {
                        break;
                    }
                    self.now_ms = due_ms;
                }
                Step::WaitForCommand => break,
                Step::End => {
                    self.is_ended = true;
                    break;
                }
            }
        }
        self.now_ms = self.now_ms.max(end_ms);
        std::mem::take(&mut self.played)
    }

    fn tell(&mut self, command: Command) {
        self.is_ended = false;
        let now = Duration::from_millis(self.now_ms);
        self.player.command(command, now);
    }

    fn state(&self) -> State {
        self.status().state
    }

    fn status(&self) -> bowline_log::play::Status {
        self.player.status(Duration::from_millis(self.now_ms))
    }

    fn log_ms(&self) -> Option<i64> {
        let utime = self.status().log_utime?;
        Some((utime - 1_700_000_000_000_000) / 1_000)
    }
}

fn times(played: &Played) -> Vec<(u64, i64)> {
    played
        .iter()
        .map(|(ms, _, number)| (*ms, *number))
        .collect()
}

fn numbers(played: &Played) -> Vec<i64> {
    played.iter().map(|(_, _, number)| *number).collect()
}

fn at_rate(rate: f64) -> PlayerOptions {
    PlayerOptions {
        rate: Rate::new(rate),
        ..PlayerOptions::default()
    }
}

#[test]
fn events_go_out_at_their_times_at_every_rate() {
    let times_ms = [0, 10, 10, 25, 1_000];
    for (rate, expected) in [
        (1.0, [0, 10, 10, 25, 1_000]),
        (0.5, [0, 20, 20, 50, 2_000]),
        (5.0, [0, 2, 2, 5, 200]),
        (0.0, [0; 5]),
        (-1.0, [0; 5]),
    ] {
        let mut rig = Rig::new(log(&times_ms), at_rate(rate));
        let played = rig.until(5_000);
        let expected: Vec<_> = expected.into_iter().zip(0..).collect();
        assert_eq!(times(&played), expected, "at rate {rate}");
        assert!(rig.is_ended && rig.state() == State::Ended);
    }
}

#[test]
fn a_change_of_rate_takes_effect_from_that_moment() {
    let mut rig = Rig::new(log(&[0, 100, 200, 300]), at_rate(1.0));
    rig.until(50);
    rig.tell(Command::SetRate(Rate::new(2.0)));
    assert_eq!(times(&rig.until(130)), [(75, 1), (125, 2)]);
    rig.tell(Command::SetRate(Rate::Max));
    assert_eq!(times(&rig.until(130)), [(130, 3)]);
}

#[test]
fn rates_double_and_halve_between_a_thousandth_and_as_fast_as_possible() {
    let mut rate = Rate::Max;
    for _ in 0..30 {
        rate = rate.slower();
    }
    assert_eq!(rate, Rate::Times(1.0 / 1024.0));
    assert_eq!(Rate::Times(0.75).faster(), Rate::Times(1.0));
    assert_eq!(Rate::Times(3.0).slower(), Rate::Times(2.0));
    for _ in 0..30 {
        rate = rate.faster();
    }
    assert_eq!(rate, Rate::Max);
    assert_eq!(rate.slower(), Rate::Times(1024.0));
}

#[test]
fn commands_that_follow_each_other_add_up() {
    let mut rig = Rig::new(log(&[0, 100, 200, 300]), at_rate(1.0));
    rig.tell(Command::Faster);
    rig.tell(Command::Faster);
    rig.tell(Command::Slower);
    assert_eq!(rig.status().rate, Rate::Times(2.0));
    rig.until(60);
    rig.tell(Command::StartHere);
    rig.until(110);
    rig.tell(Command::EndHere);
    let range = Range {
        start: Some(utime(120)),
        end: Some(utime(220)),
    };
    assert_eq!(rig.status().range, range);
    rig.tell(Command::ToggleLoop);
    assert_eq!(times(&rig.until(160)), [(150, 2)]);
}

#[test]
fn a_pause_stops_log_time_and_nothing_else() {
    let mut rig = Rig::new(log(&[0, 100, 200]), at_rate(1.0));
    rig.until(60);
    rig.tell(Command::Pause);
    assert_eq!(rig.until(1_000), []);
    assert_eq!((rig.log_ms(), rig.state()), (Some(60), State::Paused));
    rig.tell(Command::Toggle);
    assert_eq!(times(&rig.until(2_000)), [(1_040, 1), (1_140, 2)]);
}

#[test]
fn it_can_start_paused_and_then_nothing_goes_out() {
    let options = PlayerOptions {
        is_paused: true,
        ..at_rate(1.0)
    };
    let mut rig = Rig::new(log(&[0, 10]), options);
    assert_eq!(rig.until(500), []);
    rig.tell(Command::Play);
    assert_eq!(times(&rig.until(1_000)), [(500, 0), (510, 1)]);
}

#[test]
fn a_step_publishes_one_event_at_once_and_pauses() {
    let mut rig = Rig::new(log(&[0, 1_000, 2_000, 3_000]), at_rate(1.0));
    rig.until(100);
    rig.tell(Command::Step);
    assert_eq!(times(&rig.until(5_000)), [(100, 1)]);
    assert_eq!((rig.log_ms(), rig.state()), (Some(1_000), State::Paused));
    rig.tell(Command::Step);
    assert_eq!(times(&rig.until(6_000)), [(5_000, 2)]);
    rig.tell(Command::Play);
    assert_eq!(times(&rig.until(9_000)), [(7_000, 3)]);
}

#[test]
fn a_step_by_channel_publishes_everything_up_to_that_channel() {
    let mut rig = Rig::new(log(&[0, 10, 20, 30, 40, 50, 60]), at_rate(1.0));
    rig.tell(Command::Pause);
    rig.tell(Command::StepTo(Pattern::exact("c")));
    assert_eq!(numbers(&rig.until(100)), [0, 1, 2]);
    rig.tell(Command::StepTo(Pattern::exact("c")));
    assert_eq!(numbers(&rig.until(200)), [3, 4, 5]);
    rig.tell(Command::StepTo(Pattern::exact("c")));
    assert_eq!(numbers(&rig.until(300)), [6]);
    assert_eq!(rig.state(), State::Ended);
}

#[test]
fn a_step_leaves_out_what_is_not_played() {
    let mut rig = Rig::new(log(&[0, 10, 20, 30]), at_rate(1.0));
    rig.tell(Command::Disable(Pattern::exact("a")));
    rig.tell(Command::Step);
    assert_eq!(numbers(&rig.until(100)), [1]);
}

#[test]
fn seeking_goes_to_a_moment_and_keeps_playing_or_not() {
    let mut rig = Rig::new(log(&[0, 100, 200, 300, 400]), at_rate(1.0));
    rig.until(50);
    rig.tell(Command::SeekTo(utime(290)));
    assert_eq!(times(&rig.until(55)), []);
    assert_eq!(times(&rig.until(100)), [(60, 3)]);
    rig.tell(Command::Pause);
    rig.tell(Command::SeekTo(utime(100)));
    assert_eq!(rig.until(1_000), []);
    assert_eq!((rig.log_ms(), rig.state()), (Some(100), State::Paused));
    rig.tell(Command::SeekBy(200_000));
    rig.until(1_000);
    assert_eq!(rig.log_ms(), Some(300));
    rig.tell(Command::Step);
    assert_eq!(numbers(&rig.until(1_000)), [3]);
}

#[test]
fn the_time_that_seeking_takes_is_no_lateness() {
    let mut rig = Rig::new(log(&[0, 100, 200, 300]), at_rate(1.0));
    rig.until(50);
    rig.tell(Command::SeekTo(utime(200)));
    let now = Duration::from_millis(50);
    assert_eq!(
        rig.player.next(None, now),
        Step::Seek(Place::Utime(utime(200)))
    );
    rig.at = 2;
    rig.now_ms = 450;
    assert_eq!(times(&rig.until(1_000)), [(450, 2), (550, 3)]);
    assert_eq!(rig.player.lateness().max(), Duration::ZERO);
}

#[test]
fn seeking_stays_within_the_log() {
    let options = PlayerOptions {
        span: Some((utime(0), utime(400))),
        ..at_rate(1.0)
    };
    let mut rig = Rig::new(log(&[0, 100, 400]), options);
    rig.tell(Command::Pause);
    for (by_us, log_ms) in [(-1_000_000, 0), (i64::MAX, 400), (i64::MIN, 0)] {
        rig.tell(Command::SeekBy(by_us));
        rig.until(10);
        assert_eq!(rig.log_ms(), Some(log_ms), "by {by_us}");
    }
}

#[test]
fn it_comes_back_from_the_end() {
    let mut rig = Rig::new(log(&[0, 100]), at_rate(1.0));
    rig.until(200);
    assert_eq!(rig.state(), State::Ended);
    rig.tell(Command::SeekTo(utime(50)));
    assert_eq!(times(&rig.until(300)), [(250, 1)]);
    rig.tell(Command::Play);
    assert_eq!(times(&rig.until(500)), [(300, 0), (400, 1)]);
    rig.tell(Command::Step);
    assert_eq!(rig.until(600), [], "there is nothing after the end");
}

#[test]
fn a_range_is_played_and_nothing_else() {
    let range = Range {
        start: Some(utime(100)),
        end: Some(utime(300)),
    };
    let options = PlayerOptions {
        range,
        ..at_rate(1.0)
    };
    let mut rig = Rig::new(log(&[0, 100, 200, 300, 400]), options);
    assert_eq!(times(&rig.until(1_000)), [(0, 1), (100, 2), (200, 3)]);
    assert!(rig.is_ended);
    rig.tell(Command::SetRange(Range::default()));
    rig.tell(Command::Play);
    assert_eq!(numbers(&rig.until(9_000)), [0, 1, 2, 3, 4]);
}

#[test]
fn a_loop_turns_after_as_long_as_its_range_and_does_not_drift() {
    let range = Range {
        start: Some(utime(100)),
        end: Some(utime(350)),
    };
    let options = PlayerOptions {
        range,
        is_looping: true,
        ..at_rate(1.0)
    };
    let mut rig = Rig::new(log(&[0, 100, 200, 300, 400]), options);
    let expected = [
        (0, 1),
        (100, 2),
        (200, 3),
        (250, 1),
        (350, 2),
        (450, 3),
        (500, 1),
    ];
    assert_eq!(times(&rig.until(500)), expected);
    assert_eq!(rig.status().tallies.n_loops, 2);
    rig.tell(Command::SetLoop(false));
    assert_eq!(numbers(&rig.until(9_000)), [2, 3]);
    assert!(rig.is_ended);
}

#[test]
fn a_loop_over_the_whole_log_starts_again_at_once() {
    let options = PlayerOptions {
        is_looping: true,
        ..at_rate(1.0)
    };
    let mut rig = Rig::new(log(&[0, 100]), options);
    let expected = [(0, 0), (100, 1), (100, 0), (200, 1), (200, 0)];
    assert_eq!(times(&rig.until(250)), expected);
}

#[test]
fn a_loop_over_nothing_ends() {
    for rate in [0.0, 1.0] {
        let options = PlayerOptions {
            is_looping: true,
            channels: Channels::none(),
            ..at_rate(rate)
        };
        let mut rig = Rig::new(log(&[0, 100]), options);
        assert_eq!(rig.until(10_000), []);
        assert!(rig.is_ended, "at rate {rate}");
    }
}

#[test]
fn channels_are_enabled_and_disabled_and_the_last_word_counts() {
    let mut channels = Channels::none();
    channels.enable(Pattern::new("a|b").unwrap());
    let options = PlayerOptions {
        channels,
        ..at_rate(1.0)
    };
    let mut rig = Rig::new(log(&[0, 10, 20, 30, 40, 50, 60, 70, 80]), options);
    assert_eq!(numbers(&rig.until(25)), [0, 1]);
    rig.tell(Command::Disable(Pattern::exact("a")));
    rig.tell(Command::Enable(Pattern::new(".*").unwrap()));
    rig.tell(Command::Disable(Pattern::exact("b")));
    assert_eq!(numbers(&rig.until(55)), [3, 5]);
    rig.tell(Command::Enable(Pattern::exact("b")));
    assert_eq!(numbers(&rig.until(90)), [6, 7, 8]);
    let tallies = rig.status().tallies;
    assert_eq!((tallies.n_published, tallies.n_passed), (7, 2));
}

#[test]
fn channels_are_renamed_by_name_and_by_group() {
    let cases = [
        ("a=x", ["x", "b", "c"]),
        ("(a|b)=old.$1", ["old.a", "old.b", "c"]),
        ("(?<which>.)=${which}${which}", ["aa", "bb", "cc"]),
    ];
    for (text, expected) in cases {
        let mut rig = Rig::new(log(&[0, 0, 0]), at_rate(1.0));
        rig.tell(Command::Rename(text.parse().unwrap()));
        let names: Vec<_> = rig.until(10).into_iter().map(|(_, name, _)| name).collect();
        assert_eq!(names, expected, "{text}");
    }
}

#[test]
fn what_would_drive_this_player_is_not_played_unless_it_is_renamed() {
    let events = vec![
        event(0, 0, "bowline.player.request"),
        event(1, 0, "bowline.player.status"),
        event(2, 0, "bowline.bookmark"),
        event(3, 0, "bowline.schema"),
        event(4, 0, "a"),
    ];
    let mut rig = Rig::new(events.clone(), at_rate(1.0));
    assert_eq!(numbers(&rig.until(10)), [2, 3, 4]);
    let mut rig = Rig::new(events, at_rate(1.0));
    rig.tell(Command::Rename(
        "bowline.player.(.*)=recorded.$1".parse().unwrap(),
    ));
    rig.tell(Command::Rename("a=bowline.player.request".parse().unwrap()));
    assert_eq!(numbers(&rig.until(10)), [0, 1, 2, 3]);
}

#[test]
fn times_that_go_back_are_followed_and_reported() {
    #[rustfmt::skip]
    let cases: [(&str, &[i64], &[u64], u64); 5] = [
        ("disorder goes out at once",             &[0, 100, 95, 200],              &[0, 100, 100, 200],       0),
        ("a clock that was set back",             &[0, 100, -5_000, -4_900],       &[0, 100, 100, 200],       1),
        ("a clock that was set back for a while", &[0, 100, -5_000, -4_900, 300],  &[0, 100, 100, 200, 300],  1),
        ("two clocks in one log",                 &[0, -900, 100, -800, 200],      &[0, 0, 100, 100, 200],    2),
        ("a clock that was set forward",          &[0, 100, 900, 1_000],           &[0, 100, 900, 1_000],     0),
    ];
    for (name, times_ms, expected_ms, n_backward) in cases {
        let mut rig = Rig::new(log(times_ms), at_rate(1.0));
        let found: Vec<u64> = rig.until(60_000).iter().map(|(ms, _, _)| *ms).collect();
        assert_eq!(found, expected_ms, "{name}");
        assert_eq!(rig.status().tallies.n_backward, n_backward, "{name}");
    }
}

#[test]
fn long_gaps_are_kept_unless_they_are_to_be_shortened() {
    let times_ms = [0, 100, 3_600_100, 3_600_200];
    let mut rig = Rig::new(log(&times_ms), at_rate(1.0));
    assert_eq!(
        times(&rig.until(4_000_000)),
        [(0, 0), (100, 1), (3_600_100, 2), (3_600_200, 3)]
    );
    let options = PlayerOptions {
        max_gap: Some(Duration::from_secs(1)),
        ..at_rate(2.0)
    };
    let mut rig = Rig::new(log(&times_ms), options);
    assert_eq!(
        times(&rig.until(4_000_000)),
        [(0, 0), (50, 1), (550, 2), (600, 3)]
    );
    assert_eq!(rig.status().tallies.n_shortened, 1);
}

#[test]
fn absurd_times_are_waited_for_without_harm() {
    let mut events = log(&[0, 0, 0]);
    events[1].utime = i64::MAX;
    events[2].utime = i64::MIN;
    let mut rig = Rig::new(events.clone(), at_rate(1.0));
    assert_eq!(numbers(&rig.until(1_000_000)), [0]);
    rig.tell(Command::Step);
    rig.tell(Command::Step);
    rig.until(1_000_000);
    rig.tell(Command::Play);
    assert_eq!(numbers(&rig.until(1_000_000)), [2]);
    let mut rig = Rig::new(events, at_rate(0.0));
    assert_eq!(numbers(&rig.until(0)), [0, 1, 2]);
}

#[test]
fn being_held_up_shifts_the_rest_instead_of_bunching_it() {
    let mut rig = Rig::new(log(&[0, 100, 200, 300, 5_000]), at_rate(1.0));
    rig.until(50);
    rig.now_ms = 3_100;
    assert_eq!(
        times(&rig.until(20_000)),
        [(3_100, 1), (3_200, 2), (3_300, 3), (8_000, 4)]
    );
    assert_eq!(rig.status().tallies.n_stalls, 1);
    assert_eq!(rig.player.lateness().max(), Duration::from_secs(3));
}

#[test]
fn a_little_lateness_does_not_add_up() {
    let mut rig = Rig::new(log(&[0, 100, 200, 300]), at_rate(1.0));
    rig.until(50);
    rig.now_ms = 150;
    assert_eq!(times(&rig.until(1_000)), [(150, 1), (200, 2), (300, 3)]);
    assert_eq!(rig.player.lateness().n(), 4);
}

#[test]
fn log_time_can_be_followed() {
    let mut rig = Rig::new(log(&[0, 1_000]), at_rate(2.0));
    assert_eq!(rig.log_ms(), None);
    rig.until(100);
    assert_eq!(rig.log_ms(), Some(200));
    rig.tell(Command::SetRate(Rate::new(1.0)));
    rig.until(200);
    assert_eq!(rig.log_ms(), Some(300));
    rig.until(5_000);
    assert_eq!(rig.state(), State::Ended);
}

/// Every event of a log through a player that is as fast as it can be.
fn played(reader: &mut Reader, options: PlayerOptions) -> Vec<OwnedEvent> {
    let mut player = Player::new(options);
    let mut played = Vec::new();
    let mut step = Step::Pass;
    while step != Step::End {
        let event = reader.next_event().unwrap();
        let offer = event.map(|event| Offer {
            utime: event.utime,
            channel: event.channel,
            len: event.payload.len(),
        });
        let next = player.next(offer, Duration::ZERO);
        if let Step::Publish(_) = next {
            played.push(event.unwrap().to_owned());
        }
        let place = match next {
            Step::Seek(place) => Some(place),
            Step::Publish(_) | Step::Pass | Step::End => None,
            Step::WaitUntil(_) | Step::WaitForCommand => unreachable!("nothing to wait for"),
        };
        step = if next == Step::End {
            Step::End
        } else {
            Step::Pass
        };
        match place {
            Some(Place::Beginning) => reader.rewind().unwrap(),
            Some(Place::Utime(utime)) => reader.seek_to(utime).unwrap(),
            None => {}
        }
    }
    played
}

#[test]
fn a_log_of_either_format_is_played_whole_or_from_a_moment_on() {
    let folder = tempfile::tempdir().unwrap();
    let written = events(500);
    for (at, (extension, compression)) in KINDS.iter().enumerate() {
        let path = folder.path().join(format!("{at}.{extension}"));
        write(&path, options(*compression), &written, 50);
        for index in [IndexUse::Make, IndexUse::Ignore] {
            let mut reader = open(&path, index);
            assert!(played(&mut reader, at_rate(0.0)) == written, "{path:?}");
            let range = Range {
                start: Some(written[100].utime),
                end: Some(written[399].utime),
            };
            let options = PlayerOptions {
                range,
                ..at_rate(0.0)
            };
            let mut reader = open(&path, index);
            assert!(
                played(&mut reader, options) == written[100..400],
                "{path:?}"
            );
        }
    }
}

#[test]
fn a_damaged_log_is_played_but_for_what_is_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let written = events(200);
    let path = folder.path().join("damaged.log");
    write(&path, options(KINDS[0].1), &written, 50);
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x40;
    std::fs::write(&path, &bytes[..bytes.len() - 10]).unwrap();
    let mut reader = open(&path, IndexUse::IfThere);
    let played = played(&mut reader, at_rate(0.0));
    assert_eq!(played.len(), written.len() - 2);
    assert!(played.iter().all(|event| written.contains(event)));
    assert!(reader.damages().is_lossy());
}
