import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { Gate } from "../src/generated/bowline/gate_t.js";
import { codecFor, KNOWN_TYPES, Types } from "../src/decode/codec.js";
import { decodeDynamic, type Value } from "../src/decode/dynamic.js";
import { findByFingerprint, fullName, readSchema, SchemaError, type TypeSet } from "../src/decode/schema.js";
import { bytesOf, goldenMessages, repoFile, schemas } from "./golden.js";
import { schemaOfRust } from "./schema_of_rust.mjs";

const { bowline, golden } = schemas();
const messages = goldenMessages();

function setOf(fingerprint: bigint): { set: TypeSet; place: number } | undefined {
    for (const set of [bowline, golden]) {
        const place = findByFingerprint(set, fingerprint);
        if (place >= 0) {
            return { set, place };
        }
    }
    return undefined;
}

/** Enums are numbers with names, and the reference's JSON has the names. */
const enumValues = new Map(
    golden.defs.flatMap((def) =>
        def.body.kind === "enum" ? def.body.values.map((v) => [v.name, v.value] as const) : [],
    ),
);

/** Whether a decoded value equals the reference's JSON. */
function agrees(value: Value, json: unknown): boolean {
    if (typeof value === "bigint") {
        return BigInt(json as string | number) === value;
    }
    if (typeof value === "number") {
        const expected = enumValues.get(json as string) ?? Number(json);
        return Object.is(value, expected) || Object.is(value, Math.fround(expected));
    }
    if (value instanceof Uint8Array) {
        return Buffer.from(value).toString("base64") === json;
    }
    if (ArrayBuffer.isView(value) || Array.isArray(value)) {
        const items = Array.from(value as ArrayLike<Value>);
        return Array.isArray(json) && items.length === json.length && items.every((item, i) => agrees(item, json[i]));
    }
    if (typeof value === "object") {
        const fields = value as Record<string, Value>;
        const expected = json as Record<string, unknown>;
        const names = Object.keys(fields);
        return (
            names.length === Object.keys(expected).length &&
            names.every((name) => name in expected && agrees(fields[name] as Value, expected[name]))
        );
    }
    return value === json;
}

describe("run-time schemas", () => {
    it("there are golden messages of many types", () => {
        expect(new Set(messages.map((message) => message.type)).size).toBeGreaterThan(20);
    });

    it.each(messages.map((message, i) => [`${i} ${message.type}`, message] as const))(
        "decodes golden message %s as the reference does",
        (_, message) => {
            const found = setOf(BigInt(message.fingerprint));
            expect(found, "a type with this fingerprint").toBeDefined();
            const { set, place } = found!;
            expect(fullName(set.defs[place]!)).toBe(message.type);
            const value = decodeDynamic(set, place, bytesOf(message));
            expect(agrees(value, JSON.parse(message.value)), JSON.stringify(value, plain)).toBe(true);
        },
    );

    it.each(messages.map((message, i) => [`${i} ${message.type}`, message] as const))(
        "refuses golden message %s cut short anywhere, and with a byte too many",
        (_, message) => {
            const { set, place } = setOf(BigInt(message.fingerprint))!;
            const bytes = bytesOf(message);
            const step = Math.max(1, Math.floor(bytes.length / 200));
            for (let size = 0; size < bytes.length; size += step) {
                expect(() => decodeDynamic(set, place, bytes.subarray(0, size))).toThrow();
            }
            expect(() => decodeDynamic(set, place, Uint8Array.from([...bytes, 0]))).toThrow(/end of the message/);
        },
    );

    it("computes every fingerprint of generated code", () => {
        const found = bowline.defs.map((def, i) => [fullName(def), bowline.fingerprints[i]]);
        const files = readdirSync(new URL("../src/generated/bowline/", import.meta.url));
        expect(found.length).toBe(files.filter((it) => it.endsWith("_t.ts")).length);
        expect(found.length).toBeGreaterThan(20);
        const expected = found.map(([name]) => {
            const file = `src/generated/bowline/${String(name).split(".")[1]}.ts`;
            const source = readFileSync(new URL(`../${file}`, import.meta.url), "utf8");
            return [name, BigInt(/FINGERPRINT: bigint = (0x[0-9a-f]+)n/.exec(source)?.[1] ?? "0")];
        });
        expect(found).toEqual(expected);
    });

    it("refuses a schema cut short anywhere, and one whose counter comes later", () => {
        const bytes = schemaOfRust(repoFile("crates/msgs/src/generated/mod.rs"));
        expect(bytes.length).toBeGreaterThan(1_000);
        for (let size = 0; size < bytes.length; size += 97) {
            expect(() => readSchema(bytes.subarray(0, size))).toThrow(SchemaError);
        }
        const text = (s: string): number[] => [s.length, ...new TextEncoder().encode(s)];
        const one = [...text("p"), ...text("t"), 0, 0, 1, ...text("a"), 0, 2, 1, 0, 0, 0];
        const counted = Uint8Array.from([...new TextEncoder().encode("BWT1"), 1, ...one]);
        expect(() => readSchema(counted)).toThrow(/an earlier integer that counts/);
    });

    it("never makes more of a message than its bytes", () => {
        const { set, place } = setOf(BigInt(messages.find((m) => m.type === "golden.variable_t")!.fingerprint))!;
        const bytes = bytesOf(messages.find((m) => m.type === "golden.variable_t")!).slice();
        bytes.set([0x7f, 0xff, 0x7f, 0xff, 0xff, 0xff], 8);
        expect(() => decodeDynamic(set, place, bytes)).toThrow(/expected \d+ elements|expected \d+ bytes/);
    });

    it.each([
        ["structs without bytes, two by two", 40, 2, []],
        ["rows of structs without bytes", 20, 1, [{ kind: "fixed", size: 1000, text: "1000" }]],
    ] as const)("refuses a message that would be billions of values: %s", (_, nLevels, nMembers, dims) => {
        const defs = Array.from({ length: nLevels + 1 }, (_, level) => ({
            package: "bomb",
            name: `t${level}`,
            doc: "",
            body: {
                kind: "struct" as const,
                constants: [],
                members: Array.from({ length: level < nLevels ? nMembers : 0 }, (_, i) => ({
                    name: `m${i}`,
                    doc: "",
                    type: level + 1,
                    dims,
                })),
            },
        }));
        const set = { defs, fingerprints: defs.map(() => 0n) };
        expect(() => decodeDynamic(set, 0, new Uint8Array(8))).toThrow(/at most \d+ (values|elements)/);
    });
});

describe("types that the page knows", () => {
    const known = messages.filter((message) => KNOWN_TYPES.some((type) => type.NAME === message.type));

    it("are decoded alike by generated code and by schemas", () => {
        expect(known.length).toBeGreaterThan(10);
        for (const message of known) {
            const { set, place } = setOf(BigInt(message.fingerprint))!;
            const typed = codecFor(BigInt(message.fingerprint))?.decode(bytesOf(message));
            const dynamic = decodeDynamic(set, place, bytesOf(message));
            expect(JSON.stringify(typed, plain)).toBe(JSON.stringify(dynamic, plain));
        }
    });

    it("are of the version that the repository has", () => {
        expect(KNOWN_TYPES.length).toBeGreaterThan(20);
        for (const type of KNOWN_TYPES) {
            expect(bowline.fingerprints, type.NAME).toContain(type.FINGERPRINT);
        }
    });
});

describe("what is known of types at run time", () => {
    it("takes a schema only for the fingerprint that it computes to", () => {
        const faults: unknown[] = [];
        const types = new Types((error) => faults.push(error));
        const bytes = schemaOfRust(repoFile("crates/msgs/src/generated/mod.rs"));
        types.learn(1n, bytes);
        expect([types.knows(1n), types.knows(1n)]).toEqual([false, false]);
        expect(faults.map(String)).toEqual([expect.stringMatching(/0x0000000000000001/)]);
        const fingerprint = bowline.fingerprints[0]!;
        types.learn(fingerprint, bytes);
        expect(types.nameOf(fingerprint)).toBe(fullName(bowline.defs[0]!));
    });

    it("reads no schema that is not needed: a first view has as many of them as there are types", () => {
        const types = new Types((error) => expect.unreachable(String(error)));
        types.learn(Gate.FINGERPRINT, Uint8Array.of(255));
        expect(types.nameOf(Gate.FINGERPRINT)).toBe("bowline.gate_t");
        expect(types.decode(new Gate({ reason: "fog" }).encode())).toMatchObject({ reason: "fog" });
    });

    it("names an undescribed type by its fingerprint", () => {
        expect(new Types().nameOf(0xabn)).toBe("0x00000000000000ab");
    });
});

function plain(_: string, value: unknown): unknown {
    if (typeof value === "bigint") {
        return `${value}`;
    }
    if (typeof value === "number" && !Number.isFinite(value)) {
        return String(value);
    }
    return ArrayBuffer.isView(value) ? Array.from(value as unknown as ArrayLike<unknown>, (x) => plain("", x)) : value;
}
