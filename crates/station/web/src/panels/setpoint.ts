/** What the actuators of a vehicle are set to, whatever they are: the gate's rules name the channel, the fields and the units. */

import { GateRules } from "../generated/bowline/gate_rules_t.js";
import { unitOf } from "../shell/fields.js";
import type { Channel } from "../store/channel.js";
import type { VehicleView } from "../store/store.js";

/** One number of a set-point. */
export interface SetpointAxis {
    readonly field: string;
    /** What people call it. */
    readonly word: string;
    readonly unit: string;
}

export interface Setpoint {
    /** Where it is published; undefined where nothing was received of it. */
    readonly channel: Channel | undefined;
    readonly axes: readonly SetpointAxis[];
}

/** Where a vehicle without a gate publishes its set-point. */
const WITHOUT_GATE = "command";

/** The set-point of a vehicle. Without a gate that describes it, the numbers of its command by the names of their fields. */
export function setpointShown(view: VehicleView): Setpoint {
    const rules = view.channel("gate.rules")?.as(GateRules);
    if (rules !== undefined) {
        return { channel: view.channel(rules.setpoint), axes: rules.axes };
    }
    const channel = view.channel(WITHOUT_GATE);
    const numbers = Object.entries(channel?.value() ?? {}).filter(([, value]) => typeof value === "number");
    return { channel, axes: numbers.map(([field]) => axisOf(field)) };
}

function axisOf(field: string): SetpointAxis {
    const [, word = field] = /^(.+)_[a-z0-9]+$/.exec(field) ?? [];
    return { field, word, unit: field.endsWith("_ratio") ? "ratio" : unitOf(field) };
}

/** The value of an axis; undefined before the first message. */
export function valueOf({ channel }: Setpoint, { field }: SetpointAxis): number | undefined {
    const value = (channel?.value() as Readonly<Record<string, unknown>> | undefined)?.[field];
    return typeof value === "number" ? value : undefined;
}
