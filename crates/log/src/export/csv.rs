//! Tables as text: commas between, quotes around what needs them, lines that end as RFC 4180 has it.

use super::columns::{Column, Leaf};
use super::{OWN_COLUMNS, Sink};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bowline_format::LogEvent;
use bowline_wire::schema::{Primitive, Type, TypeSet};
use bowline_wire::{Items, Value};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

#[derive(Debug)]
struct Csv {
    file: File,
    held: String,
    cell: String,
}

pub(super) fn create(path: &Path, columns: &[Column]) -> io::Result<Box<dyn Sink>> {
    let mut csv = Csv {
        file: File::create(path)?,
        held: String::new(),
        cell: String::new(),
    };
    let names = columns.iter().map(|column| column.name.as_str());
    for (at, name) in OWN_COLUMNS.into_iter().chain(names).enumerate() {
        csv.cell.push_str(name);
        csv.end_cell(at);
    }
    csv.held.push_str("\r\n");
    Ok(Box::new(csv))
}

impl Csv {
    /// Adds what is in the cell to the row, in quotes if it needs them.
    fn end_cell(&mut self, at: usize) {
        if at > 0 {
            self.held.push(',');
        }
        if self.cell.contains(['"', ',', '\r', '\n']) {
            self.held.push('"');
            self.held.push_str(&self.cell.replace('"', "\"\""));
            self.held.push('"');
        } else {
            self.held.push_str(&self.cell);
        }
        self.cell.clear();
    }
}

impl Sink for Csv {
    fn row(
        &mut self,
        types: &TypeSet,
        columns: &[Column],
        event: &LogEvent<'_>,
        value: &Value<'_>,
    ) -> u64 {
        let mut n_not_text = 0;
        let _memory = write!(self.held, "{},{}", event.utime, event.number);
        for column in columns {
            let cell = &mut self.cell;
            if column.is_list {
                cell.push('[');
            }
            let mut n_values = 0;
            column.values(value, &mut |value| {
                if n_values > 0 {
                    cell.push(',');
                }
                n_values += 1;
                let is_bad = matches!(value, Value::Text(_)) && value.as_str().is_none();
                n_not_text += u64::from(is_bad);
                if column.is_list {
                    json(types, column.leaf, value, cell);
                } else {
                    text(types, column.leaf, value, cell);
                }
            });
            if column.is_list {
                cell.push(']');
            }
            self.end_cell(1);
        }
        self.held.push_str("\r\n");
        n_not_text
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.write_all(self.held.as_bytes())?;
        self.held.clear();
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.flush()
    }
}

/// A value that stands alone in its cell.
fn text(types: &TypeSet, leaf: Leaf, value: &Value<'_>, out: &mut String) {
    let _memory = match value {
        Value::Text(text) => {
            out.push_str(&String::from_utf8_lossy(text));
            Ok(())
        }
        Value::Float(value) => write!(out, "{value:?}"),
        Value::Double(value) => write!(out, "{value:?}"),
        Value::Boolean(value) => write!(out, "{value}"),
        Value::Array(array) if leaf == Leaf::Bytes => {
            if let Items::Numbers { bytes, .. } = array.items() {
                BASE64_STANDARD.encode_string(bytes, out);
            }
            Ok(())
        }
        Value::Int8(_)
        | Value::Int16(_)
        | Value::Int32(_)
        | Value::Int64(_)
        | Value::Byte(_)
        | Value::Enum(_) => write!(out, "{}", value.as_integer().unwrap_or(0)),
        Value::Struct(_) | Value::Array(_) => {
            json(types, leaf, value, out);
            Ok(())
        }
    };
}

/// A value among others, or one that is no single thing.
pub(super) fn json(types: &TypeSet, leaf: Leaf, value: &Value<'_>, out: &mut String) {
    let ty = match leaf {
        Leaf::Primitive(primitive) => Type::Primitive(primitive),
        Leaf::Bytes => Type::Primitive(Primitive::Byte),
        Leaf::Json(ty) => ty,
        Leaf::Enum => {
            let _memory = write!(out, "{}", value.as_integer().unwrap_or(0));
            return;
        }
    };
    // Memory does not fail, and keys are text.
    out.push_str(&serde_json::to_string(&types.json_of(ty, value)).unwrap_or_default());
}
