/** How well the run goes, in figures: distance, time, commands, contacts, maps. What seed 003 calls the robot's metrics. */

import { Arbitration } from "../generated/bowline/arbitration_t.js";
import { Contact } from "../generated/bowline/contact_t.js";
import { Gate } from "../generated/bowline/gate_t.js";
import { Helm } from "../generated/bowline/helm_t.js";
import { MapError } from "../generated/bowline/map_error_t.js";
import { PoseTransform } from "../generated/bowline/pose_transform_t.js";
import { speedOf } from "../map/frame.js";
import { el } from "../shell/dom.js";
import { number } from "../shell/format.js";
import { Readout } from "../shell/readout.js";
import type { Channel } from "../store/channel.js";
import type { Context, Panel, PanelKind, Picture } from "./panel.js";

/** A figure: from which channel, and how it reads. One row for each. */
interface Figure {
    readonly label: string;
    readonly unit: string;
    readonly channel: (context: Context) => Channel | undefined;
    readonly text: (channel: Channel, context: Context) => string | undefined;
}

const pose = ({ view }: Context): Channel | undefined => view.find(PoseTransform, "pose");
const gate = ({ view }: Context): Channel | undefined => view.channel("gate.state");
const helm = ({ view }: Context): Channel | undefined => view.find(Helm, "helm.state");
const arbiter = ({ view }: Context): Channel | undefined => view.find(Arbitration, "arbiter");

const FIGURES: readonly Figure[] = [
    {
        label: "Speed",
        unit: "m/s",
        channel: pose,
        text: (it) => (it.is(PoseTransform) ? number(speedOf(it.as(PoseTransform) as PoseTransform), 2) : undefined),
    },
    {
        label: "Gone",
        unit: "m",
        channel: pose,
        text: (it, { store }) => number(store.histories.track(it.name).lengthM, 0),
    },
    {
        label: "Legs",
        unit: "",
        channel: helm,
        text: (it) => text(it.as(Helm), (helm) => `${helm.n_done} of ${helm.n_legs}`),
    },
    { label: "Left", unit: "m", channel: helm, text: (it) => text(it.as(Helm), (helm) => number(helm.left_m, 0)) },
    {
        label: "Off track",
        unit: "m",
        channel: helm,
        text: (it) => text(it.as(Helm), (helm) => number(helm.cross_track_m, 2)),
    },
    {
        label: "Turns with",
        unit: "1/m",
        channel: arbiter,
        text: (it) => text(it.as(Arbitration), (result) => number(result.curvature_per_m, 3)),
    },
    {
        label: "Commands taken",
        unit: "",
        channel: gate,
        text: (it) => text(it.as(Gate), (gate) => String(gate.n_accepted)),
    },
    {
        label: "Commands refused",
        unit: "",
        channel: gate,
        text: (it) => text(it.as(Gate), (gate) => String(gate.n_refused)),
    },
    {
        label: "Contacts",
        unit: "",
        channel: ({ view }) => view.channel("truth.contact"),
        text: (it) => text(it.as(Contact), (contact) => String(contact.n_begun)),
    },
    {
        label: "Map off",
        unit: "m rms",
        channel: ({ view }) => view.channel("truth.map_error"),
        text: (it) => text(it.as(MapError), (error) => number(error.rms_m, 3)),
    },
];

function text<T>(message: T | undefined, read: (message: T) => string): string | undefined {
    return message === undefined ? undefined : read(message);
}

class MetricsPanel implements Panel {
    readonly body = el("div", { class: "metrics" });
    private readonly readouts = new Map<Figure, Readout>();

    constructor(private readonly context: Context) {}

    sources(): (Channel | undefined)[] {
        return FIGURES.map((it) => it.channel(this.context));
    }

    render({ utime, isForText }: Picture): void {
        if (!isForText) {
            return;
        }
        for (const figure of FIGURES) {
            const channel = figure.channel(this.context);
            const value = channel && figure.text(channel, this.context);
            if (value !== undefined) {
                this.readout(figure).show(value, channel, utime);
            }
        }
    }

    /** The readout of a figure, at its place in the order: there is one as soon as there is a value. */
    private readout(figure: Figure): Readout {
        const known = this.readouts.get(figure);
        if (known !== undefined) {
            return known;
        }
        const made = new Readout(figure.label, figure.unit);
        this.readouts.set(figure, made);
        this.body.replaceChildren(...FIGURES.flatMap((it) => this.readouts.get(it)?.element ?? []));
        return made;
    }
}

export const metrics: PanelKind = {
    id: "metrics",
    title: "Metrics",
    types: [PoseTransform],
    per: "vehicle",
    places: { simulation: "side" },
    make: (context) => new MetricsPanel(context),
};
