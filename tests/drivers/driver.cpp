// The part of the C++ driver that knows no types: see driver.hpp.
#include "driver.hpp"
#include <cstdio>
#include <cstdlib>
#include <map>

// The tables, one for each file of types; the last is empty.
extern const Row *const tables[];

static void die(const char *what)
{
    std::fprintf(stderr, "driver: %s\n", what);
    std::exit(2);
}

static bool read_block(FILE *in, std::vector<char> &block)
{
    unsigned char b[4];
    if (std::fread(b, 1, 4, in) != 4)
        return false;
    block.resize(static_cast<size_t>(b[0]) << 24 | static_cast<size_t>(b[1]) << 16 | static_cast<size_t>(b[2]) << 8 | b[3]);
    block.shrink_to_fit();
    if (!block.empty() && std::fread(block.data(), 1, block.size(), in) != block.size())
        die("questions end too early");
    return true;
}

static void write_answer(FILE *out, const Answer &answer)
{
    uint32_t size = static_cast<uint32_t>(answer.bytes.size());
    unsigned char head[5] = {static_cast<unsigned char>(answer.is_ok ? 0 : 1), static_cast<unsigned char>(size >> 24),
                             static_cast<unsigned char>(size >> 16), static_cast<unsigned char>(size >> 8),
                             static_cast<unsigned char>(size)};
    if (std::fwrite(head, 1, 5, out) != 5 || std::fwrite(answer.bytes.data(), 1, size, out) != size)
        die("cannot write answers");
}

int main(int argc, char **argv)
{
    if (argc != 2)
        die("expected FOLDER");
    std::map<std::string, AnswerFn> by_name;
    for (const Row *const *table = tables; *table; table++)
        for (const Row *row = *table; row->name; row++)
            by_name[row->name] = row->answer;
    std::string folder = argv[1];
    FILE *in = std::fopen((folder + "/questions").c_str(), "rb"), *out = std::fopen((folder + "/answers").c_str(), "wb");
    if (!in || !out)
        die("cannot open questions or answers");
    std::vector<char> name, message;
    while (read_block(in, name) && read_block(in, message)) {
        auto found = by_name.find(std::string(name.begin(), name.end()));
        if (found == by_name.end())
            die("a question about an unknown type");
        write_answer(out, found->second(message));
    }
    std::fclose(in);
    return std::fclose(out) ? 2 : 0;
}
