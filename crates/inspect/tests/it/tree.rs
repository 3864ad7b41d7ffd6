//! Messages as lines that fold.

use crate::golden::{self, types_of};
use bowline_inspect::tree::{Fold, Folds, Row, Tree};
use bowline_wire::schema::{TypeId, TypeSet};
use bowline_wire::{FieldPath, Value};

fn rows(types: &TypeSet, id: TypeId, value: &Value<'_>, folds: &Folds) -> Vec<Row> {
    Tree::new(types, id, value, folds).rows(0..usize::MAX)
}

/// Opens everything, as far as `max_rows`.
fn open_all(types: &TypeSet, id: TypeId, value: &Value<'_>, max_rows: usize) -> Folds {
    let mut folds = Folds::default();
    loop {
        let rows = Tree::new(types, id, value, &folds).rows(0..max_rows);
        let Some(row) = rows.iter().find(|row| row.fold == Fold::Closed) else {
            return folds;
        };
        assert!(folds.open(row), "{row:?}");
    }
}

fn screen(rows: &[Row]) -> String {
    let line = |row: &Row| {
        let Row {
            depth,
            name,
            ty,
            value,
            unit,
            fold,
            ..
        } = row;
        let mark = match fold {
            Fold::Leaf => ' ',
            Fold::Open => '-',
            Fold::Closed => '+',
        };
        let indent = "  ".repeat(*depth);
        format!("{indent}{mark}{name} | {ty} | {value} | {unit}")
            .trim_end()
            .to_string()
            + "\n"
    };
    rows.iter().map(line).collect()
}

#[test]
fn print_all() {
    let types = golden::types();
    for golden in golden::messages() {
        let (id, value) = types.decode(&golden.bytes).unwrap();
        println!(
            "== {}\n{}",
            golden.name,
            screen(&rows(&types, id, &value, &Folds::default()))
        );
        let folds = open_all(&types, id, &value, 1000);
        println!("-- open\n{}", screen(&rows(&types, id, &value, &folds)));
    }
}
