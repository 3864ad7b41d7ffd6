/**
 * Run-time schemas: the compact form in which publishers describe their types (crates/wire/src/schema/compact.rs).
 *
 * In: bytes from anywhere. Out: definitions that are sound, so that decoders need not check again, or an
 * error with the place where they are not. Names of members are not sorted: their order is the order on the wire.
 */

import { fingerprintsOf } from "./fingerprint.js";

/** The basic types, in the order that the compact form numbers them. */
export const PRIMITIVES = [
    "int8_t",
    "int16_t",
    "int32_t",
    "int64_t",
    "byte",
    "float",
    "double",
    "string",
    "boolean",
] as const;

/** A basic type. */
export type Primitive = (typeof PRIMITIVES)[number];

/** How many elements an array has: always the same, or the value of an earlier member. */
export type Dim =
    | { readonly kind: "fixed"; readonly size: number; readonly text: string }
    | { readonly kind: "variable"; readonly member: number };

/** A field of a struct. */
export interface Member {
    readonly name: string;
    readonly doc: string;
    /** A basic type, or the place of a named one in the schema. */
    readonly type: Primitive | number;
    readonly dims: readonly Dim[];
}

/** A constant of a struct. */
export interface Constant {
    readonly name: string;
    readonly doc: string;
    readonly type: Primitive;
    readonly text: string;
}

/** A value of an enum. */
export interface EnumValue {
    readonly name: string;
    readonly doc: string;
    readonly value: number;
}

/** What a type is made of. */
export type Body =
    | { readonly kind: "struct"; readonly members: readonly Member[]; readonly constants: readonly Constant[] }
    | { readonly kind: "enum"; readonly values: readonly EnumValue[] }
    | { readonly kind: "external" };

/** A type with its name. */
export interface TypeDef {
    readonly package: string;
    readonly name: string;
    readonly doc: string;
    readonly body: Body;
}

/** Types that know each other, and what their messages begin with. */
export interface TypeSet {
    readonly defs: readonly TypeDef[];
    /** Of each type; undefined where something that it contains is not described. */
    readonly fingerprints: readonly (bigint | undefined)[];
}

/** Bytes that are no schema. */
export class SchemaError extends Error {
    override readonly name: string = "SchemaError";
}

/** The full name of a type. */
export function fullName(def: TypeDef): string {
    return def.package === "" ? def.name : `${def.package}.${def.name}`;
}

/** Reads the compact form, and checks it as if it came from an enemy. */
export function readSchema(bytes: Uint8Array): TypeSet {
    const input = new Input(bytes);
    input.magic();
    const defs = input.list(() => readDef(input));
    input.end();
    defs.forEach((def) => checkDef(def, defs));
    return { defs, fingerprints: fingerprintsOf(defs) };
}

/** The place of the type whose messages begin with this; -1 if there is none. */
export function findByFingerprint(set: TypeSet, fingerprint: bigint): number {
    return set.fingerprints.indexOf(fingerprint);
}

function readDef(input: Input): TypeDef {
    const [pkg, name, doc, kind] = [input.text(), input.text(), input.text(), input.number()];
    return { package: pkg, name, doc, body: readBody(input, kind) };
}

function readBody(input: Input, kind: number): Body {
    switch (kind) {
        case 0: {
            const members = input.list(() => readMember(input));
            return { kind: "struct", members, constants: input.list(() => readConstant(input)) };
        }
        case 1:
            return { kind: "enum", values: input.list(() => readEnumValue(input)) };
        case 2:
            return { kind: "external" };
        default:
            throw input.fault("struct, enum or external");
    }
}

function readMember(input: Input): Member {
    const [name, doc, place] = [input.text(), input.text(), input.number()];
    const type = PRIMITIVES[place] ?? place - PRIMITIVES.length;
    const dims = input.list((): Dim => {
        const size = input.number();
        return size > 0
            ? { kind: "fixed", size: size - 1, text: input.text() }
            : { kind: "variable", member: input.number() };
    });
    return { name, doc, type, dims };
}

function readConstant(input: Input): Constant {
    const [name, doc] = [input.text(), input.text()];
    const type = PRIMITIVES[input.number()];
    if (type === undefined) {
        throw input.fault("a primitive type");
    }
    return { name, doc, type, text: input.text() };
}

function readEnumValue(input: Input): EnumValue {
    const [name, doc, zigzag] = [input.text(), input.text(), input.number()];
    if (zigzag > 0xffff_ffff) {
        throw input.fault("a 32-bit value");
    }
    return { name, doc, value: (zigzag >>> 1) ^ -(zigzag & 1) };
}

function checkDef(def: TypeDef, defs: readonly TypeDef[]): void {
    if (def.body.kind !== "struct") {
        return;
    }
    const { members } = def.body;
    members.forEach((member, place) => {
        if (typeof member.type === "number" && defs[member.type] === undefined) {
            throw new SchemaError(
                `${def.name}.${member.name}: expected a type of the schema, found number ${member.type}`,
            );
        }
        for (const dim of member.dims) {
            if (dim.kind === "variable") {
                checkCounter(def, member, members[dim.member], dim.member < place);
            }
        }
    });
}

const COUNTERS: readonly unknown[] = ["int8_t", "int16_t", "int32_t", "int64_t", "byte"];

function checkCounter(def: TypeDef, member: Member, counter: Member | undefined, isEarlier: boolean): void {
    if (counter === undefined || !isEarlier || counter.dims.length > 0 || !COUNTERS.includes(counter.type)) {
        const found = counter === undefined ? "nothing" : counter.name;
        throw new SchemaError(`${def.name}.${member.name}: expected an earlier integer that counts, found ${found}`);
    }
}

const strictText = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** A cursor over the compact form. */
class Input {
    private offset = 0;

    constructor(private readonly bytes: Uint8Array) {}

    magic(): void {
        for (const code of [0x42, 0x57, 0x54, 0x31]) {
            if (this.byte() !== code) {
                this.offset = 0;
                throw this.fault("the magic number BWT1");
            }
        }
    }

    /** LEB128, of at most 5 bytes; not by shifts, which are of 32 bits here. */
    number(): number {
        let number = 0;
        for (let scale = 1; scale <= 128 ** 4; scale *= 128) {
            const byte = this.byte();
            number += (byte & 0x7f) * scale;
            if ((byte & 0x80) === 0) {
                return number;
            }
        }
        throw this.fault("a number of at most 5 bytes");
    }

    text(): string {
        const size = this.number();
        if (size > this.bytes.length - this.offset) {
            throw this.fault("more bytes");
        }
        const slice = this.bytes.subarray(this.offset, this.offset + size);
        this.offset += size;
        try {
            return strictText.decode(slice);
        } catch {
            throw this.fault("UTF-8 text");
        }
    }

    /** Every item takes at least a byte, so a list cannot claim more than is there. */
    list<T>(each: () => T): T[] {
        const n = this.number();
        if (n > this.bytes.length - this.offset) {
            throw this.fault("as many items as are claimed");
        }
        return Array.from({ length: n }, each);
    }

    end(): void {
        if (this.offset < this.bytes.length) {
            throw this.fault("the end of the schema");
        }
    }

    fault(expected: string): SchemaError {
        return new SchemaError(`malformed schema: expected ${expected} at byte ${this.offset}, found something else`);
    }

    private byte(): number {
        const byte = this.bytes[this.offset];
        if (byte === undefined) {
            throw this.fault("more bytes");
        }
        this.offset += 1;
        return byte;
    }
}
