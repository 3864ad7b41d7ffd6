// Answers questions with generated C++. The types come in tables, which are written beside this file.
//
// Reads FOLDER/questions, decodes and encodes each message, and writes FOLDER/answers. An empty message asks for the
// fingerprint. The formats are in tests/src/cases.rs.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

struct Answer {
    bool is_ok;
    std::string bytes;
};

typedef Answer (*AnswerFn)(const std::vector<char> &message);

struct Row {
    const char *name;
    AnswerFn answer;
};

inline Answer fingerprint_bytes(int64_t hash)
{
    std::string bytes;
    for (int shift = 56; shift >= 0; shift -= 8)
        bytes.push_back(static_cast<char>(static_cast<uint64_t>(hash) >> shift));
    return {true, bytes};
}

template <typename T>
Answer fingerprint(const std::vector<char> &message)
{
    return message.empty() ? fingerprint_bytes(T::getHash()) : Answer{false, "only the fingerprint is known"};
}

template <typename T>
Answer answer(const std::vector<char> &message)
{
    if (message.empty())
        return fingerprint_bytes(T::getHash());
    T value;
    int used = value.decode(message.data(), 0, static_cast<int>(message.size()));
    if (used < 0)
        return {false, "decode failed"};
    if (static_cast<size_t>(used) != message.size())
        return {false, "decode did not use the whole message"};
    std::string bytes;
    bytes.resize(static_cast<size_t>(value.getEncodedSize()));
    int written = value.encode(&bytes[0], 0, static_cast<int>(bytes.size()));
    if (written < 0 || static_cast<size_t>(written) != bytes.size())
        return {false, "encode did not fill getEncodedSize"};
    return {true, bytes};
}
