//! The methods that generated classes share. Each class carries those that it calls, so that a class works alone and
//! beside classes that lcm-gen made.

use crate::emit::code::Code;

/// A method or nested class by the text that uses it. One that others use comes after them.
struct Helper {
    used_as: &'static str,
    text: &'static str,
}

const HELPERS: &[Helper] = &[
    Helper {
        used_as: "_text(",
        text: TEXT,
    },
    Helper {
        used_as: "_readBytes(",
        text: READ_BYTES,
    },
    Helper {
        used_as: "_expectFingerprint(",
        text: EXPECT_FINGERPRINT,
    },
    Helper {
        used_as: "_truncated(",
        text: TRUNCATED,
    },
    Helper {
        used_as: "_unknown(",
        text: UNKNOWN,
    },
    Helper {
        used_as: "_free(",
        text: FREE,
    },
    Helper {
        used_as: "_length(",
        text: LENGTH,
    },
    Helper {
        used_as: "_grown(",
        text: GROWN,
    },
    Helper {
        used_as: "_writeText(",
        text: WRITE_TEXT,
    },
    Helper {
        used_as: "_present(",
        text: PRESENT,
    },
    Helper {
        used_as: "_elements(",
        text: ELEMENTS,
    },
    Helper {
        used_as: "_copied(",
        text: COPIED,
    },
    Helper {
        used_as: "new _Reader(",
        text: READER,
    },
];

const TEXT: &str = r#"
/** Reads UTF-8, or Latin-1 if the bytes are not UTF-8: lcm-gen's Java sends Latin-1. */
private static java.lang.String _text(java.io.DataInput _in, java.lang.String field) throws java.io.IOException
{
    int size = _in.readInt();
    if (size < 1)
        throw new java.io.IOException(field + ": expected a text of 1 byte or more with its NUL, found a length of " + size);
    byte[] text = _readBytes(_in, size - 1);
    byte nul = _in.readByte();
    if (nul != 0)
        throw new java.io.IOException(field + ": expected a NUL after the text, found byte " + (nul & 0xff));
    try {
        java.nio.ByteBuffer bytes = java.nio.ByteBuffer.wrap(text);
        return java.nio.charset.StandardCharsets.UTF_8.newDecoder().decode(bytes).toString();
    } catch (java.nio.charset.CharacterCodingException e) {
        return new java.lang.String(text, java.nio.charset.StandardCharsets.ISO_8859_1);
    }
}
"#;

const READ_BYTES: &str = r"
private static byte[] _readBytes(java.io.DataInput _in, int n) throws java.io.IOException
{
    byte[] bytes = new byte[java.lang.Math.min(n, 65536)];
    _in.readFully(bytes, 0, bytes.length);
    while (bytes.length < n) {
        int done = bytes.length;
        bytes = java.util.Arrays.copyOf(bytes, _grown(done, n));
        _in.readFully(bytes, done, bytes.length - done);
    }
    return bytes;
}
";

const EXPECT_FINGERPRINT: &str = r#"
private static void _expectFingerprint(java.io.DataInput _in, java.lang.String type) throws java.io.IOException
{
    long found;
    try {
        found = _in.readLong();
    } catch (java.io.EOFException e) {
        throw _truncated(type, e);
    }
    if (found != LCM_FINGERPRINT)
        throw new java.io.IOException(java.lang.String.format("%s: expected fingerprint %016x, found %016x", type, LCM_FINGERPRINT, found));
}
"#;

const TRUNCATED: &str = r#"
private static java.io.IOException _truncated(java.lang.String field, java.io.EOFException e)
{
    java.lang.String detail = e.getMessage() == null ? "" : " (" + e.getMessage() + ")";
    return new java.io.IOException(field + ": expected more bytes, found the end of the message" + detail, e);
}
"#;

const UNKNOWN: &str = r"
/** Stops at the second element if the first took no bytes, as there could be any number of those. */
private static void _unknown(java.io.DataInput _in, long start, int done, int n, java.lang.String field) throws java.io.IOException
{
    if (done == 1 && ((java.util.function.LongSupplier) _in).getAsLong() == start)
        _free(_in, n, field);
}
";

const FREE: &str = r#"
/** Elements without bytes cost a sender nothing, so a message may only have so many. */
private static int _free(java.io.DataInput _in, int n, java.lang.String field) throws java.io.IOException
{
    if (!((java.util.function.IntPredicate) _in).test(n))
        throw new java.io.IOException(field + ": expected at most 65536 elements without bytes in a message, found more");
    return n;
}
"#;

const LENGTH: &str = r#"
private static int _length(long n, java.lang.String field) throws java.io.IOException
{
    if (n < 0)
        throw new java.io.IOException(field + ": expected a length of 0 or more, found " + n);
    if (n > 0x7ffffff0L)
        throw new java.io.IOException(field + ": expected a length that an array can have, found " + n);
    return (int) n;
}
"#;

const GROWN: &str = r"
/** Arrays grow as elements come, so that a length alone takes no memory. */
private static int _grown(int done, int n)
{
    return (int) java.lang.Math.min(n, java.lang.Math.max(16L, 2L * done));
}
";

const WRITE_TEXT: &str = r"
private static void _writeText(java.io.DataOutput _out, java.lang.String text, java.lang.String field) throws java.io.IOException
{
    byte[] bytes = _present(text, field).getBytes(java.nio.charset.StandardCharsets.UTF_8);
    _out.writeInt(bytes.length + 1);
    _out.write(bytes, 0, bytes.length);
    _out.writeByte(0);
}
";

const PRESENT: &str = r#"
private static <T> T _present(T value, java.lang.String field) throws java.io.IOException
{
    if (value == null)
        throw new java.io.IOException(field + ": expected a value, found null");
    return value;
}
"#;

const ELEMENTS: &str = r#"
/** Checks that an array has at least as many elements as its length field. */
private static int _elements(java.lang.Object array, long n, java.lang.String field) throws java.io.IOException
{
    if (n < 0)
        throw new java.io.IOException(field + ": expected a length of 0 or more, found " + n);
    if (n == 0)
        return 0;
    if (array == null)
        throw new java.io.IOException(field + ": expected " + n + " elements, found null");
    int found = java.lang.reflect.Array.getLength(array);
    if (found < n)
        throw new java.io.IOException(field + ": expected " + n + " elements, found " + found);
    return (int) n;
}
"#;

const COPIED: &str = r"
private static int _copied(java.lang.Object array, long n)
{
    int found = array == null ? 0 : java.lang.reflect.Array.getLength(array);
    return (int) java.lang.Math.max(0, java.lang.Math.min(found, n));
}
";

/// What counts for a whole message travels with the input. Classes know it in each other by interfaces that everyone
/// has, since they share no class of their own: `IntUnaryOperator` changes the depth, `IntPredicate` allows elements
/// without bytes, `LongSupplier` returns how far reading has come.
const READER: &str = r"
/** A message on its way in, with what counts for all of it: its depth, its elements without bytes, the bytes read. */
private static final class _Reader
    implements java.io.DataInput, java.util.function.IntUnaryOperator, java.util.function.IntPredicate, java.util.function.LongSupplier
{
    private final java.io.DataInput input;
    private int depth = 0;
    private int free = 65536;
    private long offset = 0;

    _Reader(java.io.DataInput input) { this.input = input; }

    public int applyAsInt(int change) { return depth += change; }
    public boolean test(int n) { if (n > free) return false; free -= n; return true; }
    public long getAsLong() { return offset; }

    public void readFully(byte[] b) throws java.io.IOException { readFully(b, 0, b.length); }
    public void readFully(byte[] b, int at, int n) throws java.io.IOException { input.readFully(b, at, n); offset += n; }
    public int skipBytes(int n) throws java.io.IOException { int k = input.skipBytes(n); offset += k; return k; }
    public boolean readBoolean() throws java.io.IOException { offset += 1; return input.readBoolean(); }
    public byte readByte() throws java.io.IOException { offset += 1; return input.readByte(); }
    public int readUnsignedByte() throws java.io.IOException { offset += 1; return input.readUnsignedByte(); }
    public short readShort() throws java.io.IOException { offset += 2; return input.readShort(); }
    public int readUnsignedShort() throws java.io.IOException { offset += 2; return input.readUnsignedShort(); }
    public char readChar() throws java.io.IOException { offset += 2; return input.readChar(); }
    public int readInt() throws java.io.IOException { offset += 4; return input.readInt(); }
    public long readLong() throws java.io.IOException { offset += 8; return input.readLong(); }
    public float readFloat() throws java.io.IOException { offset += 4; return input.readFloat(); }
    public double readDouble() throws java.io.IOException { offset += 8; return input.readDouble(); }
    public java.lang.String readLine() throws java.io.IOException { return input.readLine(); }
    public java.lang.String readUTF() throws java.io.IOException { return input.readUTF(); }
}
";

/// Prints the helpers that `body` uses, and those that they use.
pub(super) fn print(code: &mut Code, body: &str) {
    let mut uses = body.to_string();
    for helper in HELPERS {
        if uses.contains(helper.used_as) {
            uses.push_str(helper.text);
            code.gap();
            code.line(helper.text.trim());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_helper_comes_before_those_that_it_uses() {
        for (place, helper) in HELPERS.iter().enumerate() {
            for earlier in HELPERS.iter().take(place) {
                assert!(
                    !helper.text.contains(earlier.used_as),
                    "{} uses {}",
                    helper.used_as,
                    earlier.used_as
                );
            }
        }
    }
}
