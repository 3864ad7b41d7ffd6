//! What the kernel reports about processes, from `/proc`.

use rustix::process::Pid;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// What a process is started with, so that what it leaves behind can be found.
pub(crate) const MARKER: &str = "BOWLINE_RUN";

/// A line of `/proc/PID/stat`, as far as it is needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) pid: i32,
    /// Whether it has ended, and only its parent has not asked how.
    pub(crate) is_zombie: bool,
    pub(crate) parent: i32,
    pub(crate) group: i32,
    /// Time on processors, clock ticks.
    pub(crate) cpu_ticks: u64,
    /// When it started, clock ticks since the machine did: with the pid, identifies a process for ever.
    pub(crate) start_ticks: u64,
    /// Memory that it has, pages.
    pub(crate) resident_pages: u64,
}

/// Processes at one moment, with the runs that they are part of.
#[derive(Clone, Debug, Default)]
pub(crate) struct Survey(pub(crate) Vec<Found>);

/// A process, and the mark of the run that it is part of.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) stat: Stat,
    pub(crate) mark: Option<String>,
}

/// What is known of one process, if there is one.
pub(crate) fn stat(pid: Pid) -> Option<Stat> {
    let text = fs::read(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    parse_stat(&String::from_utf8_lossy(&text))
}

/// All processes that can be seen.
pub(crate) fn stats() -> Vec<Stat> {
    let Ok(folders) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let pids = folders.filter_map(|folder| folder.ok()?.file_name().to_str()?.parse().ok());
    pids.filter_map(|pid| stat(Pid::from_raw(pid)?)).collect()
}

/// What the scheduler did with a thread so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Thread {
    pub(crate) tid: i32,
    /// Whether it runs, or waits for a processor.
    pub(crate) is_runnable: bool,
    /// Time on processors.
    pub(crate) ran_ns: u64,
    /// Time that it waited for a processor. The kernel adds a wait when it is over.
    pub(crate) waited_ns: u64,
    /// How often it got a processor.
    pub(crate) n_turns: u64,
}

/// The threads of a process; none where the kernel does not keep such figures (`CONFIG_SCHED_INFO`).
pub(crate) fn threads(pid: i32) -> Vec<Thread> {
    let Ok(folders) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return Vec::new();
    };
    let folders = folders.filter_map(Result::ok);
    folders.filter_map(|it| thread(&it.path())).collect()
}

/// The thread that asks.
pub(crate) fn own_thread() -> Option<Thread> {
    thread(Path::new("/proc/thread-self"))
}

fn thread(folder: &Path) -> Option<Thread> {
    let figures = fs::read_to_string(folder.join("schedstat")).ok()?;
    let stat = fs::read(folder.join("stat")).ok()?;
    parse_thread(&figures, &String::from_utf8_lossy(&stat))
}

fn parse_thread(figures: &str, stat: &str) -> Option<Thread> {
    let mut figures = figures.split_whitespace().map(str::parse::<u64>);
    let mut figure = || figures.next()?.ok();
    let (tid, rest) = stat.split_once(" (")?;
    let (_, fields) = rest.rsplit_once(") ")?;
    Some(Thread {
        tid: tid.parse().ok()?,
        ran_ns: figure()?,
        waited_ns: figure()?,
        n_turns: figure()?,
        is_runnable: fields.starts_with("R "),
    })
}

/// Marks that were read already.
///
/// To read one, the kernel waits until no thread changes the memory of that process: for a large one that is busy, or that is
/// ending, this can take longer than any deadline of ours. What a process was started with does not change, so each is
/// asked once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Marks(BTreeMap<(i32, u64), Option<String>>);

impl Marks {
    /// The mark of a process, by what it was started with: that is read if it is not known.
    fn of(&mut self, stat: &Stat, read: impl FnOnce(i32) -> Option<Vec<u8>>) -> Option<String> {
        if stat.is_zombie {
            return None;
        }
        let key = (stat.pid, stat.start_ticks);
        if let Some(mark) = self.0.get(&key) {
            return mark.clone();
        }
        // A process that has nothing may be about to become another program, and have something in a moment.
        let environment = read(stat.pid).filter(|it| !it.is_empty())?;
        let mark = marked(&environment);
        self.0.insert(key, mark.clone());
        mark
    }

    /// Forgets those that are not there any more.
    fn keep(&mut self, stats: &[Stat]) {
        let left: BTreeSet<(i32, u64)> = stats.iter().map(|it| (it.pid, it.start_ticks)).collect();
        self.0.retain(|key, _| left.contains(key));
    }
}

impl Survey {
    /// Looks at all processes. Those of other users have no marks that could be read, and are none of ours.
    pub(crate) fn take() -> Self {
        Self::take_with(&mut Marks::default())
    }

    /// The same, for repeated looks.
    pub(crate) fn take_with(marks: &mut Marks) -> Self {
        let stats = stats();
        marks.keep(&stats);
        let found = stats.into_iter().map(|stat| Found {
            mark: marks.of(&stat, environment),
            stat,
        });
        Self(found.collect())
    }

    /// Those that are part of a run, and live.
    pub(crate) fn of_run<'a>(&'a self, mark: &'a str) -> impl Iterator<Item = &'a Found> {
        self.0.iter().filter(move |it| it.is_of_run(mark))
    }
}

impl Found {
    /// Whether it is part of a run, or of a run of a supervisor that is part of it.
    pub(crate) fn is_of_run(&self, mark: &str) -> bool {
        let rest = self.mark.as_deref().and_then(|own| own.strip_prefix(mark));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

/// The mark that a process was started with.
pub(crate) fn mark(pid: i32) -> Option<String> {
    marked(&environment(pid)?)
}

fn environment(pid: i32) -> Option<Vec<u8>> {
    fs::read(format!("/proc/{pid}/environ")).ok()
}

fn marked(environment: &[u8]) -> Option<String> {
    let mut entries = environment.split(|byte| *byte == 0);
    entries.find_map(|entry| {
        let (name, value) = std::str::from_utf8(entry).ok()?.split_once('=')?;
        (name == MARKER).then(|| value.to_owned())
    })
}

fn parse_stat(text: &str) -> Option<Stat> {
    // The name of the program is in parentheses, and may itself contain any.
    let (pid, rest) = text.split_once(" (")?;
    let (_, fields) = rest.rsplit_once(") ")?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    // Numbered as in proc_pid_stat(5), where the state is the third.
    let field = |number: usize| fields.get(number - 3).copied();
    let number = |place: usize| field(place)?.parse::<u64>().ok();
    Some(Stat {
        pid: pid.parse().ok()?,
        is_zombie: matches!(field(3)?, "Z" | "X"),
        parent: field(4)?.parse().ok()?,
        group: field(5)?.parse().ok()?,
        cpu_ticks: number(14)? + number(15)?,
        start_ticks: number(22)?,
        resident_pages: number(24)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn process_name_with_parentheses_is_parsed() {
        let text =
            "42 (a) R 1 (b)) S 7 42 42 0 -1 4194304 9 0 0 0 11 4 0 0 20 0 1 0 8080 1024 33 1844";
        let expected = Stat {
            pid: 42,
            is_zombie: false,
            parent: 7,
            group: 42,
            cpu_ticks: 15,
            start_ticks: 8080,
            resident_pages: 33,
        };
        assert_eq!(parse_stat(text), Some(expected));
        for broken in ["", "42", "42 (a", "42 (a) S 1", "x (a) S 1 2 3"] {
            assert_eq!(parse_stat(broken), None, "{broken:?}");
        }
    }

    #[test]
    fn a_thread_that_runs_is_runnable_and_its_figures_grow() {
        let stat = |state: &str| format!("42 (a) R 1 (b)) {state} 7 42");
        let expected = Thread {
            tid: 42,
            is_runnable: true,
            ran_ns: 5,
            waited_ns: 6,
            n_turns: 7,
        };
        assert_eq!(parse_thread("5 6 7\n", &stat("R")), Some(expected));
        let sleeping = parse_thread("5 6 7\n", &stat("S")).expect("a thread");
        assert!(!sleeping.is_runnable);
        for (figures, stat) in [
            ("5 6", stat("R")),
            ("", stat("R")),
            ("5 6 7", String::new()),
        ] {
            assert_eq!(parse_thread(figures, &stat), None, "{figures:?} {stat:?}");
        }
        let before = own_thread().expect("the kernel keeps figures");
        let pid = rustix::process::getpid().as_raw_nonzero().get();
        assert!(before.is_runnable && threads(pid).iter().any(|it| it.tid == before.tid));
        while own_thread().expect("it runs").ran_ns == before.ran_ns {}
        assert_eq!(threads(0), []);
    }

    #[test]
    fn each_process_is_asked_for_its_mark_once() {
        let mut marks = Marks::default();
        let own = stat(rustix::process::getpid()).expect("we are a process");
        let marked = |mark: &str| Some(format!("HOME=/\0{MARKER}={mark}\0").into_bytes());
        let unasked = |_| -> Option<Vec<u8>> { panic!("it is known") };
        // Nothing yet, then something.
        assert_eq!(marks.of(&own, |_| Some(Vec::new())), None);
        assert_eq!(marks.of(&own, |_| None), None);
        assert_eq!(marks.of(&own, |_| marked("a:1")).as_deref(), Some("a:1"));
        assert_eq!(marks.of(&own, unasked).as_deref(), Some("a:1"));
        // Another with its number.
        let next = Stat {
            start_ticks: own.start_ticks + 1,
            ..own.clone()
        };
        assert_eq!(marks.of(&next, |_| Some(b"HOME=/\0".to_vec())), None);
        assert_eq!(marks.of(&next, unasked), None);
        let zombie = Stat {
            is_zombie: true,
            ..own.clone()
        };
        assert_eq!(marks.of(&zombie, unasked), None);
        marks.keep(std::slice::from_ref(&next));
        assert_eq!(marks.0.len(), 1, "only those are remembered that are there");
        assert_eq!(marks.of(&next, unasked), None);
    }

    #[test]
    fn marks_are_compared_as_a_whole() {
        let stat = stat(rustix::process::getpid()).expect("we are a process");
        let found = |mark: &str| Found {
            stat: stat.clone(),
            mark: Some(mark.to_owned()),
        };
        assert!(found("a:1").is_of_run("a:1"));
        assert!(found("a:1/b:2").is_of_run("a:1"));
        assert!(!found("a:12").is_of_run("a:1"));
        assert!(!found("a:1").is_of_run("a:1/b:2"));
    }
}
