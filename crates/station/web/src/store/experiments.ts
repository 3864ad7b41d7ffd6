/**
 * The experiments that robots offer, and what each is made of: what a monitor is bound to (FAST-Robots).
 *
 * Supervisors of several hosts may each publish their part of one; parts are put together by name. A monitor is bound to the
 * experiment's name and not to the robot, so a second robot with the same experiment gets the same monitor again.
 */

import type { Experiment } from "../generated/bowline/experiment_t.js";
import { isOf, type Vehicle } from "./vehicles.js";

/** An experiment, as a layout is bound to it. */
export interface Monitor {
    readonly name: string;
    readonly robot: string;
    readonly about: string;
    /** The component that decides who may command it; empty: it cannot be commanded. */
    readonly gate: string;
    readonly components: readonly string[];
    /** Its channels, with the vehicle's prefix. */
    readonly channels: ReadonlySet<string>;
}

/** A part of an experiment, as one host publishes it. */
interface Part extends Monitor {
    readonly said: string;
}

const CHANNEL = "bowline.experiment";
const MAX_PARTS = 64;

export class Experiments {
    private readonly parts = new Map<string, Part>();
    /** Grows when what is offered changes, not when it is repeated. */
    revision = 0;

    /** Takes note of the message of a supervisor. */
    note(channel: string, experiment: Experiment): void {
        const { robot, name, host, about, gate } = experiment;
        const key = JSON.stringify([channel, robot, name, host]);
        const prefix = channel.endsWith(CHANNEL) ? channel.slice(0, -CHANNEL.length) : "";
        const components = experiment.components.map((it) => it.name);
        const channels = experiment.components.flatMap((it) => it.ports.map((port) => port.channel)).filter(Boolean);
        const said = JSON.stringify([about, gate, components, channels]);
        if (this.parts.get(key)?.said === said || (!this.parts.has(key) && this.parts.size >= MAX_PARTS)) {
            return;
        }
        const all = new Set(channels.map((it) => prefix + it));
        this.parts.set(key, { name, robot, about, gate, components, channels: all, said });
        this.revision += 1;
    }

    clear(): void {
        this.parts.clear();
        this.revision += 1;
    }

    /** The experiments of a vehicle, by name: those with a channel that is the vehicle's. */
    of(vehicle: Vehicle, vehicles: readonly Vehicle[]): Monitor[] {
        const found = new Map<string, Monitor>();
        for (const part of this.parts.values()) {
            if ([...part.channels].some((it) => isOf(it, vehicle, vehicles))) {
                found.set(part.name, join(found.get(part.name), part));
            }
        }
        return [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
    }
}

function join(known: Monitor | undefined, { name, robot, about, gate, components, channels }: Monitor): Monitor {
    return {
        name,
        robot,
        about: known?.about || about,
        gate: known?.gate || gate,
        components: [...new Set([...(known?.components ?? []), ...components])],
        channels: new Set([...(known?.channels ?? []), ...channels]),
    };
}
