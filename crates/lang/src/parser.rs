//! Tokens to an [`ast::File`](crate::ast::File).
//!
//! In: tokens. Out: everything that could be understood, and a diagnostic for each thing that could not. After an
//! error it goes on at the next `;`, `}` or declaration, so one typo does not hide the next.
//!
//! ```text
//! file     := { package | struct | enum | ";" }
//! package  := "package" NAME ";"
//! struct   := "struct" NAME "{" { member | constant | ";" } "}"
//! member   := TYPE name { "," name } ";"          name := NAME { "[" DIM "]" }
//! constant := "const" TYPE NAME "=" VALUE { "," NAME "=" VALUE } ";"
//! enum     := "enum" NAME "{" { NAME [ "=" VALUE ] [ "," | ";" ] } "}"
//! ```

use crate::ast::{
    ConstantItem, Entry, EnumItem, EnumValueItem, File, Item, MemberItem, StructItem, Word,
};
use crate::diagnostic::Diagnostic;
use crate::lexer::{Kind, Token, lex};
use crate::source::{Source, Span};

pub(crate) fn parse(source: &Source, place: usize) -> (File, Vec<Diagnostic>) {
    if let Some(at) = source.text.find('\0') {
        let span = Span {
            source: place,
            start: at,
            end: at + 1,
        };
        let message = "expected text, found a NUL byte: this is another kind of file";
        return (File::default(), vec![Diagnostic::error(span, message)]);
    }
    let (tokens, diagnostics) = lex(source, place);
    let mut parser = Parser {
        source,
        tokens,
        at: 0,
        is_clean: diagnostics.is_empty(),
        diagnostics,
    };
    let file = parser.file();
    (file, parser.diagnostics)
}

/// A diagnostic has been recorded; the caller goes on where it can.
struct Failed;

type Parsed<T> = Result<T, Failed>;

struct Parser<'s> {
    source: &'s Source,
    /// Never empty: the last is `End`.
    tokens: Vec<Token>,
    at: usize,
    /// Whether all of the text was tokens.
    is_clean: bool,
    diagnostics: Vec<Diagnostic>,
}

impl Parser<'_> {
    fn peek(&self) -> &Token {
        self.tokens
            .get(self.at)
            .or(self.tokens.last())
            .expect("the lexer ends with an end token")
    }

    fn previous(&self) -> &Token {
        self.tokens
            .get(self.at.saturating_sub(1))
            .unwrap_or_else(|| self.peek())
    }

    fn text(&self) -> &str {
        self.source.slice(self.peek().span)
    }

    fn advance(&mut self) {
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
    }

    fn is_mark(&self, mark: char) -> bool {
        self.peek().kind == Kind::Mark(mark)
    }

    fn is_keyword(&self, keyword: &str) -> bool {
        self.peek().kind == Kind::Word && self.text() == keyword
    }

    fn take_mark(&mut self, mark: char) -> bool {
        let is_there = self.is_mark(mark);
        if is_there {
            self.advance();
        }
        is_there
    }

    fn expect_mark(&mut self, mark: char, after: &str) -> Parsed<()> {
        if self.take_mark(mark) {
            return Ok(());
        }
        Err(self.unexpected(&format!("`{mark}` after {after}"), None))
    }

    fn expect_word(&mut self, kinds: &[Kind], what: &str) -> Parsed<Word> {
        if !kinds.contains(&self.peek().kind) {
            return Err(self.unexpected(what, None));
        }
        let word = Word {
            text: self.text().to_string(),
            span: self.peek().span,
        };
        self.advance();
        Ok(word)
    }

    fn unexpected(&mut self, expected: &str, help: Option<&str>) -> Failed {
        let token = self.peek();
        let found = match token.kind {
            Kind::End => "the end of the file".to_string(),
            Kind::Word | Kind::Number | Kind::Mark(_) => format!("`{}`", self.text()),
        };
        let diagnostic =
            Diagnostic::error(token.span, format!("expected {expected}, found {found}"));
        self.diagnostics.push(match help {
            Some(help) => diagnostic.help(help),
            None => diagnostic,
        });
        Failed
    }

    fn file(&mut self) -> File {
        let mut file = File::default();
        while self.peek().kind != Kind::End {
            let start = self.at;
            match self.item() {
                Ok(item) => file.items.extend(item),
                Err(Failed) => self.skip_to_item(start),
            }
        }
        file
    }

    /// One declaration; `None` for a semicolon on its own, which follows `}` in other languages.
    fn item(&mut self) -> Parsed<Option<Item>> {
        if self.take_mark(';') {
            return Ok(None);
        }
        let doc = self.peek().doc_above.clone();
        if self.is_keyword("package") {
            self.advance();
            let name = self.expect_word(&[Kind::Word], "the package's name")?;
            self.expect_mark(';', "the package's name")?;
            return Ok(Some(Item::Package(name)));
        }
        if self.is_keyword("struct") {
            self.advance();
            return self.struct_item(doc).map(Item::Struct).map(Some);
        }
        if self.is_keyword("enum") {
            self.advance();
            return self.enum_item(doc).map(Item::Enum).map(Some);
        }
        Err(self.unexpected("`package`, `struct` or `enum`", None))
    }

    fn struct_item(&mut self, doc: String) -> Parsed<StructItem> {
        let name = self.expect_word(&[Kind::Word], "the struct's name")?;
        self.expect_mark('{', "the struct's name")?;
        let mut entries = Vec::new();
        let n_diagnostics = self.diagnostics.len();
        while !self.is_mark('}') {
            if self.peek().kind == Kind::End {
                let help = format!("close `struct {} {{` with `}}`", name.text);
                return Err(self.unexpected("`}`", Some(&help)));
            }
            let start = self.at;
            if self.entry(&mut entries).is_err() {
                self.skip_to_entry(start);
            }
        }
        self.advance();
        Ok(StructItem {
            name,
            doc,
            entries,
            is_whole: self.is_clean && self.diagnostics.len() == n_diagnostics,
        })
    }

    fn entry(&mut self, entries: &mut Vec<Entry>) -> Parsed<()> {
        if self.take_mark(';') {
            return Ok(());
        }
        let doc = self.peek().doc_above.clone();
        let is_declaration = self.is_keyword("struct") || self.is_keyword("enum");
        if is_declaration
            && self
                .tokens
                .get(self.at + 2)
                .is_some_and(|token| token.kind == Kind::Mark('{'))
        {
            let help = "declare it on its own, before this struct, and use its name here";
            return Err(self.unexpected("a member", Some(help)));
        }
        let first = entries.len();
        if self.is_keyword("const") {
            self.advance();
            self.constants(&doc, entries)?;
        } else {
            self.members(&doc, entries)?;
        }
        let beside = self.previous().doc_beside.clone();
        for entry in entries.iter_mut().skip(first) {
            let doc = match entry {
                Entry::Member(member) => &mut member.doc,
                Entry::Constant(constant) => &mut constant.doc,
            };
            join_docs(doc, &beside);
        }
        Ok(())
    }

    fn members(&mut self, doc: &str, entries: &mut Vec<Entry>) -> Parsed<()> {
        let ty = self.expect_word(&[Kind::Word], "a member's type")?;
        loop {
            let own_doc = self.own_doc(doc);
            let name = self.expect_word(&[Kind::Word], "a member's name")?;
            let mut dims = Vec::new();
            while self.take_mark('[') {
                let what = "the number of elements, or the name of a constant or earlier member,";
                dims.push(self.expect_word(&[Kind::Word, Kind::Number], what)?);
                self.expect_mark(']', "the number of elements")?;
            }
            let mut member = MemberItem {
                ty: ty.clone(),
                name,
                doc: own_doc,
                dims,
            };
            let has_more = self.take_mark(',');
            if has_more {
                join_docs(&mut member.doc, &self.previous().doc_beside.clone());
            }
            entries.push(Entry::Member(member));
            if !has_more {
                return self.end_of_entry("the member");
            }
        }
    }

    fn constants(&mut self, doc: &str, entries: &mut Vec<Entry>) -> Parsed<()> {
        let ty = self.expect_word(&[Kind::Word], "the constant's type")?;
        loop {
            let own_doc = self.own_doc(doc);
            let name = self.expect_word(&[Kind::Word], "the constant's name")?;
            self.expect_mark('=', "the constant's name")?;
            let value = self.expect_word(&[Kind::Word, Kind::Number], "the constant's value")?;
            let mut constant = ConstantItem {
                ty: ty.clone(),
                name,
                doc: own_doc,
                value,
            };
            let has_more = self.take_mark(',');
            if has_more {
                join_docs(&mut constant.doc, &self.previous().doc_beside.clone());
            }
            entries.push(Entry::Constant(constant));
            if !has_more {
                return self.end_of_entry("the constant");
            }
        }
    }

    /// In a list of several names, a comment above one of them is that one's; one above the list belongs to all.
    fn own_doc(&self, doc: &str) -> String {
        let mut own = doc.to_string();
        join_docs(&mut own, &self.peek().doc_above);
        own
    }

    fn end_of_entry(&mut self, what: &str) -> Parsed<()> {
        if self.take_mark(';') {
            return Ok(());
        }
        // The missing semicolon is at the end of what came before, not at what comes after.
        let mut span = self.previous().span;
        span.start = span.end.saturating_sub(1);
        let message = format!("expected `;` after {what}, found {}", self.describe_next());
        self.diagnostics
            .push(Diagnostic::error(span, message).help("end each line of a struct with `;`"));
        if self.is_mark('}') || self.peek().kind == Kind::Word {
            // As if it were there: the rest is probably fine.
            return Ok(());
        }
        Err(Failed)
    }

    fn describe_next(&self) -> String {
        match self.peek().kind {
            Kind::End => "the end of the file".to_string(),
            Kind::Word | Kind::Number | Kind::Mark(_) => format!("`{}`", self.text()),
        }
    }

    fn enum_item(&mut self, doc: String) -> Parsed<EnumItem> {
        let name = self.expect_word(&[Kind::Word], "the enum's name")?;
        self.expect_mark('{', "the enum's name")?;
        let mut values = Vec::new();
        while !self.take_mark('}') {
            let mut doc = self.peek().doc_above.clone();
            let name = self.expect_word(&[Kind::Word], "a value's name or `}`")?;
            let value = if self.take_mark('=') {
                Some(self.expect_word(&[Kind::Word, Kind::Number], "the value")?)
            } else {
                None
            };
            join_docs(&mut doc, &self.previous().doc_beside.clone());
            if self.take_mark(',') || self.take_mark(';') {
                join_docs(&mut doc, &self.previous().doc_beside.clone());
            }
            values.push(EnumValueItem { name, doc, value });
        }
        Ok(EnumItem { name, doc, values })
    }

    /// Goes on after the next `;`, or at the `}` that ends the struct.
    fn skip_to_entry(&mut self, start: usize) {
        let mut n_open = 0_usize;
        loop {
            match self.peek().kind {
                Kind::End => return,
                Kind::Mark('{') => n_open += 1,
                Kind::Mark('}') if n_open == 0 => return,
                Kind::Mark('}') => n_open -= 1,
                Kind::Mark(';') if n_open == 0 && self.at > start => return self.advance(),
                Kind::Word | Kind::Number | Kind::Mark(_) => {}
            }
            self.advance();
        }
    }

    /// Goes on at the next declaration.
    fn skip_to_item(&mut self, start: usize) {
        loop {
            let is_item = ["struct", "enum", "package"]
                .iter()
                .any(|keyword| self.is_keyword(keyword));
            if self.peek().kind == Kind::End || (is_item && self.at > start) {
                return;
            }
            self.advance();
        }
    }
}

fn join_docs(doc: &mut String, more: &str) {
    if more.is_empty() {
        return;
    }
    if !doc.is_empty() {
        doc.push('\n');
    }
    doc.push_str(more);
}
