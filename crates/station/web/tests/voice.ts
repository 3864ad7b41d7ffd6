/** The station, as tests have it: says who somebody is, and brings messages on channels that it has told of. */

import type { Hello } from "../src/protocol/frames.js";
import type { Store } from "../src/store/store.js";

/** A message of any type. */
export interface Encodes {
    encode(): Uint8Array;
}

export class Voice {
    private readonly ids = new Map<string, number>();

    constructor(private readonly store: Store) {}

    /** Anna, an operator at the bridge, unless something else is said; the line is open. */
    hello(change: Partial<Hello> = {}, nowMs = 0): void {
        const anna: Hello = {
            version: 1,
            user: "anna",
            role: "operator",
            station: "bridge/anna",
            source: "live",
            utime: 0,
            charts: [],
            panels: [],
            rank: 1,
        };
        this.store.apply({ kind: "hello", hello: { ...anna, ...change } }, nowMs);
        this.store.connection = "open";
    }

    /** Says anew which channels there are, as after a hello. */
    announce(): void {
        for (const [name, id] of this.ids) {
            this.store.apply({ kind: "channel", id, fingerprint: 0n, name }, 0);
        }
    }

    say(name: string, message: Encodes, utime: number, nowMs = 0): void {
        const bytes = message.encode();
        const id = this.ids.get(name) ?? this.ids.size;
        if (!this.ids.has(name)) {
            this.ids.set(name, id);
            const fingerprint = new DataView(bytes.buffer).getBigUint64(0);
            this.store.apply({ kind: "channel", id, fingerprint, name }, nowMs);
        }
        this.store.apply({ kind: "message", id, utime, nSkipped: 0, bytes }, nowMs);
    }
}
