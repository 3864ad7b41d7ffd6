//! XML, line by line.

/// A text of XML that grows.
#[derive(Debug, Default)]
pub(super) struct Markup {
    text: String,
    open: Vec<&'static str>,
}

impl Markup {
    /// Begins an element; its attributes have values as they are, without quotes or escapes.
    pub(super) fn open(&mut self, name: &'static str, attributes: &[(&str, &str)]) {
        self.begin(name, attributes);
        self.text += ">\n";
        self.open.push(name);
    }

    /// Ends the last one that was begun.
    pub(super) fn close(&mut self) {
        if let Some(name) = self.open.pop() {
            self.indent();
            self.text += &format!("</{name}>\n");
        }
    }

    /// An element with attributes only.
    pub(super) fn empty(&mut self, name: &str, attributes: &[(&str, &str)]) {
        self.begin(name, attributes);
        self.text += "/>\n";
    }

    /// An element with a text.
    pub(super) fn leaf(&mut self, name: &'static str, attributes: &[(&str, &str)], text: &str) {
        self.begin(name, attributes);
        self.text += &format!(">{}</{name}>\n", escaped(text));
    }

    /// A remark for people.
    pub(super) fn comment(&mut self, text: &str) {
        self.indent();
        self.text += &format!("<!-- {} -->\n", text.replace("--", "- -"));
    }

    /// All of it.
    pub(super) fn finish(mut self) -> String {
        while !self.open.is_empty() {
            self.close();
        }
        self.text
    }

    fn begin(&mut self, name: &str, attributes: &[(&str, &str)]) {
        self.indent();
        self.text += &format!("<{name}");
        for (name, value) in attributes {
            self.text += &format!(" {name}=\"{}\"", escaped(value));
        }
    }

    fn indent(&mut self) {
        self.text += &"  ".repeat(self.open.len());
    }
}

/// A text as XML has it, between tags or quotes. What XML cannot have becomes U+FFFD.
#[must_use]
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '&' => out += "&amp;",
            '"' => out += "&quot;",
            '\n' => out += "&#10;",
            '\t' => out += "&#9;",
            letter if letter.is_control() || matches!(letter, '\u{fffe}' | '\u{ffff}') => {
                out.push('\u{fffd}');
            }
            letter => out.push(letter),
        }
    }
    out
}
