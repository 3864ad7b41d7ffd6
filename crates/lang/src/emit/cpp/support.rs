//! The functions that a generated header starts with; the first header that is included brings them for all.

use super::super::c::support::{BUDGET, functions_for};

/// What the code of the walkers calls.
const CALLED: &str = "bowline_put8( bowline_put16( bowline_put32( bowline_put64( bowline_row_size( bowline_get8( \
    bowline_get16( bowline_get32( bowline_get64( bowline_fits( bowline_times(";

pub(super) fn block() -> String {
    let shared = functions_for(CALLED);
    let shared = shared.trim_end();
    format!(
        "#ifndef BOWLINE_CPP_SUPPORT
#define BOWLINE_CPP_SUPPORT
{BUDGET}

#if defined(__cpp_exceptions) || defined(__EXCEPTIONS) || defined(_CPPUNWIND)
#define BOWLINE_TRY try
#define BOWLINE_CATCH catch (...) {{ return -1; }}
#else
#define BOWLINE_TRY
#define BOWLINE_CATCH
#endif

#if __cplusplus >= 201103L
#define BOWLINE_CONSTEXPR constexpr
#else
#define BOWLINE_CONSTEXPR const
#endif

#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored \"-Wold-style-cast\"
#endif

{shared}

{TEMPLATES}
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif
#endif"
    )
}

const TEMPLATES: &str = "\
/* The first of n elements; NULL if there are none, or fewer than n. */
template <class Item>
inline const Item *bowline_data(const std::vector<Item> &row, int64_t n)
{
    return n > 0 && (uint64_t) n <= row.size() ? &row[0] : NULL;
}

template <class Item>
inline Item *bowline_data(std::vector<Item> &row, int64_t n)
{
    return n > 0 && (uint64_t) n <= row.size() ? &row[0] : NULL;
}

/* Whether there are n elements. */
template <class Item>
inline bool bowline_has(const std::vector<Item> &row, int64_t n)
{
    return n >= 0 && n <= INT32_MAX && (uint64_t) n <= row.size();
}

/* Writes all bytes of a string, with its length and a NUL, and returns their number, or -1. */
inline int bowline_put_string(uint8_t *out, int left, const std::string &text)
{
    if (left < 5 || text.size() > (size_t) (left - 5))
        return -1;
    uint32_t length = bowline_be32((uint32_t) text.size() + 1);
    memcpy(out, &length, 4);
    memcpy(out + 4, text.data(), text.size());
    out[4 + text.size()] = 0;
    return (int) text.size() + 5;
}

/* Reads a string and returns its size, or -1 if it is malformed. */
inline int bowline_get_string(const uint8_t *in, int left, std::string &text)
{
    uint32_t length;
    if (left < 5)
        return -1;
    memcpy(&length, in, 4);
    length = bowline_be32(length);
    if (length < 1 || length > (uint32_t) (left - 4) || in[3 + length] != 0)
        return -1;
    text.assign((const char *) in + 4, length - 1);
    return (int) length + 4;
}

/* Decodes within the budget of the message, or as best it can if the class is lcm-gen's and knows no budget. */
template <class Message, int (Message::*)(const void *, int, int, bowline_budget_t *)>
struct bowline_method
{
};

template <class Message>
inline int bowline_decode_as(Message &to, const void *buf, int offset, int maxlen, bowline_budget_t *budget,
                             bowline_method<Message, &Message::_decodeWithin> *)
{
    return to._decodeWithin(buf, offset, maxlen, budget);
}

template <class Message>
inline int bowline_decode_as(Message &to, const void *buf, int offset, int maxlen, bowline_budget_t *, ...)
{
    return to._decodeNoHash(buf, offset, maxlen);
}

/* The class is spelt out, for NULL says nothing about it. */
template <class Message>
inline int bowline_decode(Message &to, const void *buf, int offset, int maxlen, bowline_budget_t *budget)
{
    return bowline_decode_as<Message>(to, buf, offset, maxlen, budget, NULL);
}
";
