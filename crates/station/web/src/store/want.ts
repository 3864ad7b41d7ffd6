/**
 * What a panel or a layer of the map wants of the station, and what the page remembers for it: part of its row in the table.
 *
 * A type that is only named here comes as the newest message, at most ten times a second, and nothing of the past.
 */

import { KNOWN_TYPES } from "../decode/codec.js";
import type { MessageType } from "../generated/bowline.js";
import type { Wish } from "../protocol/frames.js";
import type { Channel } from "./channel.js";
import type { Histories } from "./histories.js";

/** How messages of a type are wanted. */
export interface Manner<T> {
    /** At most so many messages a second, the newest each time; 0: every message. */
    readonly maxHz?: number;
    /** How many messages of the past beside the last one, evenly taken. */
    readonly past?: number;
    /** Quantities that are kept over time, by name. */
    readonly series?: Readonly<Record<string, (message: T) => number>>;
    /** What else is remembered of each message, in the order in which they come. */
    readonly note?: (histories: Histories, message: T, channel: Channel, utime: number) => void;
}

/** Messages of a type, and how they are wanted. */
export interface Want extends Manner<never> {
    /** The type's name with its package. */
    readonly type: string;
    /** The type as generated code has it; a type that a custom panel names may have none. */
    readonly codec: MessageType<unknown> | undefined;
    /** Whose series they are: empty, or the row of a module, which has its own. */
    readonly owner: string;
}

/** In a row of a table: a type, or a type with the manner in which it is wanted. */
export type Wanted = MessageType<unknown> | Want;

/** Declares how messages of a type are wanted. */
export function want<T>(type: MessageType<T>, manner: Manner<T>): Want {
    return { ...(manner as Manner<never>), type: type.NAME, codec: type, owner: "" };
}

/** The same for a type that is known by its name, as a module declares it. */
export function wantByName(type: string, owner: string, manner: Manner<Readonly<Record<string, unknown>>>): Want {
    const codec = KNOWN_TYPES.find((it) => it.NAME === type);
    return { ...(manner as Manner<never>), type, codec, owner };
}

export function wantOf(wanted: Wanted): Want {
    return "codec" in wanted ? wanted : want(wanted, {});
}

/** Whether a channel carries what is wanted. */
export function carries(channel: Channel, { type, codec }: Want): boolean {
    return codec === undefined ? channel.fingerprint !== 0n && channel.typeName === type : channel.is(codec);
}

/** What the series of a channel's quantities are kept under. */
export function seriesKey({ owner }: Pick<Want, "owner">, channel: Channel): string {
    return owner === "" ? channel.name : `${owner} ${channel.name}`;
}

/** The rate of everything that no row declares. */
const USUAL_HZ = 10;

/**
 * The rows that the station is asked for: one for each type with a rate or a past of its own, then everything
 * else. Where several want a type, it comes as often as the one that wants it most often declares.
 */
export function wishesOf(wants: Iterable<Want>): Wish[] {
    const rows = new Map<string, { maxHz: number | undefined; past: number }>();
    for (const { type, maxHz, past = 0 } of wants) {
        if (maxHz === undefined && past === 0) {
            continue;
        }
        const row = rows.get(type) ?? { maxHz: undefined, past: 0 };
        rows.set(type, { maxHz: mostOf(row.maxHz, maxHz), past: Math.max(row.past, past) });
    }
    const own = [...rows].map(([type, { maxHz = USUAL_HZ, past }]) => ({
        pattern: ".*",
        type,
        max_hz: maxHz,
        ...(past > 0 && { past }),
    }));
    return [...own, { pattern: ".*", max_hz: USUAL_HZ }];
}

/** The more frequent of two rates, of which 0 is every message. */
function mostOf(one: number | undefined, other: number | undefined): number | undefined {
    if (one === undefined || other === undefined) {
        return one ?? other;
    }
    return one === 0 || other === 0 ? 0 : Math.max(one, other);
}
