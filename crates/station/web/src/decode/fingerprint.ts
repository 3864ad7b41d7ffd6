/**
 * LCM's fingerprints, bit-exact with lcm-gen, so that a schema that does not belong to a message is found out.
 *
 * The base hash covers members' names, names of basic types and the source text of dimensions; a type's fingerprint adds
 * those of its members and rotates once for each level. A type that is its own ancestor adds nothing.
 */

import type { Dim, Member, TypeDef } from "./schema.js";

const encoder = new TextEncoder();

/** The fingerprint of each type; undefined where something that it contains is not described. */
export function fingerprintsOf(defs: readonly TypeDef[]): (bigint | undefined)[] {
    const bases = defs.map(baseHash);
    return defs.map((_, place) => close(place, defs, bases, []));
}

function close(
    place: number,
    defs: readonly TypeDef[],
    bases: readonly bigint[],
    ancestors: readonly number[],
): bigint | undefined {
    if (ancestors.includes(place)) {
        return 0n;
    }
    const body = defs[place]?.body;
    const base = bases[place];
    if (body === undefined || base === undefined || body.kind === "external") {
        return undefined;
    }
    if (body.kind === "enum") {
        return BigInt.asUintN(64, base);
    }
    let sum = base;
    for (const member of body.members) {
        if (typeof member.type === "number") {
            const inner = close(member.type, defs, bases, [...ancestors, place]);
            if (inner === undefined) {
                return undefined;
            }
            sum += inner;
        }
    }
    const bits = BigInt.asUintN(64, sum);
    return BigInt.asUintN(64, (bits << 1n) | (bits >> 63n));
}

function baseHash(def: TypeDef): bigint {
    switch (def.body.kind) {
        case "struct": {
            const { members } = def.body;
            return members.reduce((hash, member) => addMember(hash, member, members), 0x1234_5678n);
        }
        case "enum":
            return addText(0x8765_4321n, def.name);
        case "external":
            return 0n;
    }
}

function addMember(start: bigint, member: Member, members: readonly Member[]): bigint {
    let hash = addText(start, member.name);
    if (typeof member.type === "string") {
        hash = addText(hash, member.type);
    }
    hash = addByte(hash, member.dims.length);
    return member.dims.reduce((sum, dim) => addDim(sum, dim, members), hash);
}

function addDim(hash: bigint, dim: Dim, members: readonly Member[]): bigint {
    return dim.kind === "fixed"
        ? addText(addByte(hash, 0), dim.text)
        : addText(addByte(hash, 1), members[dim.member]?.name ?? "");
}

function addText(hash: bigint, text: string): bigint {
    const bytes = encoder.encode(text);
    return bytes.reduce(addByte, addByte(hash, bytes.length));
}

/** The reference works on signed numbers: the shift right keeps the sign, and a byte above 127 is negative. */
function addByte(hash: bigint, byte: number): bigint {
    const signed = BigInt.asIntN(8, BigInt(byte));
    return BigInt.asIntN(64, (BigInt.asIntN(64, hash << 8n) ^ (hash >> 55n)) + signed);
}
