/** Where the vehicle is and how it moves, in numbers, and the set-points of its thrusters or wheels. */

import { Heading } from "../generated/bowline/heading_t.js";
import { PoseTransform } from "../generated/bowline/pose_transform_t.js";
import { Sounding } from "../generated/bowline/sounding_t.js";
import { Thrust } from "../generated/bowline/thrust_t.js";
import { Velocity } from "../generated/bowline/velocity_t.js";
import { ellipseOf, headingOf, placeOf, speedOf } from "../map/frame.js";
import { el, setAttribute, setShown } from "../shell/dom.js";
import { bearing, number } from "../shell/format.js";
import { Readout } from "../shell/readout.js";
import type { Channel } from "../store/channel.js";
import type { Context, Panel, PanelKind, Picture } from "./panel.js";

class VitalsPanel implements Panel {
    readonly body = el("div", { class: "vitals" });
    private readonly heading = new Readout("Heading", "°T", "large");
    private readonly speed = new Readout("Speed", "m/s", "large");
    private readonly depth = new Readout("Depth", "m", "large");
    private readonly place = new Readout("Position", "m E, N");
    private readonly doubt = new Readout("Uncertainty 95 %", "m");
    private readonly steering = new Readout("Steering", "°");
    private readonly command = new Readout("Commanded", "m/s");
    private readonly port = new Bar("Port");
    private readonly starboard = new Bar("Stbd");

    constructor(private readonly context: Context) {
        this.body.append(
            el("div", { class: "row" }, this.heading.element, this.speed.element, this.depth.element),
            el("div", { class: "row" }, this.place.element, this.doubt.element),
            el("div", { class: "row" }, this.command.element, this.steering.element),
            this.port.element,
            this.starboard.element,
        );
    }

    sources(): (Channel | undefined)[] {
        const { view } = this.context;
        const pose = view.find(PoseTransform, "pose");
        const compass = pose === undefined ? view.find(Heading, "compass.heading") : undefined;
        return [pose, compass, view.find(Sounding, "sounder.depth"), this.thrust(), view.find(Velocity, "command")];
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
        const thrust = this.thrust();
        this.port.show(thrust?.as(Thrust)?.port_ratio, thrust, utime);
        this.starboard.show(thrust?.as(Thrust)?.starboard_ratio, thrust, utime);
        const velocity = view.find(Velocity, "command");
        setShown(this.command.element, velocity !== undefined);
        setShown(this.steering.element, velocity !== undefined);
        this.command.show(number(velocity?.as(Velocity)?.speed_mps, 2), velocity, utime);
        const steering = velocity?.as(Velocity)?.steering_rad;
        this.steering.show(number(steering && (steering * 180) / Math.PI), velocity, utime);
    }

    private thrust(): Channel | undefined {
        const { view } = this.context;
        return [view.channel("thrust"), view.channel("thrust.command")].find((it) => it?.is(Thrust));
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

/** A ratio from full astern to full ahead. */
class Bar {
    readonly element: HTMLElement;
    private readonly fill = el("span", { class: "fill" });
    private readonly readout: Readout;

    constructor(label: string) {
        this.readout = new Readout(label, "%");
        this.element = el(
            "div",
            { class: "thrust", hidden: true },
            this.readout.element,
            el("span", { class: "track" }, this.fill),
        );
    }

    show(ratio: number | undefined, channel: Channel | undefined, utime: number | undefined): void {
        setShown(this.element, channel !== undefined);
        this.readout.show(number(ratio && ratio * 100, 0), channel, utime);
        const value = Math.max(-1, Math.min(1, ratio ?? 0));
        setAttribute(this.fill, "style", `left: ${50 + Math.min(0, value) * 50}%; width: ${Math.abs(value) * 50}%`);
        setAttribute(this.fill, "data-astern", value < 0 ? "" : undefined);
    }
}

export const vitals: PanelKind = {
    id: "vitals",
    title: "Vehicle",
    types: [PoseTransform, Thrust, Velocity],
    shows: [Heading, Sounding],
    per: "vehicle",
    places: { operate: "side" },
    make: (context) => new VitalsPanel(context),
};
