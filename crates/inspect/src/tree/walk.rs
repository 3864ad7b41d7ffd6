//! The way through a message, line by line: counts all, makes those that are asked for.

use super::summary::{Summary, number_of_dims};
use super::{Fold, Folds, PAGE_ELEMENTS, Row, one_line};
use crate::text;
use bowline_wire::Value;
use bowline_wire::schema::{Dim, Member, Number, Struct, Type, TypeId, TypeKind, TypeSet};
use bowline_wire::{Array, Items};
use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::Range;

/// Structs inside of more than this many others are closed at first: types may contain each other without end.
const MAX_OPEN_DEPTH: usize = 8;
/// Of a string, so many letters are shown: no screen is wider.
const MAX_LETTERS: usize = 512;

pub(super) struct Walk<'a> {
    types: &'a TypeSet,
    /// The message's own, which type names are shown without.
    package: &'a str,
    folds: &'a Folds,
    range: Range<usize>,
    path: String,
    n_seen: usize,
    goal: Goal<'a>,
}

enum Goal<'a> {
    Count,
    Rows(Vec<Row>),
    Find(&'a str, Option<usize>),
    LastAbove(usize, Option<usize>),
}

/// What a line is called.
#[derive(Clone, Copy)]
enum Step<'a> {
    Name(&'a str),
    Index(usize),
    Page(usize, usize),
}

/// What is known of a line besides its value.
#[derive(Clone, Copy)]
struct Field<'a> {
    step: Step<'a>,
    /// The member that it is, or is an element of, and the struct that has the member; `None` for a message itself.
    member: Option<(&'a Struct, &'a Member)>,
    ty: Type,
}

/// What a line shows.
enum Node<'a> {
    Scalar(Cow<'a, Value<'a>>),
    Struct(&'a Struct, &'a [Value<'a>]),
    Part(Part<'a>),
}

/// An array, a row of a grid, or a page of one of them.
#[derive(Clone)]
pub(super) struct Part<'a> {
    pub(super) array: &'a Array<'a>,
    /// The dimension that its elements are in.
    pub(super) level: usize,
    /// Where its first element would be among all, if it were whole.
    pub(super) start: usize,
    /// Which of its elements.
    pub(super) range: Range<usize>,
    is_page: bool,
}

impl<'a> Part<'a> {
    pub(super) fn whole(array: &'a Array<'a>) -> Self {
        Self {
            array,
            level: 0,
            start: 0,
            range: 0..array.len(),
            is_page: false,
        }
    }

    /// How many of the innermost elements one of its elements has.
    fn stride(&self) -> usize {
        (self.level + 1..self.array.n_dims())
            .map(|place| self.array.dim(place))
            .product()
    }

    /// Its innermost elements, as places among all.
    pub(super) fn flat(&self) -> Range<usize> {
        let stride = self.stride();
        self.start + self.range.start * stride..self.start + self.range.end * stride
    }

    fn row(&self, index: usize) -> Option<Self> {
        (self.level + 1 < self.array.n_dims()).then(|| Self {
            array: self.array,
            level: self.level + 1,
            start: self.start + index * self.stride(),
            range: 0..self.array.dim(self.level + 1),
            is_page: false,
        })
    }

    fn page(&self, range: Range<usize>) -> Self {
        Self {
            range,
            is_page: true,
            ..self.clone()
        }
    }

    fn len(&self) -> usize {
        self.range.len()
    }

    /// Whether its elements are lines of their own with nothing inside.
    fn is_of_scalars(&self) -> bool {
        self.level + 1 == self.array.n_dims()
            && !matches!(self.array.items(), Items::Structs { .. })
    }
}

/// What the caller wants.
impl<'a> Walk<'a> {
    pub(super) fn new(
        types: &'a TypeSet,
        package: &'a str,
        folds: &'a Folds,
        range: Range<usize>,
    ) -> Self {
        Self {
            types,
            package,
            folds,
            range,
            path: String::new(),
            n_seen: 0,
            goal: Goal::Count,
        }
    }

    pub(super) fn count(&mut self, id: TypeId, value: &'a Value<'a>) {
        self.message(id, value);
    }

    pub(super) fn n_seen(&self) -> usize {
        self.n_seen
    }

    pub(super) fn collect(&mut self, id: TypeId, value: &'a Value<'a>) -> Vec<Row> {
        self.goal = Goal::Rows(Vec::new());
        self.message(id, value);
        match std::mem::replace(&mut self.goal, Goal::Count) {
            Goal::Rows(rows) => rows,
            Goal::Count | Goal::Find(..) | Goal::LastAbove(..) => Vec::new(),
        }
    }

    pub(super) fn find(&mut self, id: TypeId, value: &'a Value<'a>, key: &'a str) -> Option<usize> {
        self.goal = Goal::Find(key, None);
        self.message(id, value);
        self.found()
    }

    pub(super) fn last_above(
        &mut self,
        id: TypeId,
        value: &'a Value<'a>,
        depth: usize,
    ) -> Option<usize> {
        self.goal = Goal::LastAbove(depth, None);
        self.message(id, value);
        self.found()
    }

    fn found(&self) -> Option<usize> {
        match self.goal {
            Goal::Find(_, found) | Goal::LastAbove(_, found) => found,
            Goal::Count | Goal::Rows(_) => None,
        }
    }

    fn is_done(&self) -> bool {
        self.n_seen >= self.range.end || matches!(self.goal, Goal::Find(_, Some(_)))
    }
}

/// The walk.
impl<'a> Walk<'a> {
    fn message(&mut self, id: TypeId, value: &'a Value<'a>) {
        if let (Some(body), Value::Struct(members)) = (self.types.as_struct(id), value) {
            return self.members(body, members, 0);
        }
        // An enum can be a message too.
        let field = Field {
            step: Step::Name(""),
            member: None,
            ty: Type::Named(id),
        };
        self.visit(field, &Node::Scalar(Cow::Borrowed(value)), 0);
    }

    fn members(&mut self, body: &'a Struct, values: &'a [Value<'a>], depth: usize) {
        for (member, value) in body.members.iter().zip(values) {
            if self.is_done() {
                return;
            }
            let field = Field {
                step: Step::Name(&member.name),
                member: Some((body, member)),
                ty: member.ty,
            };
            let node = match value {
                Value::Array(array) => Node::Part(Part::whole(array)),
                Value::Struct(members) => self.struct_node(member.ty, members),
                Value::Int8(_)
                | Value::Int16(_)
                | Value::Int32(_)
                | Value::Int64(_)
                | Value::Byte(_)
                | Value::Float(_)
                | Value::Double(_)
                | Value::Boolean(_)
                | Value::Text(_)
                | Value::Enum(_) => Node::Scalar(Cow::Borrowed(value)),
            };
            self.visit(field, &node, depth);
        }
    }

    fn struct_node(&self, ty: Type, members: &'a [Value<'a>]) -> Node<'a> {
        let body = match ty {
            Type::Named(id) => self.types.as_struct(id),
            Type::Primitive(_) => None,
        };
        match body {
            Some(body) => Node::Struct(body, members),
            None => Node::Scalar(Cow::Owned(Value::Struct(Box::default()))),
        }
    }

    fn visit(&mut self, field: Field<'a>, node: &Node<'a>, depth: usize) {
        let before = self.path.len();
        self.enter(field.step);
        let fold = self.fold(field.step, node, depth);
        self.line(field, node, depth, fold);
        if fold == Fold::Open {
            match node {
                Node::Scalar(_) => {}
                Node::Struct(body, members) => self.members(body, members, depth + 1),
                Node::Part(part) => self.elements(field, part, depth + 1),
            }
        }
        self.path.truncate(before);
    }

    fn elements(&mut self, field: Field<'a>, part: &Part<'a>, depth: usize) {
        let step = page_size(part.len());
        if step > 1 {
            let mut from = part.range.start;
            while from < part.range.end && !self.is_done() {
                let to = part.range.end.min(from.saturating_add(step));
                let page = Field {
                    step: Step::Page(from, to),
                    ..field
                };
                self.visit(page, &Node::Part(part.page(from..to)), depth);
                from = to;
            }
            return;
        }
        let mut index = part.range.start;
        if part.is_of_scalars() && matches!(self.goal, Goal::Rows(_) | Goal::Count) {
            // Lines that are not asked for, and have nothing inside.
            let n_before = self.range.start.saturating_sub(self.n_seen).min(part.len());
            self.n_seen += n_before;
            index += n_before;
        }
        while index < part.range.end && !self.is_done() {
            let field = Field {
                step: Step::Index(index),
                ..field
            };
            if let Some(node) = self.element(field.ty, part, index) {
                self.visit(field, &node, depth);
            }
            index += 1;
        }
    }

    fn element(&self, ty: Type, part: &Part<'a>, index: usize) -> Option<Node<'a>> {
        if let Some(row) = part.row(index) {
            return Some(Node::Part(row));
        }
        let items = part.array.items();
        match items.struct_members(part.start + index) {
            Some(members) => Some(self.struct_node(ty, members)),
            None => items
                .get(part.start + index)
                .map(|value| Node::Scalar(Cow::Owned(value))),
        }
    }

    fn enter(&mut self, step: Step<'a>) {
        match step {
            Step::Name(name) => {
                if !self.path.is_empty() {
                    self.path.push('.');
                }
                // Whatever a name holds, the path can be shown, and is the same for all who fold by it.
                self.path.push_str(&text::printable(name));
            }
            Step::Index(index) => {
                write!(self.path, "[{index}]").expect("a string takes everything");
            }
            Step::Page(..) => {}
        }
    }

    /// What distinguishes the line.
    fn key(&self, step: Step<'_>) -> String {
        match step {
            Step::Name(_) | Step::Index(_) => self.path.clone(),
            Step::Page(from, to) => format!("{}[{from}..{to}]", self.path),
        }
    }

    fn fold(&self, step: Step<'_>, node: &Node<'_>, depth: usize) -> Fold {
        let is_open_at_first = match node {
            Node::Scalar(_) => return Fold::Leaf,
            Node::Struct(body, _) if body.members.is_empty() => return Fold::Leaf,
            Node::Part(part) if part.len() == 0 => return Fold::Leaf,
            Node::Struct(..) => depth < MAX_OPEN_DEPTH,
            Node::Part(_) => false,
        };
        let is_changed = match step {
            Step::Name(_) | Step::Index(_) => self.folds.is_changed(&self.path),
            Step::Page(..) => self.folds.is_changed(&self.key(step)),
        };
        if is_open_at_first != is_changed {
            Fold::Open
        } else {
            Fold::Closed
        }
    }

    /// One line: counted, and made if it is asked for.
    fn line(&mut self, field: Field<'a>, node: &Node<'a>, depth: usize, fold: Fold) {
        let at = self.n_seen;
        self.n_seen += 1;
        if !self.range.contains(&at) {
            return;
        }
        match &self.goal {
            Goal::Count => {}
            Goal::Rows(_) => {
                let row = self.row(field, node, depth, fold);
                if let Goal::Rows(rows) = &mut self.goal {
                    rows.push(row);
                }
            }
            Goal::Find(key, _) => {
                if key.starts_with(&self.path) && self.key(field.step) == *key {
                    self.goal = Goal::Find(key, Some(at));
                }
            }
            Goal::LastAbove(limit, _) => {
                if depth < *limit {
                    self.goal = Goal::LastAbove(*limit, Some(at));
                }
            }
        }
    }
}

/// How many elements a page has; 1 if they need none.
fn page_size(n: usize) -> usize {
    let mut size = 1;
    while n > size * PAGE_ELEMENTS {
        size *= PAGE_ELEMENTS;
    }
    size
}

/// The contents of a line.
impl<'a> Walk<'a> {
    fn row(&self, field: Field<'a>, node: &Node<'a>, depth: usize, fold: Fold) -> Row {
        let member = field.member.map(|(_, member)| member);
        let is_named = matches!(field.step, Step::Name(_));
        let doc = member
            .filter(|_| is_named)
            .map(|member| one_line(&member.doc));
        let is_quantity = !matches!(node, Node::Struct(..));
        let unit = member.filter(|_| is_quantity).and_then(Member::unit);
        Row {
            depth,
            key: self.key(field.step),
            path: self.path.clone(),
            name: match field.step {
                Step::Name("") => "(value)".into(),
                Step::Name(name) => text::printable(name),
                Step::Index(index) => format!("[{index}]"),
                Step::Page(from, to) => format!("[{from}..{to}]"),
            },
            ty: text::printable(&self.type_text(field, node)),
            value: self.value_text(field, node, fold),
            unit: unit.unwrap_or_default(),
            doc: doc.unwrap_or_default(),
            fold,
            is_numeric: matches!(node, Node::Scalar(value) if value.as_f64().is_some()),
        }
    }

    fn type_text(&self, field: Field<'_>, node: &Node<'_>) -> String {
        let mut text = match field.ty {
            Type::Primitive(primitive) => primitive.to_string(),
            Type::Named(id) => {
                let def = self.types.def(id);
                if def.package == self.package {
                    def.name.clone()
                } else {
                    def.full_name()
                }
            }
        };
        let (Node::Part(part), Some((owner, member))) = (node, field.member) else {
            return text;
        };
        if part.is_page {
            text.push_str(&number_of_dims(part));
            return text;
        }
        for (place, dim) in member.dims.iter().enumerate().skip(part.level) {
            let size = part.array.dim(place);
            match dim {
                Dim::Variable { member } if place >= part.level => {
                    let name = owner.members.get(*member).map_or("", |it| &it.name);
                    text.push_str(&format!("[{name}={size}]"));
                }
                Dim::Variable { .. } | Dim::Fixed { .. } => text.push_str(&format!("[{size}]")),
            }
        }
        text
    }

    fn value_text(&self, field: Field<'_>, node: &Node<'_>, fold: Fold) -> String {
        match node {
            Node::Scalar(value) => self.scalar(field, value),
            Node::Struct(..) if fold == Fold::Open => String::new(),
            Node::Struct(body, members) => {
                let mut summary = Summary::new(self.types);
                summary.members(body, members);
                summary.finish()
            }
            Node::Part(part) => {
                let mut summary = Summary::new(self.types);
                if !part.is_page {
                    summary.push(&number_of_dims(part));
                }
                summary.part(field.ty, part);
                summary.finish()
            }
        }
    }

    fn scalar(&self, field: Field<'_>, value: &Value<'_>) -> String {
        match value {
            Value::Float(value) => text::steady(f64::from(*value), text::FLOAT_DIGITS),
            Value::Double(value) => text::steady(*value, text::DOUBLE_DIGITS),
            Value::Boolean(value) => value.to_string(),
            Value::Text(bytes) => text::quoted(bytes, MAX_LETTERS),
            Value::Byte(value) => format!("{value} 0x{value:02x}"),
            Value::Enum(value) => match enum_name(self.types, field.ty, *value) {
                Some(name) => format!("{name} {value}"),
                None => format!("{value} unnamed"),
            },
            Value::Int8(_) | Value::Int16(_) | Value::Int32(_) | Value::Int64(_) => {
                let value = value.as_integer().unwrap_or_default();
                match meaning(field, value) {
                    Some(meaning) => format!("{value} {meaning}"),
                    None => value.to_string(),
                }
            }
            Value::Struct(_) => "{}".into(),
            Value::Array(_) => String::new(),
        }
    }
}

/// The name of an enum's number.
pub(super) fn enum_name(types: &TypeSet, ty: Type, value: i32) -> Option<String> {
    let Type::Named(id) = ty else {
        return None;
    };
    let TypeKind::Enum(body) = &types.def(id).kind else {
        return None;
    };
    let named = body.values.iter().find(|named| named.value == value)?;
    Some(text::printable(&named.name))
}

/// What an integer stands for, where its name or comment defines it: a date, a constant of its struct, four letters.
fn meaning(field: Field<'_>, value: i64) -> Option<String> {
    let (owner, member) = field.member?;
    if let Some(time) = text::time_of_field(&member.name, value) {
        return Some(time);
    }
    if member.doc.contains("constant") {
        let mut named = owner
            .constants
            .iter()
            .filter(|it| it.value == Number::Integer(value) && Type::Primitive(it.ty) == member.ty);
        if let (Some(constant), None) = (named.next(), named.next()) {
            return Some(text::printable(&constant.name));
        }
    }
    let is_code = member.name.contains("format") || member.doc.contains("FourCC");
    is_code.then(|| text::four_letters(value)).flatten()
}
