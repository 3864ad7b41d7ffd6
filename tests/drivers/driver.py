"""Answers questions with generated Python: driver.py CODE FOLDER.

Reads FOLDER/questions and FOLDER/values; writes FOLDER/answers, FOLDER/dumps and FOLDER/built.
An empty message asks for the fingerprint. The formats are described in tests/src/cases.rs and tests/src/dump.rs.
"""

import importlib
import json
import struct
import sys

INTEGERS = {"int8_t", "int16_t", "int32_t", "int64_t", "byte"}
FLOATS = {"float": ">f", "double": ">d"}


def find(name):
    package, _, short = name.rpartition(".")
    return getattr(importlib.import_module(package), short)


def is_enum(cls):
    return not hasattr(cls, "__typenames__")


def dump(value, cls):
    if is_enum(cls):
        return str(value if isinstance(value, int) else value.value)
    members = zip(cls.__slots__, cls.__typenames__, cls.__dimensions__)
    parts = ['"%s":%s' % (name, dump_dims(getattr(value, name), ty, len(dims or []))) for name, ty, dims in members]
    return "{" + ",".join(parts) + "}"


def dump_dims(value, ty, n_dims):
    if n_dims > 0:
        return "[" + ",".join(dump_dims(item, ty, n_dims - 1) for item in value) + "]"
    if ty in INTEGERS:
        return str(value)
    if ty in FLOATS:
        return '"%s"' % struct.pack(FLOATS[ty], value).hex()
    if ty == "boolean":
        return "true" if value else "false"
    if ty == "string":
        return '"%s"' % value.encode("utf-8").hex()
    return dump(value, find(ty))


def build(plain, cls):
    if is_enum(cls):
        return cls(plain)
    value = cls()
    for name, ty, dims in zip(cls.__slots__, cls.__typenames__, cls.__dimensions__):
        setattr(value, name, build_dims(plain[name], ty, len(dims or [])))
    return value


def build_dims(plain, ty, n_dims):
    if n_dims == 1 and ty == "byte":
        return bytes(plain)
    if n_dims > 0:
        return [build_dims(item, ty, n_dims - 1) for item in plain]
    if ty in INTEGERS or ty == "boolean":
        return plain
    if ty in FLOATS:
        return struct.unpack(FLOATS[ty], bytes.fromhex(plain))[0]
    if ty == "string":
        return bytes.fromhex(plain).decode("utf-8")
    return build(plain, find(ty))


def questions(path):
    data = open(path, "rb").read()
    at = 0
    while at < len(data):
        pair = []
        for _ in range(2):
            (size,) = struct.unpack_from(">I", data, at)
            pair.append(data[at + 4 : at + 4 + size])
            at += 4 + size
        yield pair[0].decode(), pair[1]


def answer(out, work):
    """Writes what `work` returns, or why it failed."""
    try:
        status, reply = 0, work()
    except Exception as error:
        status, reply = 1, repr(error).encode()
    out.write(struct.pack(">BI", status, len(reply)) + reply)
    return status == 0


def main(code, folder):
    sys.path.insert(0, code)
    values = open(folder + "/values", encoding="utf-8")
    answers, built = open(folder + "/answers", "wb"), open(folder + "/built", "wb")
    dumps = open(folder + "/dumps", "w", encoding="utf-8")
    for (name, message), line in zip(questions(folder + "/questions"), values):
        cls = find(name)
        if not message:
            answer(answers, cls._get_packed_fingerprint)
            answer(built, lambda: b"")
            dumps.write("\n")
            continue
        text = ""

        def decode_and_encode():
            nonlocal text
            value = cls.decode(message)
            text = dump(value, cls)
            return value.encode()

        answer(answers, decode_and_encode)
        dumps.write(text + "\n")
        answer(built, lambda: build(json.loads(line), cls).encode() if line.strip() else b"")


main(sys.argv[1], sys.argv[2])
