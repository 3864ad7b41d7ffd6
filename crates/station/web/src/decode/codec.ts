/**
 * What the page knows of types: generated code for those that it was built with, run-time schemas for all others.
 *
 * In: fingerprints, schemas and messages. Out: values. A panel asks for a type by its generated class and gets a value
 * only if the fingerprints agree, so a changed type falls back to the generic panel instead of being misread.
 */

import * as types from "../generated/bowline/index.js";
import type { MessageType } from "../generated/bowline.js";
import { decodeDynamic, type Fields } from "./dynamic.js";
import { findByFingerprint, fullName, readSchema, type TypeSet } from "./schema.js";

/** All types that there is generated code for, by name. Panels declare themselves which of them they show. */
export const KNOWN_TYPES: readonly MessageType<object>[] = Object.values(types);

const BY_FINGERPRINT = new Map(KNOWN_TYPES.map((type) => [type.FINGERPRINT, type]));

/** The generated code for messages that begin with this. */
export function codecFor(fingerprint: bigint): MessageType<object> | undefined {
    return BY_FINGERPRINT.get(fingerprint);
}

/** The first eight bytes of a message; 0 of one that is shorter. */
export function fingerprintOf(message: Uint8Array): bigint {
    return message.length < 8 ? 0n : new DataView(message.buffer, message.byteOffset).getBigUint64(0);
}

/** A fingerprint as people compare it. */
export function hex(fingerprint: bigint): string {
    return `0x${fingerprint.toString(16).padStart(16, "0")}`;
}

/** A type that was described at run time. */
export interface Described {
    readonly set: TypeSet;
    readonly place: number;
}

/** All types that were described. */
export class Types {
    /** As they came. Most are of types that there is generated code for, and are never looked at. */
    private readonly unread = new Map<bigint, Uint8Array>();
    private readonly described = new Map<bigint, Described>();

    /** `onFault` receives descriptions that make no sense, once they were needed. */
    constructor(private readonly onFault: (error: unknown) => void = () => undefined) {}

    /** Takes the description of a type. It is read, and checked to be of that type, when it is needed. */
    learn(fingerprint: bigint, bytes: Uint8Array): void {
        if (!this.described.has(fingerprint)) {
            this.unread.set(fingerprint, bytes);
        }
    }

    /** What a type was described as. */
    describe(fingerprint: bigint): Described | undefined {
        const bytes = this.unread.get(fingerprint);
        if (bytes !== undefined) {
            this.unread.delete(fingerprint);
            try {
                this.described.set(fingerprint, read(fingerprint, bytes));
            } catch (error) {
                this.onFault(error);
            }
        }
        return this.described.get(fingerprint);
    }

    /** Its name with its package, or its fingerprint. */
    nameOf(fingerprint: bigint): string {
        const codec = codecFor(fingerprint);
        if (codec !== undefined) {
            return codec.NAME;
        }
        const found = this.describe(fingerprint);
        const def = found?.set.defs[found.place];
        return def ? fullName(def) : hex(fingerprint);
    }

    /** Whether messages of this type can be decoded. */
    knows(fingerprint: bigint): boolean {
        return codecFor(fingerprint) !== undefined || this.describe(fingerprint) !== undefined;
    }

    /** Decodes a message by whatever is known of its type. */
    decode(message: Uint8Array): Fields | object {
        const fingerprint = fingerprintOf(message);
        const codec = codecFor(fingerprint);
        if (codec !== undefined) {
            return codec.decode(message);
        }
        const found = this.describe(fingerprint);
        if (found === undefined) {
            throw new Error(`expected a type that was described, found fingerprint ${hex(fingerprint)}`);
        }
        return decodeDynamic(found.set, found.place, message);
    }
}

function read(fingerprint: bigint, bytes: Uint8Array): Described {
    const set = readSchema(bytes);
    const place = findByFingerprint(set, fingerprint);
    if (place < 0) {
        throw new Error(`expected a schema of a type with fingerprint ${hex(fingerprint)}, found none in it`);
    }
    return { set, place };
}
