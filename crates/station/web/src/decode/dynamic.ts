/**
 * Decodes messages of types that this page was not built with, by their run-time schema.
 *
 * In: a schema and bytes. Out: plain objects of the same shape as generated code makes: numbers, bigint for int64_t, typed
 * arrays for rows of numbers, views for bytes. It accepts and refuses what generated code does: both stand on the same
 * `Reader`.
 */

import { Reader } from "../generated/bowline.js";
import { type Dim, fullName, type Member, type Primitive, SchemaError, type TypeSet } from "./schema.js";

/** A decoded value. */
export type Value =
    | number
    | bigint
    | boolean
    | string
    | Int8Array
    | Int16Array
    | Int32Array
    | BigInt64Array
    | Uint8Array
    | Float32Array
    | Float64Array
    | readonly Value[]
    | Fields;

/** A decoded struct. */
export interface Fields {
    readonly [name: string]: Value;
}

// Deeper than any type that people write, and shallow enough for every stack.
const MAX_LEVELS = 64;
// Work and memory follow the message, whatever the schema: so many values for each byte, and so many beside. As in Rust.
const MAX_VALUES_A_BYTE = 16;
const MAX_FREE_VALUES = 65_536;

/** Decodes a whole message of a type of the schema. */
export function decodeDynamic(set: TypeSet, place: number, message: Uint8Array): Fields {
    const def = set.defs[place];
    const fingerprint = set.fingerprints[place];
    if (def === undefined || fingerprint === undefined) {
        throw new SchemaError(`expected a described type, found ${def === undefined ? "none" : fullName(def)}`);
    }
    const name = fullName(def);
    const reader = new Reader(name, message);
    reader.expectFingerprint(fingerprint);
    const limit = MAX_VALUES_A_BYTE * message.length + MAX_FREE_VALUES;
    const value = new Decoder(set, reader, limit).struct(place, name, 0);
    reader.expectEnd();
    return value as Fields;
}

class Decoder {
    private nValues = 0;
    /** By type; a type that is being looked at counts as free. */
    private readonly minSizes = new Map<number, number>();

    constructor(
        private readonly set: TypeSet,
        private readonly reader: Reader,
        private readonly limit: number,
    ) {}

    struct(place: number, at: string | number, level: number): Value {
        const def = this.set.defs[place];
        if (def?.body.kind === "enum") {
            return this.reader.int32(at);
        }
        if (def?.body.kind !== "struct" || level >= MAX_LEVELS) {
            throw new SchemaError(`expected at most ${MAX_LEVELS} levels of described types, found more`);
        }
        this.nValues += 1 + def.body.members.length;
        if (this.nValues > this.limit) {
            throw new SchemaError(`expected at most ${this.limit} values in a message of this size, found more`);
        }
        this.reader.descend(at);
        // Names come from outside, and must not reach a prototype.
        const fields = Object.create(null) as Record<string, Value>;
        for (const member of def.body.members) {
            fields[member.name] =
                member.dims.length === 0
                    ? this.scalar(member.type, member.name, level)
                    : this.array(member, this.lengths(member, def.body.members, fields), 0, member.name, level);
        }
        this.reader.ascend();
        return fields;
    }

    private scalar(type: Primitive | number, at: string | number, level: number): Value {
        if (typeof type === "number") {
            return this.struct(type, at, level + 1);
        }
        const { reader } = this;
        switch (type) {
            case "int8_t":
                return reader.int8(at);
            case "int16_t":
                return reader.int16(at);
            case "int32_t":
                return reader.int32(at);
            case "int64_t":
                return reader.int64(at);
            case "byte":
                return reader.byte(at);
            case "float":
                return reader.float(at);
            case "double":
                return reader.double(at);
            case "string":
                return reader.string(at);
            case "boolean":
                return reader.boolean(at);
        }
    }

    private lengths(member: Member, members: readonly Member[], fields: Fields): (number | bigint)[] {
        return member.dims.map((dim: Dim) =>
            dim.kind === "fixed" ? dim.size : (fields[members[dim.member]?.name ?? ""] as number | bigint),
        );
    }

    /** An array from its dimension `depth` on. */
    private array(
        member: Member,
        lengths: readonly (number | bigint)[],
        depth: number,
        at: string | number,
        level: number,
    ): Value {
        const { reader } = this;
        const length = lengths[depth] ?? 0;
        if (depth + 1 === lengths.length) {
            return this.row(member.type, at, length, level);
        }
        const rows: Value[] = [];
        const n = reader.rows(at, length);
        for (let i = 0; i < n; i++) {
            const start = reader.offset;
            rows.push(this.array(member, lengths, depth + 1, i, level));
            reader.endRow(start);
        }
        reader.leave();
        return rows;
    }

    private row(type: Primitive | number, at: string | number, length: number | bigint, level: number): Value {
        const { reader } = this;
        switch (type) {
            case "int8_t":
                return reader.int8Array(at, reader.count(at, length, 1));
            case "int16_t":
                return reader.int16Array(at, reader.count(at, length, 2));
            case "int32_t":
                return reader.int32Array(at, reader.count(at, length, 4));
            case "int64_t":
                return reader.int64Array(at, reader.count(at, length, 8));
            case "byte":
                return reader.byteArray(at, reader.count(at, length, 1));
            case "float":
                return reader.floatArray(at, reader.count(at, length, 4));
            case "double":
                return reader.doubleArray(at, reader.count(at, length, 8));
            default:
                return this.items(type, at, length, level);
        }
    }

    private items(type: Primitive | number, at: string | number, length: number | bigint, level: number): Value[] {
        const { reader } = this;
        const minSize = type === "string" ? 5 : type === "boolean" ? 1 : this.minSize(type as number);
        const n = reader.list(at, length, minSize);
        const items: Value[] = [];
        for (let i = 0; i < n; i++) {
            items.push(this.scalar(type, i, level));
        }
        reader.leave();
        return items;
    }

    /** Whether a struct takes any bytes: 1 is a low bound, 0 makes the reader count elements that are free. */
    private minSize(place: number): number {
        const known = this.minSizes.get(place);
        if (known !== undefined) {
            return known;
        }
        this.minSizes.set(place, 0);
        const size = this.minSizeOf(place);
        this.minSizes.set(place, size);
        return size;
    }

    private minSizeOf(place: number): number {
        const body = this.set.defs[place]?.body;
        if (body === undefined || body.kind === "external") {
            return 0;
        }
        if (body.kind === "enum") {
            return 4;
        }
        const takesBytes = (member: Member): boolean => {
            if (member.dims.some((dim) => dim.kind === "variable" || dim.size === 0)) {
                return false;
            }
            return typeof member.type === "string" || this.minSize(member.type) > 0;
        };
        return body.members.some(takesBytes) ? 1 : 0;
    }
}
