/** From a person's hands to the set-points of a vehicle, within the limits that its gate publishes. */

import type { GateRules } from "../generated/bowline/gate_rules_t.js";

/** The input of a person's hands: how much ahead, and how much to the left, each -1 to 1. */
export interface Hands {
    readonly ahead: number;
    readonly left: number;
}

/**
 * A value for each axis of the gate's rules, which define how each answers to hands. `limit` is the share of full power that
 * full deflection gives, 0 to 1: of the axes that move the vehicle.
 */
export function setpointOf(hands: Hands, limit: number, { axes }: GateRules): number[] {
    const left = clamp(hands.left);
    // An axis that answers to both may not have room for both: the turn is kept, and what is ahead gives way on all axes.
    const rooms = axes.filter((it) => it.ahead !== 0).map((it) => (1 - Math.abs(it.left * left)) / Math.abs(it.ahead));
    const room = Math.max(0, Math.min(1, ...rooms));
    const ahead = Math.max(-room, Math.min(room, clamp(hands.ahead)));
    return axes.map((axis) => {
        const share = clamp(axis.ahead * ahead + axis.left * left) * (axis.moves ? limit : 1);
        return share < 0 ? -share * axis.min : share * axis.max;
    });
}

function clamp(value: number): number {
    return Number.isFinite(value) ? Math.max(-1, Math.min(1, value)) : 0;
}
