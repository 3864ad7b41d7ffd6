//! Text to tokens.
//!
//! In: any text. Out: tokens in order, with the comments that belong to them; what is not a token is a diagnostic and
//! is skipped. Comments may stand anywhere, glued to a token or not; lcm-gen wants space before them.

use crate::diagnostic::Diagnostic;
use crate::source::{Source, Span};

/// What kind of token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A name or keyword, perhaps with dots.
    Word,
    /// Something that starts like a number.
    Number,
    /// One of `{}[];,=`.
    Mark(char),
    /// After the last token.
    End,
}

/// A token and the comments around it.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) span: Span,
    /// The comment above it, if nothing stands between.
    pub(crate) doc_above: String,
    /// The comment after it on the same line.
    pub(crate) doc_beside: String,
}

pub(crate) fn lex(source: &Source, place: usize) -> (Vec<Token>, Vec<Diagnostic>) {
    let mut lexer = Lexer {
        text: &source.text,
        at: 0,
        place,
        tokens: Vec::new(),
        diagnostics: Vec::new(),
    };
    if lexer.rest().starts_with('\u{feff}') {
        lexer.at += '\u{feff}'.len_utf8();
    }
    lexer.run();
    (lexer.tokens, lexer.diagnostics)
}

struct Lexer<'s> {
    text: &'s str,
    at: usize,
    place: usize,
    tokens: Vec<Token>,
    diagnostics: Vec<Diagnostic>,
}

/// Comments seen since the last token.
#[derive(Default)]
struct Comments {
    lines: Vec<String>,
    /// Line ends since the last comment or token: two make a blank line.
    n_newlines: usize,
    /// Whether a line has ended since the last token.
    is_below_token: bool,
}

impl<'s> Lexer<'s> {
    fn rest(&self) -> &'s str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn span(&self, start: usize) -> Span {
        Span {
            source: self.place,
            start,
            end: self.at,
        }
    }

    fn run(&mut self) {
        let mut comments = Comments {
            is_below_token: true,
            ..Comments::default()
        };
        while let Some(c) = self.rest().chars().next() {
            let start = self.at;
            if c.is_whitespace() {
                self.at += c.len_utf8();
                self.on_space(c, &mut comments);
            } else if self.rest().starts_with("//") || self.rest().starts_with("/*") {
                self.comment(&mut comments);
            } else {
                let kind = self.token(c);
                match kind {
                    Some(kind) => self.push(kind, start, &mut comments),
                    None => self.unexpected(c, start),
                }
            }
        }
        let end = self.at;
        self.push(Kind::End, end, &mut comments);
    }

    fn on_space(&mut self, c: char, comments: &mut Comments) {
        if c != '\n' {
            return;
        }
        comments.n_newlines += 1;
        comments.is_below_token = true;
        if comments.n_newlines > 1 {
            // A blank line: what stands above is about something else.
            comments.lines.clear();
        }
    }

    fn comment(&mut self, comments: &mut Comments) {
        let start = self.at;
        let body = self.rest().get(2..).unwrap_or_default();
        let text = if self.rest().starts_with("//") {
            let text = body.lines().next().unwrap_or_default();
            self.at += 2 + text.len();
            text
        } else if let Some((text, _)) = body.split_once("*/") {
            self.at += 2 + text.len() + 2;
            text
        } else {
            self.at += 2;
            let message = "expected `*/` at the end of the comment, found the end of the file";
            let diagnostic = Diagnostic::error(self.span(start), message);
            self.diagnostics
                .push(diagnostic.help("close the comment with `*/`"));
            self.at = self.text.len();
            body
        };
        let lines = clean_comment(text);
        comments.n_newlines = 0;
        match self.tokens.last_mut() {
            Some(token) if !comments.is_below_token => append_lines(&mut token.doc_beside, &lines),
            _ => comments.lines.extend(lines),
        }
    }

    /// Takes one token; `None`, and nothing taken, if there is none.
    fn token(&mut self, first: char) -> Option<Kind> {
        let (kind, len) = match first {
            '{' | '}' | '[' | ']' | ';' | ',' | '=' => (Kind::Mark(first), 1),
            'a'..='z' | 'A'..='Z' | '_' => (
                Kind::Word,
                self.rest()
                    .find(|c| !is_word(c))
                    .unwrap_or(self.rest().len()),
            ),
            '0'..='9' | '-' | '+' | '.' => (Kind::Number, number_len(self.rest())),
            _ => return None,
        };
        self.at += len;
        Some(kind)
    }

    fn push(&mut self, kind: Kind, start: usize, comments: &mut Comments) {
        let doc_above = std::mem::take(&mut comments.lines)
            .join("\n")
            .trim()
            .to_string();
        *comments = Comments::default();
        self.tokens.push(Token {
            kind,
            span: self.span(start),
            doc_above,
            doc_beside: String::new(),
        });
    }

    fn unexpected(&mut self, first: char, start: usize) {
        // One diagnostic for a run of them.
        let is_stray = |c: char| !c.is_whitespace() && !is_word(c) && !"{}[];,=/".contains(c);
        let len = self
            .rest()
            .find(|c| !is_stray(c))
            .unwrap_or(self.rest().len());
        self.at += len.max(first.len_utf8());
        let found: String = self
            .text
            .get(start..self.at)
            .unwrap_or_default()
            .chars()
            .take(20)
            .collect();
        let message = format!("expected a name, a number or one of `{{}}[];,=`, found {found:?}");
        let diagnostic = Diagnostic::error(self.span(start), message);
        self.diagnostics.push(match first {
            '(' | ')' => diagnostic.help(
                "there are no expressions; dimensions are in square brackets: `float position[2];`",
            ),
            '\'' | '"' => {
                diagnostic.help("constants are numbers; there are no characters or strings")
            }
            _ => diagnostic.help("names have letters, digits and underscores"),
        });
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '.'
}

/// Signs are part of a number at its start and after a decimal exponent.
fn number_len(text: &str) -> usize {
    let is_hex = text
        .trim_start_matches(['-', '+'])
        .to_ascii_lowercase()
        .starts_with("0x");
    let mut previous = '\0';
    for (i, c) in text.char_indices() {
        let is_sign =
            matches!(c, '-' | '+') && (i == 0 || (matches!(previous, 'e' | 'E') && !is_hex));
        if !is_sign && !is_word(c) {
            return i;
        }
        previous = c;
    }
    text.len()
}

/// The lines of a comment without slashes, stars and the space after them.
fn clean_comment(text: &str) -> Vec<String> {
    let lines = text.lines().map(|line| {
        let line = line.trim_end();
        let bare = line.trim_start();
        let bare = bare.trim_start_matches(['*', '/']);
        let bare = bare.strip_prefix('!').unwrap_or(bare);
        let bare = bare.strip_prefix('<').unwrap_or(bare);
        bare.strip_prefix(' ')
            .unwrap_or(bare)
            .trim_end()
            .trim_end_matches("**")
            .to_string()
    });
    let lines: Vec<String> = lines.collect();
    let is_text = |line: &String| !line.trim().is_empty();
    let start = lines.iter().position(is_text).unwrap_or(lines.len());
    let end = lines
        .iter()
        .rposition(is_text)
        .map_or(start, |last| last + 1);
    lines.get(start..end).unwrap_or_default().to_vec()
}

fn append_lines(doc: &mut String, lines: &[String]) {
    for line in lines {
        if !doc.is_empty() {
            doc.push('\n');
        }
        doc.push_str(line);
    }
}
