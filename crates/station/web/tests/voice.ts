/** The station, as tests have it: sends the account, and messages on channels that it has announced. */

import { GateAxis } from "../src/generated/bowline/gate_axis_t.js";
import { GateRules } from "../src/generated/bowline/gate_rules_t.js";
import type { Hello } from "../src/protocol/frames.js";
import type { Store } from "../src/store/store.js";

/** A message of any type. */
export interface Encodes {
    encode(): Uint8Array;
}

export class Voice {
    private readonly ids = new Map<string, number>();

    constructor(private readonly store: Store) {}

    /** Anna, an operator at the bridge, by default; the line is open. */
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

    /** Sends the list of channels anew, as after a hello. */
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

const AXES: Readonly<Record<string, readonly GateAxis[]>> = {
    thrust: [
        new GateAxis({
            field: "port_ratio",
            word: "port",
            unit: "ratio",
            min: -1,
            max: 1,
            ahead: 1,
            left: -0.5,
            moves: true,
        }),
        new GateAxis({
            field: "starboard_ratio",
            word: "starboard",
            unit: "ratio",
            min: -1,
            max: 1,
            ahead: 1,
            left: 0.5,
            moves: true,
        }),
    ],
    velocity: [
        new GateAxis({ field: "speed_mps", word: "speed", unit: "m/s", min: -1.5, max: 3, ahead: 1, moves: true }),
        new GateAxis({ field: "steering_rad", word: "steering", unit: "rad", min: -0.4, max: 0.4, left: 1 }),
    ],
    fins: [
        new GateAxis({
            field: "propeller_ratio",
            word: "propeller",
            unit: "ratio",
            min: -1,
            max: 1,
            ahead: 1,
            moves: true,
        }),
        new GateAxis({ field: "rudder_rad", word: "rudder", unit: "rad", min: -0.4, max: 0.4, left: 1 }),
        new GateAxis({ field: "elevator_rad", word: "elevator", unit: "rad", min: -0.2, max: 0.2 }),
    ],
};

/** What a gate demands that is driven by this direct command. */
export function rulesOf(actuation: string): GateRules {
    return new GateRules({
        actuation,
        verb: actuation,
        setpoint: `${actuation}.command`,
        axes: [...(AXES[actuation] ?? [])],
        direct_max_age_us: 250_000n,
        setpoint_us: 1_500_000n,
        neutral_us: 300_000n,
        lease_us: 1_000_000n,
    }).withLengths();
}
