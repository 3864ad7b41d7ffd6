/**
 * What a module that the station serves sees of the page: the channels that its row names, as they are now.
 *
 * This is the whole of its interface, version by version, as docs/panels.md has it. Everything in it is a copy: what a module
 * does to a message changes no other panel, and nothing leads from here to the store, the session or the socket.
 */

import { fingerprintOf } from "../decode/codec.js";
import type { Channel, Freshness } from "../store/channel.js";
import type { Store, VehicleView } from "../store/store.js";
import { seriesKey, type Want } from "../store/want.js";

/** The version of the interface that this page has. */
export const API_VERSION = 1;

/** A channel, as a module reads it. */
export interface ReadChannel {
    /** Its name without the vehicle's prefix. */
    readonly name: string;
    /** The name of its type with the package. */
    readonly type: string;
    /** Its last message, decoded; undefined before the first, and while its type is not described. */
    readonly message: unknown;
    /** How old that is, seconds. */
    readonly ageS: number | undefined;
    readonly freshness: Freshness;
    /** How often there are messages, a second; undefined before the second one. */
    readonly rateHz: number | undefined;
    /** A quantity over time that the row declares: seconds since the epoch, and values. */
    series(name: string): { readonly timesS: Float64Array; readonly values: Float64Array };
}

/** What a module's `make` and `draw` are called with. */
export interface Reading {
    readonly api: number;
    /** The name of the vehicle that is in front. */
    readonly vehicle: string;
    /** The channels of the types that the row names, or of one of them. */
    channels(type?: string): readonly ReadChannel[];
}

/** A reading for one panel or layer. `utime` is the time by which ages are computed. */
export function readingOf(
    {
        store,
        view,
        channel,
    }: { readonly store: Store; readonly view: VehicleView; readonly channel?: Channel | undefined },
    wants: readonly Want[],
    utime: () => number | undefined,
): Reading {
    const known = new WeakMap<Channel, ReadChannel>();
    const owner = wants[0]?.owner ?? "";
    const read = (it: Channel): ReadChannel => {
        const made = known.get(it) ?? readChannel(it, { store, view, owner }, utime);
        known.set(it, made);
        return made;
    };
    return Object.freeze({
        api: API_VERSION,
        vehicle: view.vehicle.name,
        channels: (type?: string) =>
            channel === undefined ? channelsOf(view, wants, type).map(read) : [read(channel)],
    });
}

/** The channels of a vehicle that carry what is wanted. */
export function channelsOf(view: VehicleView, wants: readonly Want[], type?: string): Channel[] {
    return wants.filter((it) => type === undefined || it.type === type).flatMap((it) => [...view.ofType(it)]);
}

function readChannel(
    channel: Channel,
    { store, view, owner }: { readonly store: Store; readonly view: VehicleView; readonly owner: string },
    utime: () => number | undefined,
): ReadChannel {
    let copy: { readonly of: Uint8Array; readonly message: unknown } | undefined;
    return Object.freeze({
        name: view.shortName(channel),
        get type() {
            return channel.typeName;
        },
        get message() {
            const { bytes } = channel;
            if (bytes === undefined || !store.types.knows(fingerprintOf(bytes))) {
                return undefined;
            }
            if (copy?.of !== bytes) {
                copy = { of: bytes, message: store.types.decode(bytes.slice()) };
            }
            return copy.message;
        },
        get ageS() {
            return channel.ageS(utime());
        },
        get freshness() {
            return channel.freshness(utime());
        },
        get rateHz() {
            return channel.periodUs === undefined ? undefined : 1e6 / channel.periodUs;
        },
        series: (name: string) => {
            const { times, values } = store.histories.series(seriesKey({ owner }, channel), name).since(0);
            return { timesS: times.slice(), values: values.slice() };
        },
    });
}
