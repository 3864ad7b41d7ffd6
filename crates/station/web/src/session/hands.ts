/** From a person's hands to the set-points of a vehicle, within the limits that its gate publishes. */

import type { GateRules } from "../generated/bowline/gate_rules_t.js";

/** The input of a person's hands: how much ahead, and how much to the left, each -1 to 1. */
export interface Hands {
    readonly ahead: number;
    readonly left: number;
}

/** By direct command: the share of its range for each axis by name, -1 to 1. `limit` is the share of full power. */
const SHARES: Readonly<Record<string, (hands: Hands, limit: number) => Readonly<Record<string, number>>>> = {
    thrust: thrustOf,
    velocity: ({ ahead, left }, limit) => ({ speed_mps: clamp(ahead) * limit, steering_rad: clamp(left) }),
};

/** A value for each axis of the gate's rules. `limit` is the share of full power that full deflection gives, 0 to 1. */
export function setpointOf(hands: Hands, limit: number, { actuation, axes }: GateRules): number[] {
    const shares = SHARES[actuation]?.(hands, limit) ?? {};
    return axes.map(({ field, min, max }) => {
        const share = shares[field] ?? 0;
        return share < 0 ? -share * min : share * max;
    });
}

/** Two thrusters from two axes: where both cannot be had, the turn is kept and speed gives way. */
export function thrustOf(hands: Hands, limit: number): { port_ratio: number; starboard_ratio: number } {
    const left = clamp(hands.left);
    const room = 1 - Math.abs(left) / 2;
    const ahead = Math.max(-room, Math.min(room, clamp(hands.ahead)));
    return { port_ratio: clamp(ahead - left / 2) * limit, starboard_ratio: clamp(ahead + left / 2) * limit };
}

function clamp(value: number): number {
    return Number.isFinite(value) ? Math.max(-1, Math.min(1, value)) : 0;
}
