//! Lines of code with indentation.

/// Collects lines.
#[derive(Debug, Default)]
pub struct Code {
    text: String,
    depth: usize,
}

impl Code {
    /// None yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// One line, or several, at the present depth.
    pub fn line(&mut self, line: impl AsRef<str>) {
        for line in line.as_ref().split('\n') {
            if !line.is_empty() {
                for _ in 0..self.depth {
                    self.text.push_str("    ");
                }
                self.text.push_str(line);
            }
            self.text.push('\n');
        }
    }

    /// An empty line, unless there is one already or a block has just opened.
    pub fn gap(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") && !self.text.ends_with("{\n") {
            self.text.push('\n');
        }
    }

    /// A line, and deeper.
    pub fn open(&mut self, line: impl AsRef<str>) {
        self.line(line);
        self.depth += 1;
    }

    /// Back up, and a line.
    pub fn close(&mut self, line: impl AsRef<str>) {
        self.depth = self.depth.saturating_sub(1);
        self.line(line);
    }

    /// Deeper, without a line: for the second half of a block.
    pub fn open_silently(&mut self) {
        self.depth += 1;
    }

    /// Back up, without a line: for languages whose blocks have no end.
    pub fn close_silently(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    /// A comment whose lines all start with `prefix`; nothing for an empty comment.
    pub fn comment(&mut self, prefix: &str, doc: &str) {
        for line in doc.lines() {
            self.line(format!("{prefix} {line}").trim_end());
        }
    }

    /// A comment between `/**` and `*/`, which nothing in it can end early.
    pub fn block_comment(&mut self, doc: &str) {
        if doc.is_empty() {
            return;
        }
        self.line("/**");
        self.comment(" *", &doc.replace("*/", "* /"));
        self.line(" */");
    }

    /// All of it.
    #[must_use]
    pub fn finish(self) -> String {
        self.text
    }
}
