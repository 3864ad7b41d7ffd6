/* Answers questions with generated C: driver DECODER.so ENCODER.so FOLDER.
 *
 * Reads FOLDER/questions, decodes each message with one library, copies the value, encodes the copy with the other,
 * and writes FOLDER/answers. An empty message asks for the fingerprint. The formats are in tests/src/cases.rs.
 * Nothing here knows the types: functions are found by name, sizes in the objects size_of_NAME.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void die(const char *what)
{
    fprintf(stderr, "driver: %s\n", what);
    exit(2);
}

static int read_u32(FILE *in, uint32_t *value)
{
    uint8_t b[4];
    if (fread(b, 1, 4, in) != 4)
        return 0;
    *value = (uint32_t) b[0] << 24 | (uint32_t) b[1] << 16 | (uint32_t) b[2] << 8 | b[3];
    return 1;
}

/* A block of exactly the right size, so that a memory checker sees every read beyond it. */
static char *read_block(FILE *in, uint32_t *size)
{
    if (!read_u32(in, size))
        return NULL;
    char *block = malloc(*size ? *size : 1);
    if (!block || fread(block, 1, *size, in) != *size)
        die("questions end too early");
    return block;
}

static void write_answer(FILE *out, int status, const void *bytes, uint32_t size)
{
    uint8_t head[5] = {(uint8_t) status, (uint8_t) (size >> 24), (uint8_t) (size >> 16), (uint8_t) (size >> 8),
                       (uint8_t) size};
    if (fwrite(head, 1, 5, out) != 5 || fwrite(bytes, 1, size, out) != size)
        die("cannot write answers");
}

static void refuse(FILE *out, const char *why)
{
    write_answer(out, 1, why, (uint32_t) strlen(why));
}

static void *find(void *library, const char *prefix, const char *type, const char *suffix)
{
    char name[512];
    snprintf(name, sizeof name, "%s%s%s", prefix, type, suffix);
    void *symbol = dlsym(library, name);
    if (!symbol)
        die(name);
    return symbol;
}

typedef int decode_fn(const void *, int, int, void *);
typedef int cleanup_fn(void *);
typedef void *copy_fn(const void *);
typedef void destroy_fn(void *);
typedef int size_fn(const void *);
typedef int encode_fn(void *, int, int, const void *);
typedef int64_t hash_fn(void);

static void fingerprint(FILE *out, void *library, const char *type)
{
    uint64_t hash = (uint64_t) ((hash_fn *) find(library, "__", type, "_get_hash"))();
    uint8_t bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t) (hash >> (56 - 8 * i));
    write_answer(out, 0, bytes, 8);
}

static void encode(FILE *out, void *library, const char *type, const void *value)
{
    int size = ((size_fn *) find(library, "", type, "_encoded_size"))(value);
    if (size < 0) {
        refuse(out, "encoded_size is negative");
        return;
    }
    char *buffer = malloc((size_t) size + 1);
    if (!buffer)
        die("out of memory");
    int written = ((encode_fn *) find(library, "", type, "_encode"))(buffer, 0, size, value);
    if (written == size)
        write_answer(out, 0, buffer, (uint32_t) size);
    else
        refuse(out, "encode did not fill encoded_size");
    free(buffer);
}

static void round_trip(FILE *out, void *decoder, void *encoder, const char *type, const char *message, uint32_t size)
{
    int value_size = *(const int *) find(decoder, "size_of_", type, "");
    if (value_size != *(const int *) find(encoder, "size_of_", type, "")) {
        refuse(out, "the two libraries have different layouts");
        return;
    }
    void *value = calloc(1, value_size ? (size_t) value_size : 1);
    if (!value)
        die("out of memory");
    int used = ((decode_fn *) find(decoder, "", type, "_decode"))(message, 0, (int) size, value);
    if (used < 0) {
        refuse(out, "decode failed");
        free(value);
        return;
    }
    if ((uint32_t) used != size) {
        refuse(out, "decode did not use the whole message");
    } else {
        /* Copied by the one that encodes, so that both look at all of the value. */
        void *copy = ((copy_fn *) find(encoder, "", type, "_copy"))(value);
        encode(out, encoder, type, copy);
        ((destroy_fn *) find(encoder, "", type, "_destroy"))(copy);
    }
    ((cleanup_fn *) find(decoder, "", type, "_decode_cleanup"))(value);
    free(value);
}

static FILE *open_in(const char *folder, const char *name, const char *mode)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, mode);
    if (!file)
        die(path);
    return file;
}

int main(int argc, char **argv)
{
    if (argc != 4)
        die("expected DECODER.so ENCODER.so FOLDER");
    void *decoder = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    void *encoder = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
    if (!decoder || !encoder)
        die(dlerror());
    FILE *in = open_in(argv[3], "questions", "rb"), *out = open_in(argv[3], "answers", "wb");
    uint32_t name_size, size;
    char *name, *message;
    while ((name = read_block(in, &name_size))) {
        char type[512];
        if (name_size >= sizeof type || !(message = read_block(in, &size)))
            die("questions are not pairs of name and message");
        for (uint32_t i = 0; i < name_size; i++)
            type[i] = name[i] == '.' ? '_' : name[i];
        type[name_size] = 0;
        if (size == 0)
            fingerprint(out, encoder, type);
        else
            round_trip(out, decoder, encoder, type, message, size);
        free(name);
        free(message);
    }
    fclose(in);
    return fclose(out) ? 2 : 0;
}
