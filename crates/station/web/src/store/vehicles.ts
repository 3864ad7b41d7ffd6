/**
 * Which vehicles there are, by the channels.
 *
 * A vehicle is found by its gate: whatever stands before `gate.state` in the channel's name is its prefix, as a link gives
 * it. Channels with that prefix are its own. Where there is no gate at all there is one vehicle without a prefix.
 */

import { Gate } from "../generated/bowline/gate_t.js";
import type { Channel } from "./channel.js";

export interface Vehicle {
    /** Before the names of its channels: empty, `heron.` or `heron/`. */
    readonly prefix: string;
    /** What people call it. */
    readonly name: string;
    /** Whether it has a gate: without one it cannot be commanded or stopped. */
    readonly hasGate: boolean;
}

/** What a gate's states are called, by their numbers. */
export const GATE_STATES = ["stopped", "idle", "operated", "autonomous", "contingency"] as const;

const GATE = "gate.state";
const PREFIX = /^(?:|[^./]+[./])$/;

/** The vehicles behind these channels, sorted by name. */
export function findVehicles(channels: Iterable<Channel>): Vehicle[] {
    const vehicles: Vehicle[] = [];
    let hasData = false;
    for (const channel of channels) {
        hasData = true;
        const prefix = channel.name.slice(0, -GATE.length);
        if (channel.is(Gate) && channel.name.endsWith(GATE) && PREFIX.test(prefix)) {
            vehicles.push({ prefix, name: nameOf(prefix, channel), hasGate: true });
        }
    }
    if (vehicles.length === 0 && hasData) {
        vehicles.push({ prefix: "", name: "robot", hasGate: false });
    }
    return vehicles.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : a.prefix < b.prefix ? -1 : 1));
}

function nameOf(prefix: string, channel: Channel): string {
    return prefix === "" ? channel.as(Gate)?.name || "robot" : prefix.slice(0, -1);
}

/** Whether a channel is this vehicle's: it has its prefix, and no longer one of another vehicle. */
export function isOf(name: string, vehicle: Vehicle, vehicles: readonly Vehicle[]): boolean {
    return (
        name.startsWith(vehicle.prefix) &&
        !vehicles.some((it) => it.prefix.length > vehicle.prefix.length && name.startsWith(it.prefix))
    );
}

/** What to call a vehicle wherever one might be taken for another; empty where there is only one, without a name. */
export function callOf(vehicle: Vehicle | undefined, vehicles: readonly Vehicle[]): string {
    return vehicle !== undefined && (vehicles.length > 1 || vehicle.prefix !== "") ? vehicle.name : "";
}

/** Whether a channel is what components publish about themselves, and not about the world. */
export function isHousekeeping(shortName: string): boolean {
    return shortName.startsWith("bowline.");
}

/** The name of the vehicle that a channel is of; empty where there is only one, or it belongs to none. */
export function ownerOf(channel: string, vehicles: readonly Vehicle[]): string {
    return vehicles.length < 2 ? "" : (vehicles.find((it) => isOf(channel, it, vehicles))?.name ?? "");
}
