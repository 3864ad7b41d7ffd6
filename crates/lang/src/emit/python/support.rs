//! The functions that generated modules share. Each module carries those that it calls, so that a module works alone
//! and beside modules that lcm-gen made.

use crate::emit::code::Code;

/// A function by the name that calls it. One that others call comes after them.
struct Helper {
    name: &'static str,
    text: &'static str,
}

const HELPERS: &[Helper] = &[
    Helper {
        name: "_text",
        text: TEXT,
    },
    Helper {
        name: "_reader",
        text: READER,
    },
    Helper {
        name: "_unknown",
        text: UNKNOWN,
    },
    Helper {
        name: "_read",
        text: READ,
    },
    Helper {
        name: "_more",
        text: MORE,
    },
    Helper {
        name: "_count",
        text: COUNT,
    },
    Helper {
        name: "_put",
        text: PUT,
    },
    Helper {
        name: "_octets",
        text: OCTETS,
    },
    Helper {
        name: "_row",
        text: ROW,
    },
    Helper {
        name: "_nested",
        text: NESTED,
    },
];

const TEXT: &str = r#"
_TEXT_SIZE = _struct.Struct(">i")


def _text(buf, field):
    data = buf.read(4)
    if len(data) != 4:
        data = _more(buf, data, 4, field)
    (size,) = _TEXT_SIZE.unpack(data)
    if size < 1:
        raise ValueError(f"{field}: expected a text of 1 byte or more with its NUL, found a length of {size}")
    text = buf.read(size if size < 65536 else 65536)
    if len(text) != size:
        text = _more(buf, text, size, field)
    if text[-1]:
        raise ValueError(f"{field}: expected a NUL after the text, found byte {text[-1]}")
    return text[:-1].decode("utf-8", "replace")
"#;

const READER: &str = r#"
class _Reader:
    """A message on its way in, with what counts for all of it."""

    __slots__ = ("read", "tell", "lcm_depth", "lcm_free")

    def __init__(self, stream):
        self.read = stream.read
        # Not every stream knows where it is; one that does not looks as if it always moves.
        self.tell = stream.tell if isinstance(stream, _BytesIO) else _itertools.count().__next__
        self.lcm_depth = 0
        self.lcm_free = 65536


def _reader(buf):
    return buf if hasattr(buf, "lcm_free") else _Reader(buf)
"#;

const UNKNOWN: &str = r#"
def _unknown(buf, length, field):
    """Counts to `length`, but not far if the elements turn out to take no bytes."""
    start = buf.tell()
    for i in range(_count(length, field)):
        if i == 1 and buf.tell() == start:
            _count(length, field, buf)
        yield i
"#;

const READ: &str = r#"
def _read(buf, length, width, field):
    """Reads so many elements of so many bytes, never asking for much more than has come already."""
    size = length * width
    if size < 0:
        raise ValueError(f"{field}: expected a length of 0 or more, found {length}")
    data = buf.read(size if size < 65536 else 65536)
    return data if len(data) == size else _more(buf, data, size, field)
"#;

const MORE: &str = r#"
def _more(buf, data, size, field):
    while len(data) < size:
        more = buf.read(min(size - len(data), max(len(data), 65536)))
        if not more:
            raise ValueError(f"{field}: expected {size} bytes, found {len(data)}")
        data += more
    return data
"#;

const COUNT: &str = r#"
def _count(length, field, free_in=None):
    """Checks a length. Elements without bytes cost a sender nothing, so a message may only have so many."""
    if length < 0:
        raise ValueError(f"{field}: expected a length of 0 or more, found {length}")
    if free_in is not None:
        if length > free_in.lcm_free:
            raise ValueError(f"{field}: expected at most 65536 elements without bytes in a message, found more")
        free_in.lcm_free -= length
    return length
"#;

const PUT: &str = r#"
_PUT_SIZE = _struct.Struct(">i")


def _put(buf, text):
    data = text.encode("utf-8")
    buf.write(_PUT_SIZE.pack(len(data) + 1) + data + b"\0")
"#;

const OCTETS: &str = r#"
def _octets(data, length, field):
    if type(data) is bytes and len(data) == length:
        return data
    data = bytes(_row(data, length, field))
    if len(data) != length:
        raise ValueError(f"{field}: expected {length} bytes, found {len(data)}")
    return data
"#;

const ROW: &str = r#"
def _row(elements, length, field):
    """The first `length` elements: more do no harm."""
    if len(elements) == length:
        return elements
    if length < 0:
        raise ValueError(f"{field}: expected a length of 0 or more, found {length}")
    if len(elements) < length:
        raise ValueError(f"{field}: expected {length} elements, found {len(elements)}")
    return elements[:length]
"#;

const NESTED: &str = r#"
def _nested(value, cls, field):
    """Checks that a value of another class has the same fingerprint, as one of a module loaded twice has."""
    fingerprint = getattr(value, "_get_packed_fingerprint", None)
    if fingerprint is None or fingerprint() != cls._get_packed_fingerprint():
        raise ValueError(f"{field}: expected a {cls.__name__}, found a {type(value).__name__}")
    return value
"#;

/// Prints the helpers that `body` calls, and those that they call.
pub(super) fn print(code: &mut Code, body: &str) {
    let mut calls = body.to_string();
    for helper in HELPERS {
        if calls.contains(&format!("{}(", helper.name)) {
            calls.push_str(helper.text);
            code.line("");
            code.line(helper.text.trim_end());
        }
    }
}

/// The standard modules that a text uses.
pub(super) fn imports(body: &str) -> impl Iterator<Item = &'static str> {
    const IMPORTS: [(&str, &str); 4] = [
        ("_BytesIO", "from io import BytesIO as _BytesIO"),
        ("_itertools.", "import itertools as _itertools"),
        ("_struct.", "import struct as _struct"),
        ("_typing.", "import typing as _typing"),
    ];
    IMPORTS
        .into_iter()
        .filter(|(word, _)| body.contains(word))
        .map(|(_, line)| line)
}

/// The end of every `__init__.py`.
///
/// lcm-gen adds lines to the file that it finds. This is as good without reading it: types that another run put into
/// the folder are found when they are first named, and the file is right whichever run writes it last.
pub(super) const PACKAGE: &str = r#"
class _Package(_types.ModuleType):
    """A package that also finds the types which were generated into its folder at other times."""

    def __getattr__(self, name):
        module = f"{self.__name__}.{name}"
        missing = AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        if name.startswith("__"):
            raise missing
        try:
            found = _importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name != module:
                raise
            raise missing from None
        return vars(found).get(name, found)

    def __setattr__(self, name, value):
        # Python names a package's modules in it; here such a name means the type in the module.
        if isinstance(value, _types.ModuleType):
            value = vars(value).get(name, value)
        super().__setattr__(name, value)


_sys.modules[__name__].__class__ = _Package
"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_helper_comes_before_those_that_it_calls() {
        for (place, helper) in HELPERS.iter().enumerate() {
            for earlier in HELPERS.iter().take(place) {
                assert!(
                    !helper.text.contains(&format!("{}(", earlier.name)),
                    "{} calls {}",
                    helper.name,
                    earlier.name
                );
            }
        }
    }
}
