/** Where the vehicle is and how it moves, in numbers, and what its actuators are set to. */

import { GateRules } from "../generated/bowline/gate_rules_t.js";
import { Heading } from "../generated/bowline/heading_t.js";
import { PoseTransform } from "../generated/bowline/pose_transform_t.js";
import { Sounding } from "../generated/bowline/sounding_t.js";
import { ellipseOf, headingOf, placeOf, speedOf } from "../map/frame.js";
import { el, setAttribute, setShown } from "../shell/dom.js";
import { bearing, number } from "../shell/format.js";
import { Readout } from "../shell/readout.js";
import type { Channel } from "../store/channel.js";
import { type SetpointAxis, setpointShown, valueOf } from "./setpoint.js";
import type { Context, Panel, PanelKind, Picture } from "./panel.js";

class VitalsPanel implements Panel {
    readonly body = el("div", { class: "vitals" });
    private readonly heading = new Readout("Heading", "°T", "large");
    private readonly speed = new Readout("Speed", "m/s", "large");
    private readonly depth = new Readout("Depth", "m", "large");
    private readonly place = new Readout("Position", "m E, N");
    private readonly doubt = new Readout("Uncertainty 95 %", "m");
    private readonly setpoint = el("div", { class: "setpoint" });
    /** What shows each axis of the set-point, and for which axes that was made. */
    private gauges: readonly Gauge[] = [];
    private gaugesFor = "";

    constructor(private readonly context: Context) {
        this.body.append(
            el("div", { class: "row" }, this.heading.element, this.speed.element, this.depth.element),
            el("div", { class: "row" }, this.place.element, this.doubt.element),
            this.setpoint,
        );
    }

    sources(): (Channel | undefined)[] {
        const { view } = this.context;
        const pose = view.find(PoseTransform, "pose");
        const compass = pose === undefined ? view.find(Heading, "compass.heading") : undefined;
        return [pose, compass, view.find(Sounding, "sounder.depth"), setpointShown(view).channel];
    }

    render({ utime, isForText }: Picture): void {
        if (!isForText) {
            return;
        }
        const { view } = this.context;
        this.renderPose(view.find(PoseTransform, "pose"), view.find(Heading, "compass.heading"), utime);
        const sounding = view.find(Sounding, "sounder.depth");
        setShown(this.depth.element, sounding !== undefined);
        this.depth.show(number(sounding?.as(Sounding)?.depth_m), sounding, utime);
        this.renderSetpoint(utime);
    }

    private renderSetpoint(utime: number | undefined): void {
        const setpoint = setpointShown(this.context.view);
        const { channel, axes } = setpoint;
        setShown(this.setpoint, channel !== undefined);
        const made = JSON.stringify(axes.map(({ word, unit }) => [word, unit]));
        if (made !== this.gaugesFor) {
            this.gaugesFor = made;
            this.gauges = axes.map(gaugeOf);
            this.setpoint.replaceChildren(...this.gauges.map(({ element }) => element));
        }
        axes.forEach((axis, at) => this.gauges[at]?.show(valueOf(setpoint, axis), channel, utime));
    }

    private renderPose(channel: Channel | undefined, compass: Channel | undefined, utime: number | undefined): void {
        const pose = channel?.as(PoseTransform);
        const heading = pose ? headingOf(pose) : compass?.as(Heading)?.heading_rad;
        this.heading.show(bearing(heading), pose ? channel : compass, utime);
        this.speed.show(number(pose && speedOf(pose), 2), channel, utime);
        this.place.show(
            pose
                ? placeOf(pose)
                      .map((it) => number(it))
                      .join(", ")
                : "–",
            channel,
            utime,
        );
        const ellipse = pose && ellipseOf(pose);
        this.doubt.show(ellipse ? `${number(ellipse.a, 2)} × ${number(ellipse.b, 2)}` : "–", channel, utime);
    }
}

/** Shows one axis of a set-point. */
interface Gauge {
    readonly element: HTMLElement;
    show(value: number | undefined, channel: Channel | undefined, utime: number | undefined): void;
}

function gaugeOf({ word, unit }: SetpointAxis): Gauge {
    const label = word.charAt(0).toUpperCase() + word.slice(1);
    return unit === "ratio" ? new Bar(label) : new Value(`Set ${word}`, unit);
}

/** A number in its unit, angles in degrees. */
class Value implements Gauge {
    readonly element: HTMLElement;
    private readonly readout: Readout;

    constructor(
        label: string,
        private readonly unit: string,
    ) {
        this.readout = new Readout(label, unit === "rad" ? "°" : unit);
        this.element = this.readout.element;
    }

    show(value: number | undefined, channel: Channel | undefined, utime: number | undefined): void {
        const isAngle = this.unit === "rad";
        this.readout.show(isAngle ? number(value && (value * 180) / Math.PI) : number(value, 2), channel, utime);
    }
}

/** A ratio from full astern to full ahead. */
class Bar implements Gauge {
    readonly element: HTMLElement;
    private readonly fill = el("span", { class: "fill" });
    private readonly readout: Readout;

    constructor(label: string) {
        this.readout = new Readout(label, "%");
        this.element = el("div", { class: "bar" }, this.readout.element, el("span", { class: "track" }, this.fill));
    }

    show(ratio: number | undefined, channel: Channel | undefined, utime: number | undefined): void {
        this.readout.show(number(ratio && ratio * 100, 0), channel, utime);
        const value = Math.max(-1, Math.min(1, ratio ?? 0));
        setAttribute(this.fill, "style", `left: ${50 + Math.min(0, value) * 50}%; width: ${Math.abs(value) * 50}%`);
        setAttribute(this.fill, "data-astern", value < 0 ? "" : undefined);
    }
}

export const vitals: PanelKind = {
    id: "vitals",
    title: "Vehicle",
    types: [PoseTransform, GateRules],
    shows: [Heading, Sounding],
    per: "vehicle",
    places: { operate: "side" },
    make: (context) => new VitalsPanel(context),
};
