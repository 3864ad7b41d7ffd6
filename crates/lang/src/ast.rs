//! What the parser understood, with places for diagnostics. Nothing is resolved yet.

use crate::source::Span;

/// A piece of text from the source.
#[derive(Clone, Debug)]
pub(crate) struct Word {
    pub(crate) text: String,
    pub(crate) span: Span,
}

/// One file.
#[derive(Clone, Debug, Default)]
pub(crate) struct File {
    pub(crate) items: Vec<Item>,
}

#[derive(Clone, Debug)]
pub(crate) enum Item {
    Package(Word),
    Struct(StructItem),
    Enum(EnumItem),
}

#[derive(Clone, Debug)]
pub(crate) struct StructItem {
    pub(crate) name: Word,
    pub(crate) doc: String,
    pub(crate) entries: Vec<Entry>,
    /// Whether every line of it was understood.
    pub(crate) is_whole: bool,
}

/// What stands in a struct, in order: a constant counts only from where it stands.
#[derive(Clone, Debug)]
pub(crate) enum Entry {
    Member(MemberItem),
    Constant(ConstantItem),
}

#[derive(Clone, Debug)]
pub(crate) struct MemberItem {
    pub(crate) ty: Word,
    pub(crate) name: Word,
    pub(crate) doc: String,
    pub(crate) dims: Vec<Word>,
}

#[derive(Clone, Debug)]
pub(crate) struct ConstantItem {
    pub(crate) ty: Word,
    pub(crate) name: Word,
    pub(crate) doc: String,
    pub(crate) value: Word,
}

#[derive(Clone, Debug)]
pub(crate) struct EnumItem {
    pub(crate) name: Word,
    pub(crate) doc: String,
    pub(crate) values: Vec<EnumValueItem>,
}

#[derive(Clone, Debug)]
pub(crate) struct EnumValueItem {
    pub(crate) name: Word,
    pub(crate) doc: String,
    pub(crate) value: Option<Word>,
}
