//! The C functions that a generated source file starts with: only those that it calls.
//!
//! They do what `lcm_coretypes.h` does without its gaps: lengths are 64 bits wide and never trusted.

/// The functions that `body` calls, and those that they call, in an order that compiles. Each has a guard: lcm-gen's
/// source files can be compiled as one, as `CMake`'s unity builds do, and so can ours.
pub(in super::super) fn functions_for(body: &str) -> String {
    let mut used: Vec<String> = Vec::new();
    // Each may call only what stands before it, so one pass from the end finds them all.
    for (name, text) in FUNCTIONS.iter().rev() {
        let call = format!("{name}(");
        if body.contains(&call) || used.iter().any(|text| text.contains(&call)) {
            let guard = name.to_ascii_uppercase();
            used.push(format!(
                "#ifndef {guard}\n#define {guard}\n{}\n#endif\n",
                text.trim_end()
            ));
        }
    }
    used.reverse();
    used.join("\n")
}

/// What a message may still use up while it is decoded; the same in every header, so only the first one counts.
pub(in super::super) const BUDGET: &str = "\
#ifndef BOWLINE_BUDGET
#define BOWLINE_BUDGET
/** How deep a decoder is, and how many more elements of no bytes it accepts. */
typedef struct {
    int depth;
    int free_elements;
} bowline_budget_t;
#endif";

const FUNCTIONS: &[(&str, &str)] = &[
    ("bowline_be16", BE16),
    ("bowline_be32", BE32),
    ("bowline_be64", BE64),
    ("bowline_swap16", SWAP16),
    ("bowline_swap32", SWAP32),
    ("bowline_swap64", SWAP64),
    ("bowline_is_row", IS_ROW),
    ("bowline_put8", PUT8),
    ("bowline_put16", PUT16),
    ("bowline_put32", PUT32),
    ("bowline_put64", PUT64),
    ("bowline_put_strings", PUT_STRINGS),
    ("bowline_row_size", ROW_SIZE),
    ("bowline_strings_size", STRINGS_SIZE),
    ("bowline_get8", GET8),
    ("bowline_get16", GET16),
    ("bowline_get32", GET32),
    ("bowline_get64", GET64),
    ("bowline_get_strings", GET_STRINGS),
    ("bowline_times", TIMES),
    ("bowline_fits", FITS),
    ("bowline_new", NEW),
    ("bowline_copy_row", COPY_ROW),
    ("bowline_copy_strings", COPY_STRINGS),
    ("bowline_free_strings", FREE_STRINGS),
];

macro_rules! big_endian {
    ($bits:literal, $bytes:literal, $join:literal) => {
        concat!(
            "/* Between the machine's byte order and the wire's. */\n",
            "static inline uint", $bits, "_t bowline_be", $bits, "(uint", $bits, "_t value)\n{\n",
            "#if defined(__GNUC__) && defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__\n",
            "    return __builtin_bswap", $bits, "(value);\n",
            "#else\n",
            "    uint8_t b[", $bytes, "];\n",
            "    memcpy(b, &value, sizeof(b));\n",
            "    return ", $join, ";\n",
            "#endif\n}\n",
        )
    };
}

const BE16: &str = big_endian!("16", "2", "(uint16_t) ((b[0] << 8) | b[1])");
const BE32: &str = big_endian!(
    "32",
    "4",
    "((uint32_t) b[0] << 24) | ((uint32_t) b[1] << 16) | ((uint32_t) b[2] << 8) | b[3]"
);
const BE64: &str = big_endian!(
    "64",
    "8",
    "((uint64_t) b[0] << 56) | ((uint64_t) b[1] << 48) | ((uint64_t) b[2] << 40) | ((uint64_t) b[3] << 32)\n        \
     | ((uint64_t) b[4] << 24) | ((uint64_t) b[5] << 16) | ((uint64_t) b[6] << 8) | b[7]"
);

macro_rules! swap_row {
    ($bits:literal, $bytes:literal) => {
        concat!(
            "/* Copies numbers to or from the wire's byte order. Neither side need be aligned. */\n",
            "static inline void bowline_swap", $bits, "(void *to, const void *from, int64_t n)\n{\n",
            "    int64_t i;\n",
            "    for (i = 0; i < n; i++) {\n",
            "        uint", $bits, "_t value;\n",
            "        memcpy(&value, (const uint8_t *) from + i * ", $bytes, ", ", $bytes, ");\n",
            "        value = bowline_be", $bits, "(value);\n",
            "        memcpy((uint8_t *) to + i * ", $bytes, ", &value, ", $bytes, ");\n",
            "    }\n}\n",
        )
    };
}

const SWAP16: &str = swap_row!("16", "2");
const SWAP32: &str = swap_row!("32", "4");
const SWAP64: &str = swap_row!("64", "8");

const IS_ROW: &str = "\
/* Whether there can be n elements at row. */
static inline int bowline_is_row(const void *row, int64_t n)
{
    return n == 0 || (n > 0 && n <= INT32_MAX && row != NULL);
}
";

const PUT8: &str = "\
/* Writes a row and returns its size, or -1 if it is not there or does not fit. */
static inline int bowline_put8(uint8_t *out, int left, const void *row, int64_t n)
{
    if (!bowline_is_row(row, n) || n > left)
        return -1;
    if (n > 0)
        memcpy(out, row, (size_t) n);
    return (int) n;
}
";

macro_rules! put_row {
    ($bits:literal, $bytes:literal) => {
        concat!(
            "/* Writes a row and returns its size, or -1 if it is not there or does not fit. */\n",
            "static inline int bowline_put",
            $bits,
            "(uint8_t *out, int left, const void *row, int64_t n)\n{\n",
            "    if (!bowline_is_row(row, n) || n > left / ",
            $bytes,
            ")\n",
            "        return -1;\n",
            "    bowline_swap",
            $bits,
            "(out, row, n);\n",
            "    return (int) n * ",
            $bytes,
            ";\n}\n",
        )
    };
}

const PUT16: &str = put_row!("16", "2");
const PUT32: &str = put_row!("32", "4");
const PUT64: &str = put_row!("64", "8");

const PUT_STRINGS: &str = "\
/* Writes strings, each with its length and its NUL, and returns their size, or -1. */
static inline int bowline_put_strings(uint8_t *out, int left, char *const *row, int64_t n)
{
    int pos = 0;
    int64_t i;
    if (!bowline_is_row(row, n))
        return -1;
    for (i = 0; i < n; i++) {
        size_t size;
        uint32_t length;
        if (row[i] == NULL || left - pos < 5)
            return -1;
        size = strlen(row[i]) + 1;
        if (size > (size_t) (left - pos - 4))
            return -1;
        length = bowline_be32((uint32_t) size);
        memcpy(out + pos, &length, 4);
        memcpy(out + pos + 4, row[i], size);
        pos += 4 + (int) size;
    }
    return pos;
}
";

const ROW_SIZE: &str = "\
/* The encoded size of a row, or -1 if it is not there. */
static inline int64_t bowline_row_size(const void *row, int64_t n, int element_size)
{
    return bowline_is_row(row, n) ? n * element_size : -1;
}
";

const STRINGS_SIZE: &str = "\
/* The encoded size of strings, or -1 if one is not there. */
static inline int64_t bowline_strings_size(char *const *row, int64_t n)
{
    int64_t size = 0;
    int64_t i;
    if (!bowline_is_row(row, n))
        return -1;
    for (i = 0; i < n; i++) {
        if (row[i] == NULL)
            return -1;
        size += 4 + (int64_t) strlen(row[i]) + 1;
    }
    return size;
}
";

const GET8: &str = "\
/* Reads a row and returns its size, or -1 if it is not all there. */
static inline int bowline_get8(const uint8_t *in, int left, void *row, int64_t n)
{
    if (n < 0 || n > left)
        return -1;
    if (n > 0)
        memcpy(row, in, (size_t) n);
    return (int) n;
}
";

macro_rules! get_row {
    ($bits:literal, $bytes:literal) => {
        concat!(
            "/* Reads a row and returns its size, or -1 if it is not all there. */\n",
            "static inline int bowline_get",
            $bits,
            "(const uint8_t *in, int left, void *row, int64_t n)\n{\n",
            "    if (n < 0 || n > left / ",
            $bytes,
            ")\n",
            "        return -1;\n",
            "    bowline_swap",
            $bits,
            "(row, in, n);\n",
            "    return (int) n * ",
            $bytes,
            ";\n}\n",
        )
    };
}

const GET16: &str = get_row!("16", "2");
const GET32: &str = get_row!("32", "4");
const GET64: &str = get_row!("64", "8");

const GET_STRINGS: &str = "\
/* Reads strings and returns their size, or -1 if one is malformed; those before it are then in the row. */
static inline int bowline_get_strings(const uint8_t *in, int left, char **row, int64_t n)
{
    int pos = 0;
    int64_t i;
    for (i = 0; i < n; i++) {
        uint32_t length;
        if (left - pos < 5)
            return -1;
        memcpy(&length, in + pos, 4);
        length = bowline_be32(length);
        pos += 4;
        if (length < 1 || length > (uint32_t) (left - pos) || in[pos + (int) length - 1] != 0)
            return -1;
        row[i] = (char *) malloc(length);
        if (row[i] == NULL)
            return -1;
        memcpy(row[i], in + pos, length);
        pos += (int) length;
    }
    return pos;
}
";

const TIMES: &str = "\
/* A product of lengths, at most INT32_MAX; 0 if one is not positive. */
static inline int64_t bowline_times(int64_t a, int64_t b)
{
    if (a <= 0 || b <= 0)
        return 0;
    return a > INT32_MAX / b ? INT32_MAX : a * b;
}
";

const FITS: &str = "\
/* Whether n elements of at least min_size bytes can be in what is left. Elements of no bytes cost a sender nothing, so
 * a message may have only so many. */
static inline int bowline_fits(int left, int64_t n, int64_t min_size, bowline_budget_t *budget)
{
    if (n < 0 || left < 0)
        return 0;
    if (min_size > 0)
        return n <= left / min_size;
    if (n > budget->free_elements)
        return 0;
    budget->free_elements -= (int) n;
    return 1;
}
";

const NEW: &str = "\
/* Memory for n elements, or NULL. */
static inline void *bowline_new(int64_t n, size_t element_size)
{
    if (element_size == 0)
        element_size = 1;
    if ((uint64_t) n > SIZE_MAX / element_size)
        return NULL;
    return malloc((size_t) n * element_size);
}
";

const COPY_ROW: &str = "\
/* A copy of n elements, or NULL. */
static inline void *bowline_copy_row(const void *row, int64_t n, size_t element_size)
{
    void *copy = bowline_new(n, element_size);
    if (copy != NULL)
        memcpy(copy, row, (size_t) n * element_size);
    return copy;
}
";

const COPY_STRINGS: &str = "\
/* Copies strings, missing ones included. Returns -1 if memory runs out; those before are then in the copy. */
static inline int bowline_copy_strings(char *const *row, char **copy, int64_t n)
{
    int64_t i;
    for (i = 0; i < n; i++) {
        if (row[i] == NULL)
            continue;
        copy[i] = (char *) bowline_copy_row(row[i], (int64_t) strlen(row[i]) + 1, 1);
        if (copy[i] == NULL)
            return -1;
    }
    return 0;
}
";

const FREE_STRINGS: &str = "\
static inline void bowline_free_strings(char **row, int64_t n)
{
    int64_t i;
    for (i = 0; i < n; i++) {
        free(row[i]);
        row[i] = NULL;
    }
}
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_comes_with_those_that_it_calls_and_no_others() {
        let text = functions_for("len = bowline_put_strings(out, left, row, 1);");
        let place = |name: &str| text.find(&format!(" {name}("));
        assert!(place("bowline_be32") < place("bowline_is_row"));
        assert!(place("bowline_is_row") < place("bowline_put_strings"));
        assert!(place("bowline_be32").is_some());
        assert_eq!(place("bowline_put16"), None);
    }

    #[test]
    fn a_function_calls_only_what_stands_before_it() {
        for (i, (name, text)) in FUNCTIONS.iter().enumerate() {
            for (later, _) in FUNCTIONS.iter().skip(i + 1) {
                assert!(!text.contains(&format!("{later}(")), "{name} calls {later}");
            }
        }
    }
}
