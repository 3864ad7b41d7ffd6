//! Tables as Parquet: typed columns, compressed, with the comments of the type as metadata.

use super::columns::{Column, Leaf};
use super::csv::json;
use super::{OWN_COLUMNS, ROOT, Sink};
use bowline_format::LogEvent;
use bowline_wire::schema::{Primitive, TypeSet};
use bowline_wire::{Items, Value};
use parquet::basic::{
    Compression, LogicalType, Repetition, TimeUnit, Type as PhysicalType, ZstdLevel,
};
use parquet::column::writer::{ColumnWriter, ColumnWriterImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};
use std::fmt;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

struct Parquet {
    writer: SerializedFileWriter<File>,
    held: Vec<Held>,
    n_rows: usize,
}

/// The rows of a column that are not written yet.
#[derive(Debug)]
struct Held {
    values: Values,
    /// For lists: whether there is a value, and whether it is in the row of the one before.
    levels: Option<(Vec<i16>, Vec<i16>)>,
}

#[derive(Debug)]
enum Values {
    Bools(Vec<bool>),
    Ints(Vec<i32>),
    Longs(Vec<i64>),
    Floats(Vec<f32>),
    Doubles(Vec<f64>),
    Bytes(Vec<ByteArray>),
}

pub(super) fn create(
    path: &Path,
    channel: &str,
    types: &TypeSet,
    columns: &[Column],
) -> io::Result<Box<dyn Sink>> {
    let schema = schema(types, columns).map_err(failed)?;
    let level = ZstdLevel::try_new(1).map_err(failed)?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(level))
        .set_key_value_metadata(Some(metadata(channel, types, columns)))
        .build();
    let file = File::create(path)?;
    let writer = SerializedFileWriter::new(file, schema, Arc::new(properties)).map_err(failed)?;
    let own = OWN_COLUMNS.map(|_| Held {
        values: Values::Longs(Vec::new()),
        levels: None,
    });
    let held = own.into_iter().chain(columns.iter().map(Held::of));
    Ok(Box::new(Parquet {
        writer,
        held: held.collect(),
        n_rows: 0,
    }))
}

/// The comments of the type and its fields.
fn metadata(channel: &str, types: &TypeSet, columns: &[Column]) -> Vec<KeyValue> {
    let entry = |key: String, value: String| KeyValue::new(key, value);
    let def = types.def(ROOT);
    let fingerprint = types.fingerprint(ROOT).map(|print| print.to_string());
    let mut all = vec![
        entry("bowline.channel".into(), channel.into()),
        entry("bowline.type".into(), def.full_name()),
        entry(
            "bowline.fingerprint".into(),
            fingerprint.unwrap_or_default(),
        ),
        entry("bowline.doc".into(), def.doc.clone()),
    ];
    let described = columns.iter().filter(|column| !column.doc.is_empty());
    all.extend(
        described.map(|column| entry(format!("bowline.doc.{}", column.name), column.doc.clone())),
    );
    all
}

fn schema(types: &TypeSet, columns: &[Column]) -> Result<TypePtr, ParquetError> {
    let mut fields = Vec::new();
    for (at, name) in OWN_COLUMNS.into_iter().enumerate() {
        let time = LogicalType::timestamp(true, TimeUnit::MICROS);
        let builder = Type::primitive_type_builder(name, PhysicalType::INT64)
            .with_repetition(Repetition::REQUIRED)
            .with_logical_type((at == 0).then_some(time));
        fields.push(Arc::new(builder.build()?));
    }
    for column in columns {
        fields.push(field(column)?);
    }
    let name = types.def(ROOT).name.clone();
    let root = Type::group_type_builder(&name)
        .with_fields(fields)
        .build()?;
    Ok(Arc::new(root))
}

fn field(column: &Column) -> Result<TypePtr, ParquetError> {
    let (physical, logical) = physical(column.leaf);
    let name = if column.is_list {
        "element"
    } else {
        &column.name
    };
    let value = Type::primitive_type_builder(name, physical)
        .with_repetition(Repetition::REQUIRED)
        .with_logical_type(logical)
        .build()?;
    if !column.is_list {
        return Ok(Arc::new(value));
    }
    let repeated = Type::group_type_builder("list")
        .with_repetition(Repetition::REPEATED)
        .with_fields(vec![Arc::new(value)])
        .build()?;
    let list = Type::group_type_builder(&column.name)
        .with_repetition(Repetition::REQUIRED)
        .with_logical_type(Some(LogicalType::List))
        .with_fields(vec![Arc::new(repeated)])
        .build()?;
    Ok(Arc::new(list))
}

fn physical(leaf: Leaf) -> (PhysicalType, Option<LogicalType>) {
    let primitive = match leaf {
        Leaf::Primitive(primitive) => primitive,
        Leaf::Enum => return (PhysicalType::INT32, None),
        Leaf::Bytes => return (PhysicalType::BYTE_ARRAY, None),
        Leaf::Json(_) => return (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
    };
    match primitive {
        Primitive::Int8 => (PhysicalType::INT32, Some(LogicalType::integer(8, true))),
        Primitive::Int16 => (PhysicalType::INT32, Some(LogicalType::integer(16, true))),
        Primitive::Int32 => (PhysicalType::INT32, None),
        Primitive::Int64 => (PhysicalType::INT64, None),
        Primitive::Byte => (PhysicalType::INT32, Some(LogicalType::integer(8, false))),
        Primitive::Float => (PhysicalType::FLOAT, None),
        Primitive::Double => (PhysicalType::DOUBLE, None),
        Primitive::Boolean => (PhysicalType::BOOLEAN, None),
        Primitive::String => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
    }
}

impl Held {
    fn of(column: &Column) -> Self {
        let values = match physical(column.leaf).0 {
            PhysicalType::BOOLEAN => Values::Bools(Vec::new()),
            PhysicalType::INT32 => Values::Ints(Vec::new()),
            PhysicalType::INT64 => Values::Longs(Vec::new()),
            PhysicalType::FLOAT => Values::Floats(Vec::new()),
            PhysicalType::DOUBLE => Values::Doubles(Vec::new()),
            PhysicalType::BYTE_ARRAY | PhysicalType::INT96 | PhysicalType::FIXED_LEN_BYTE_ARRAY => {
                Values::Bytes(Vec::new())
            }
        };
        Self {
            values,
            levels: column.is_list.then(Default::default),
        }
    }

    fn push_row(&mut self, types: &TypeSet, column: &Column, message: &Value<'_>) -> u64 {
        let (mut n_values, mut n_not_text) = (0, 0);
        let Self { values, levels } = self;
        column.values(message, &mut |value| {
            n_not_text += values.push(types, column.leaf, value);
            if let Some((definitions, repetitions)) = levels {
                definitions.push(1);
                repetitions.push(i16::from(n_values > 0));
            }
            n_values += 1;
        });
        if let (Some((definitions, repetitions)), 0) = (levels, n_values) {
            definitions.push(0);
            repetitions.push(0);
        }
        n_not_text
    }
}

impl Values {
    /// Adds a value; 1 if it is a string that is no UTF-8.
    fn push(&mut self, types: &TypeSet, leaf: Leaf, value: &Value<'_>) -> u64 {
        match self {
            Self::Bools(values) => values.push(*value == Value::Boolean(true)),
            Self::Ints(values) => {
                let value = value.as_integer().unwrap_or(0);
                values.push(i32::try_from(value).unwrap_or(0));
            }
            Self::Longs(values) => values.push(value.as_integer().unwrap_or(0)),
            Self::Floats(values) => values.push(if let Value::Float(value) = value {
                *value
            } else {
                f32::NAN
            }),
            Self::Doubles(values) => values.push(value.as_f64().unwrap_or(f64::NAN)),
            Self::Bytes(values) => return push_bytes(values, types, leaf, value),
        }
        0
    }
}

fn push_bytes(values: &mut Vec<ByteArray>, types: &TypeSet, leaf: Leaf, value: &Value<'_>) -> u64 {
    match (leaf, value) {
        (Leaf::Primitive(_), Value::Text(text)) => {
            let read = String::from_utf8_lossy(text);
            values.push(ByteArray::from(read.as_bytes().to_vec()));
            return u64::from(read.as_bytes() != &**text);
        }
        (Leaf::Bytes, Value::Array(array)) => {
            let bytes = match array.items() {
                Items::Numbers { bytes, .. } => bytes.to_vec(),
                Items::Values(_) | Items::Structs { .. } => Vec::new(),
            };
            values.push(ByteArray::from(bytes));
        }
        (leaf, value) => {
            let mut text = String::new();
            json(types, leaf, value, &mut text);
            values.push(ByteArray::from(text.into_bytes()));
        }
    }
    0
}

impl Sink for Parquet {
    fn row(
        &mut self,
        types: &TypeSet,
        columns: &[Column],
        event: &LogEvent<'_>,
        value: &Value<'_>,
    ) -> u64 {
        self.n_rows += 1;
        let (own, rest) = self.held.split_at_mut(OWN_COLUMNS.len());
        for (held, number) in own.iter_mut().zip([event.utime, event.number]) {
            if let Values::Longs(values) = &mut held.values {
                values.push(number);
            }
        }
        let held = rest.iter_mut().zip(columns);
        held.map(|(held, column)| held.push_row(types, column, value))
            .sum()
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.n_rows == 0 {
            return Ok(());
        }
        self.n_rows = 0;
        write_group(&mut self.writer, &mut self.held).map_err(failed)
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.flush()?;
        self.writer.close().map(drop).map_err(failed)
    }
}

fn write_group(
    writer: &mut SerializedFileWriter<File>,
    held: &mut [Held],
) -> Result<(), ParquetError> {
    let mut group = writer.next_row_group()?;
    for held in held {
        let Some(mut column) = group.next_column()? else {
            break;
        };
        let levels = &mut held.levels;
        match (column.untyped(), &mut held.values) {
            (ColumnWriter::BoolColumnWriter(to), Values::Bools(values)) => put(to, values, levels),
            (ColumnWriter::Int32ColumnWriter(to), Values::Ints(values)) => put(to, values, levels),
            (ColumnWriter::Int64ColumnWriter(to), Values::Longs(values)) => put(to, values, levels),
            (ColumnWriter::FloatColumnWriter(to), Values::Floats(values)) => {
                put(to, values, levels)
            }
            (ColumnWriter::DoubleColumnWriter(to), Values::Doubles(values)) => {
                put(to, values, levels)
            }
            (ColumnWriter::ByteArrayColumnWriter(to), Values::Bytes(values)) => {
                put(to, values, levels)
            }
            (_, _) => Ok(()),
        }?;
        column.close()?;
    }
    group.close().map(drop)
}

fn put<T: DataType>(
    to: &mut ColumnWriterImpl<'_, T>,
    values: &mut Vec<T::T>,
    levels: &mut Option<(Vec<i16>, Vec<i16>)>,
) -> Result<(), ParquetError> {
    let (definitions, repetitions) = match levels {
        Some((definitions, repetitions)) => (Some(definitions), Some(repetitions)),
        None => (None, None),
    };
    to.write_batch(
        values,
        definitions.as_deref().map(|v| &**v),
        repetitions.as_deref().map(|v| &**v),
    )?;
    // Given back: many tables take turns at holding rows.
    *values = Vec::new();
    if let Some(levels) = levels {
        *levels = Default::default();
    }
    Ok(())
}

impl fmt::Debug for Parquet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Parquet({} rows held)", self.n_rows)
    }
}

fn failed(error: ParquetError) -> io::Error {
    if let ParquetError::External(error) = error {
        // The error of the system, if it was the system.
        return error
            .downcast::<io::Error>()
            .map_or_else(io::Error::other, |error| *error);
    }
    io::Error::other(error)
}
