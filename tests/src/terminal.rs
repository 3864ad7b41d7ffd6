//! A terminal with a shell in it, whose keys are pressed and whose screen is read, in a network of its own.

use crate::netns::Namespace;
use crate::peers::run;
use bowline_testing::patience::is_so_in_time;
use std::process::Command;

/// A terminal, as tmux is one. Dropped, it is gone with all that runs in it.
#[derive(Debug)]
pub struct Terminal {
    socket: String,
    namespace: Namespace,
}

impl Terminal {
    /// A terminal of 80 columns and 24 lines, ready for a command.
    #[must_use]
    pub fn new(name: &str) -> Self {
        let terminal = Self {
            socket: format!("bowline-{name}-{}", std::process::id()),
            namespace: Namespace::new(),
        };
        let mut command = terminal.namespace.command("tmux");
        command.args(["-L", &terminal.socket, "-f", "/dev/null"]);
        command.args(["new-session", "-d", "-x", "80", "-y", "24"]);
        run(command.arg("env PS1='ready> ' sh"));
        terminal.wait_for(&["ready>"]);
        terminal
    }

    /// The network that it is in.
    #[must_use]
    pub fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    /// Has tmux do something.
    pub fn tmux(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("tmux");
        command.args(["-L", &self.socket]).args(arguments);
        let output = command.output().expect("tmux is there");
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).expect("text")
    }

    /// Presses keys, by tmux's names for them.
    pub fn keys(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"][..], keys].concat());
    }

    /// Types a line.
    pub fn kind(&self, line: &str) {
        self.tmux(&["send-keys", "-l", line]);
        self.keys(&["Enter"]);
    }

    /// Makes it so large.
    pub fn resize(&self, width: u16, height: u16) {
        let (width, height) = (width.to_string(), height.to_string());
        self.tmux(&["resize-window", "-x", &width, "-y", &height]);
    }

    /// Waits until all of these are on the screen, and returns it.
    pub fn wait_for(&self, texts: &[&str]) -> String {
        self.wait_until(&format!("{texts:?}"), |screen| {
            texts.iter().all(|text| screen.contains(text))
        })
    }

    /// Waits until the screen is as it should be, and returns it.
    pub fn wait_until(&self, what: &str, is_so: impl Fn(&str) -> bool) -> String {
        let mut screen = String::new();
        let is_shown = is_so_in_time(|| {
            screen = self.tmux(&["capture-pane", "-p"]);
            is_so(&screen)
        });
        assert!(is_shown, "waited for {what}:\n{screen}");
        screen
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let mut command = Command::new("tmux");
        let _ended = command.args(["-L", &self.socket, "kill-server"]).output();
    }
}
