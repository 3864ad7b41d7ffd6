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

template <typename T>
Answer answer(const std::vector<char> &message)
{
    std::string bytes;
    if (message.empty()) {
        uint64_t hash = static_cast<uint64_t>(T::getHash());
        for (int shift = 56; shift >= 0; shift -= 8)
            bytes.push_back(static_cast<char>(hash >> shift));
        return {true, bytes};
    }
    T value;
    int used = value.decode(message.data(), 0, static_cast<int>(message.size()));
    if (used < 0)
        return {false, "decode failed"};
    if (static_cast<size_t>(used) != message.size())
        return {false, "decode did not use the whole message"};
    const T copy = value;
    bytes.resize(static_cast<size_t>(copy.getEncodedSize()));
    int written = copy.encode(&bytes[0], 0, static_cast<int>(bytes.size()));
    if (written < 0 || static_cast<size_t>(written) != bytes.size())
        return {false, "encode did not fill getEncodedSize"};
    return {true, bytes};
}
