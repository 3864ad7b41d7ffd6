//! Programs that the tests control: they print a line for each event, and end when their stdin is closed.
//!
//! Ending on a closed stdin is what keeps a machine clean: when a test process dies, however it dies, so does everything
//! that it started.

use bowline_testing::patience::PATIENCE;
use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

/// Lines that may wait to be read: more than any test should leave. When there are more, the program has to wait.
const MAX_LINES: usize = 1 << 20;
/// What is kept of stderr.
const MAX_STDERR_BYTES: usize = 1 << 16;

/// A running program. Dropped, it is killed.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Arc<Lines>,
    stderr: Arc<Mutex<String>>,
}

impl Process {
    /// Starts a program. The name is for messages.
    #[must_use]
    pub fn start(name: impl Into<String>, command: &mut Command) -> Self {
        let name = name.into();
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{name}: cannot start {command:?}: {error}"));
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().expect("asked for");
        let lines = Arc::new(Lines::default());
        let filled = Arc::clone(&lines);
        in_background(format!("{name} out"), move || filled.fill(stdout));
        let stderr = Arc::new(Mutex::new(String::new()));
        let (kept, pipe) = (Arc::clone(&stderr), child.stderr.take().expect("asked for"));
        in_background(format!("{name} err"), move || keep(pipe, &kept));
        Self {
            name,
            child,
            stdin,
            lines,
            stderr,
        }
    }

    /// Starts a program and waits until it prints `ready`.
    #[must_use]
    pub fn start_ready(name: impl Into<String>, command: &mut Command) -> Self {
        let process = Self::start(name, command);
        let line = process.line();
        assert_eq!(line, "ready", "{}", process.describe());
        process
    }

    /// Its process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The next line. Panics when there is none.
    #[must_use]
    pub fn line(&self) -> String {
        self.line_within(PATIENCE).unwrap_or_else(|| {
            panic!(
                "expected another line, found none for {} s: {}",
                PATIENCE.as_secs(),
                self.describe()
            )
        })
    }

    /// The next line, if it comes in time. Panics when the program has ended.
    #[must_use]
    pub fn line_within(&self, patience: Duration) -> Option<String> {
        match self.lines.next(patience) {
            Next::Line(line) => Some(line),
            Next::None => None,
            Next::End => panic!("expected another line, found the end: {}", self.describe()),
        }
    }

    /// Up to `n` lines: fewer when it ends, or prints nothing for that long. For programs that may die.
    #[must_use]
    pub fn lines_while(&self, n: usize, patience: Duration) -> Vec<String> {
        let next = || match self.lines.next(patience) {
            Next::Line(line) => Some(line),
            Next::None | Next::End => None,
        };
        std::iter::from_fn(next).take(n).collect()
    }

    /// Writes a line to it.
    pub fn tell(&mut self, line: impl std::fmt::Display) {
        let stdin = self.stdin.as_mut().expect("open until the end");
        if let Err(error) = writeln!(stdin, "{line}") {
            panic!("cannot send it {line}: {error}: {}", self.describe());
        }
    }

    /// Closes its stdin, waits until it ends, and returns the lines that were not read yet. Panics when it fails.
    #[must_use]
    pub fn finish(self) -> Vec<String> {
        let stderr = Arc::clone(&self.stderr);
        let name = self.name.clone();
        let (status, rest) = self.end();
        assert!(status.success(), "{name}: {status}: {}", text(&stderr));
        rest
    }

    /// As [`Process::finish`], for programs that may die: also returns how it ended.
    #[must_use]
    pub fn end(mut self) -> (ExitStatus, Vec<String>) {
        drop(self.stdin.take());
        let mut rest = Vec::new();
        loop {
            match self.lines.next(PATIENCE) {
                Next::Line(line) => rest.push(line),
                Next::End => break,
                Next::None => panic!("expected it to end, found it waiting: {}", self.describe()),
            }
        }
        (self.child.wait().expect("a child can be waited for"), rest)
    }

    fn describe(&self) -> String {
        let (name, id) = (&self.name, self.child.id());
        format!("{name} (process {id}): {}", text(&self.stderr))
    }
}

fn text(stderr: &Mutex<String>) -> String {
    let kept = stderr.lock();
    kept.expect("no thread panics while it holds the lock")
        .clone()
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself, and then there is nothing to kill; no child may be left behind either way.
        let _ended = self.child.kill();
        let _status = self.child.wait();
        self.lines.end();
    }
}

/// The lines of a program, as far as they were not read.
///
/// The standard library's bounded channels take memory for all that they may ever hold, which for hundreds of programs is
/// too much.
#[derive(Debug, Default)]
struct Lines {
    state: Mutex<LinesState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct LinesState {
    lines: VecDeque<String>,
    /// The program printed its last line, or its reader has ended.
    is_over: bool,
}

/// What comes next.
enum Next {
    Line(String),
    /// Nothing yet.
    None,
    /// Nothing ever.
    End,
}

impl Lines {
    fn fill(&self, pipe: impl Read) {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            let state = self.lock();
            let is_full = |state: &mut LinesState| state.lines.len() >= MAX_LINES && !state.is_over;
            let mut state = self
                .changed
                .wait_while(state, is_full)
                .expect("no thread panics while it holds the lock");
            if state.is_over {
                return;
            }
            state.lines.push_back(line);
            self.changed.notify_all();
        }
        self.end();
    }

    fn next(&self, patience: Duration) -> Next {
        let is_empty = |state: &mut LinesState| state.lines.is_empty() && !state.is_over;
        let (mut state, _) = self
            .changed
            .wait_timeout_while(self.lock(), patience, is_empty)
            .expect("no thread panics while it holds the lock");
        self.changed.notify_all();
        match state.lines.pop_front() {
            Some(line) => Next::Line(line),
            None if state.is_over => Next::End,
            None => Next::None,
        }
    }

    fn end(&self) {
        self.lock().is_over = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, LinesState> {
        self.state
            .lock()
            .expect("no thread panics while it holds the lock")
    }
}

fn in_background(name: String, work: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new()
        .name(name)
        .spawn(work)
        .expect("a thread can start");
}

fn keep(mut pipe: impl Read, kept: &Mutex<String>) {
    let mut buffer = [0; 4096];
    while let Ok(n) = pipe.read(&mut buffer)
        && n > 0
    {
        let mut kept = kept
            .lock()
            .expect("no thread panics while it holds the lock");
        if kept.len() < MAX_STDERR_BYTES {
            kept.push_str(&String::from_utf8_lossy(&buffer[..n]));
        }
    }
}
