//! Tokens to text, in as many ways as the reference accepts.
//!
//! Its lexer ends a token only at space or at one of `;,=[]`, so braces and comments need space before them.

use crate::random::Random;

const COMMENTS: &[&str] = &[
    "// metres below the surface\n",
    "/// with three slashes\n",
    "//\n",
    "/* one line */",
    "/** like Javadoc */",
    "/* two\n   lines */",
    "/**\n * with a gutter: 100 % of it\n *\n * and a gap\n */",
    "/* ** stars ** */",
    "// struct not_one_t { int8_t x; }\n",
    "// grüße, 海\n",
];

/// Writes one file after another, each in a style of its own.
pub(super) struct Printer<'r> {
    random: &'r mut Random,
    text: String,
    indent: &'static str,
}

impl<'r> Printer<'r> {
    pub(super) fn new(random: &'r mut Random) -> Self {
        let indent = *random.pick(&["    ", "\t", "  ", " \t "]);
        Self {
            random,
            text: String::new(),
            indent,
        }
    }

    pub(super) fn finish(&mut self) -> String {
        if self.random.one_in(3) {
            self.comment("");
        }
        let text = std::mem::take(&mut self.text);
        if self.random.one_in(8) {
            text.replace('\n', "\r\n")
        } else {
            text
        }
    }

    pub(super) fn package(&mut self, name: &str) {
        if self.random.one_in(3) {
            self.comment("");
        }
        self.text.push_str(&format!("package {name};\n"));
    }

    pub(super) fn block(&mut self, keyword: &str, name: &str, statements: &[Vec<String>]) {
        self.text.push('\n');
        if self.random.one_in(2) {
            self.comment("");
        }
        let open = *self.random.pick(&[" {\n", " {\n", "\n{\n", "\t{ "]);
        self.text.push_str(&format!("{keyword} {name}{open}"));
        for statement in statements {
            self.statement(statement);
        }
        self.text.push_str(" }\n");
    }

    fn statement(&mut self, tokens: &[String]) {
        if self.random.one_in(5) {
            self.comment(self.indent);
        }
        self.text.push_str(self.indent);
        let is_airy = self.random.one_in(5);
        let mut previous_is_word = false;
        for token in tokens {
            let is_word = !matches!(token.as_str(), ";" | "," | "=" | "[" | "]");
            if is_airy {
                let space = *self.random.pick(&[" ", "  ", "\t", "\n\t"]);
                self.text.push_str(space);
            } else if is_word && previous_is_word {
                self.text.push(' ');
            }
            self.text.push_str(token);
            previous_is_word = is_word;
        }
        if self.random.one_in(6) {
            self.comment(" ");
        }
        let end = *self.random.pick(&["\n", "\n", "\n", " ", "\n\n"]);
        self.text.push_str(end);
    }

    fn comment(&mut self, before: &str) {
        let comment = *self.random.pick(COMMENTS);
        self.text.push_str(before);
        self.text.push_str(comment);
        if !comment.ends_with('\n') {
            self.text.push('\n');
        }
    }
}
