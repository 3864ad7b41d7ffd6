/**
 * A channel: its last message, how old that is, and how often there are new ones.
 *
 * Messages are decoded when they are looked at: most are overtaken by the next before that.
 */

import { fingerprintOf, type Types } from "../decode/codec.js";
import type { Fields } from "../decode/dynamic.js";
import type { MessageType } from "../generated/bowline.js";

/** How fresh what a panel shows is. */
export type Freshness = "none" | "fresh" | "stale";

/** Of so many intervals the median counts: an outage among them is no measure of the rate. */
const N_INTERVALS = 8;
const SECOND_US = 1_000_000;
/** What comes within this is one occasion: several publishers may send on a channel at once, and then not for a second. */
const ONE_BREATH_US = 5_000;
/** What is older than this is never shown without a mark: as stale, or with its age. */
const OLD_AFTER_S = 1;
/** Up to this period a channel is faster than 1 Hz; beyond, its messages may just be a little late. */
const ABOUT_A_SECOND = 0.8;

export class Channel {
    /** The fingerprint of its last message; that from the station's list before there was one. */
    fingerprint: bigint;
    /** When the last message came to the station, microseconds since the epoch; undefined before the first. */
    utime: number | undefined;
    bytes: Uint8Array | undefined;
    nMessages = 0;
    /** Messages that the station had and this page was not sent. */
    nSkipped = 0;
    /** Usual time between messages here, or between occasions of several, microseconds; undefined before the second. */
    periodUs: number | undefined;
    private readonly intervals: number[] = [];
    /** When the occasion began that the last message is of. */
    private occasionUtime: number | undefined;
    private isPast = false;
    /** What is not newer was received over an earlier connection: the past that comes again with the next one. */
    private knownUntil = Number.NEGATIVE_INFINITY;
    private decoded:
        { readonly of: Uint8Array; readonly value: Fields | object | undefined; readonly error: string } | undefined;

    constructor(
        /** Grows with each channel that this page learns of. */
        readonly serial: number,
        readonly name: string,
        fingerprint: bigint,
        private readonly types: Types,
    ) {
        this.fingerprint = fingerprint;
    }

    /**
     * Takes a message. Those of the past are no measure of the rate: the station takes them out of many,
     * and their intervals would make a value look fresh that is not.
     */
    take(bytes: Uint8Array, utime: number, nSkipped: number, isPast = false): void {
        const wasPast = this.isPast;
        this.isPast = isPast;
        if (this.occasionUtime === undefined || isPast || wasPast || utime < this.occasionUtime) {
            this.occasionUtime = utime;
        } else if (utime - this.occasionUtime >= ONE_BREATH_US) {
            this.noteInterval(utime - this.occasionUtime);
            this.occasionUtime = utime;
        }
        this.utime = utime;
        this.bytes = bytes;
        this.nMessages += 1;
        this.nSkipped += nSkipped;
        this.fingerprint = fingerprintOf(bytes);
    }

    /** Forgets its messages, because time went back. */
    forget(): void {
        this.utime = undefined;
        this.bytes = undefined;
        this.periodUs = undefined;
        this.occasionUtime = undefined;
        this.intervals.length = 0;
        this.decoded = undefined;
        this.knownUntil = Number.NEGATIVE_INFINITY;
    }

    /** Another connection begins: the station sends the past again, and what was received of it is not taken twice. */
    reconnect(): void {
        this.knownUntil = Math.max(this.knownUntil, this.utime ?? Number.NEGATIVE_INFINITY);
    }

    /** Whether a message of this time was received over an earlier connection. */
    isKnown(utime: number): boolean {
        return utime <= this.knownUntil;
    }

    get typeName(): string {
        return this.types.nameOf(this.fingerprint);
    }

    /** The last message, as far as it can be decoded. */
    value(): Fields | object | undefined {
        return this.decode()?.value;
    }

    /** Why the last message could not be decoded; empty if it could. */
    get error(): string {
        return this.decode()?.error ?? "";
    }

    /** The last message, if it is exactly of this type. */
    as<T>(type: MessageType<T>): T | undefined {
        return this.fingerprint === type.FINGERPRINT ? (this.value() as T | undefined) : undefined;
    }

    /** Whether its messages are of this type. */
    is(type: MessageType<unknown>): boolean {
        return this.fingerprint === type.FINGERPRINT;
    }

    /** How old its last message is, seconds. */
    ageS(nowUtime: number | undefined): number | undefined {
        return this.utime === undefined || nowUtime === undefined
            ? undefined
            : Math.max(0, nowUtime - this.utime) / SECOND_US;
    }

    /** How old its last message is, seconds, if that has to be shown beside the value; undefined while it is new. */
    oldS(nowUtime: number | undefined): number | undefined {
        const age = this.ageS(nowUtime);
        return age === undefined || age <= OLD_AFTER_S ? undefined : age;
    }

    /** Whether its last message still holds. */
    freshness(nowUtime: number | undefined): Freshness {
        const age = this.ageS(nowUtime);
        return age === undefined ? "none" : age > staleAfterS(this.periodUs) ? "stale" : "fresh";
    }

    private noteInterval(interval: number): void {
        this.intervals.push(interval);
        if (this.intervals.length > N_INTERVALS) {
            this.intervals.shift();
        }
        // The lower one of two in the middle: rather stale too early than too late.
        const sorted = [...this.intervals].sort((a, b) => a - b);
        this.periodUs = sorted[(sorted.length - 1) >> 1];
    }

    private decode(): { readonly value: Fields | object | undefined; readonly error: string } | undefined {
        const { bytes } = this;
        if (bytes === undefined) {
            return undefined;
        }
        // Once more if it failed: the schema may have come since.
        if (this.decoded?.of !== bytes || (this.decoded.error !== "" && this.types.knows(this.fingerprint))) {
            try {
                this.decoded = { of: bytes, value: this.types.decode(bytes), error: "" };
            } catch (error) {
                this.decoded = {
                    of: bytes,
                    value: undefined,
                    error: error instanceof Error ? error.message : String(error),
                };
            }
        }
        return this.decoded;
    }
}

/**
 * After how long a value is stale, seconds. What usually comes more often than once a second: after three periods, but not
 * before half a second nor later than one. What comes more rarely: 0.6 s after it was due; its age is shown from the first
 * second on.
 */
export function staleAfterS(periodUs: number | undefined): number {
    if (periodUs === undefined) {
        return 1;
    }
    const period = periodUs / SECOND_US;
    return period <= ABOUT_A_SECOND ? Math.min(1, Math.max(0.5, 3 * period)) : Math.min(period, 10) + 0.6;
}
