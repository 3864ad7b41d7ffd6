/** What the robot believes beside what is true: only a simulation knows both. */

import { Contact } from "../generated/bowline/contact_t.js";
import { MapError } from "../generated/bowline/map_error_t.js";
import { PoseTransform } from "../generated/bowline/pose_transform_t.js";
import { Sea } from "../generated/bowline/sea_t.js";
import { ellipseOf, headingOf, placeOf, speedOf } from "../map/frame.js";
import { el, setAttribute, setText } from "../shell/dom.js";
import { bearing, number } from "../shell/format.js";
import type { Channel } from "../store/channel.js";
import type { Context, Panel, PanelKind, Picture } from "./panel.js";

interface Row {
    readonly row: HTMLElement;
    readonly believed: HTMLElement;
    readonly real: HTMLElement;
    readonly off: HTMLElement;
}

class TruthPanel implements Panel {
    readonly body = el("div", { class: "truth" });
    private readonly rows: Readonly<Record<"east" | "north" | "heading" | "speed", Row>>;
    private readonly verdict = el("p", { class: "headline" });
    private readonly facts = el("dl", { class: "fields" });
    private readonly values = new Map<string, HTMLElement>();

    constructor(private readonly context: Context) {
        const row = (label: string): Row => {
            const [believed, real, off] = [el("td"), el("td"), el("td")];
            return { row: el("tr", {}, el("th", { scope: "row" }, label), believed, real, off), believed, real, off };
        };
        this.rows = {
            east: row("East, m"),
            north: row("North, m"),
            heading: row("Heading, °"),
            speed: row("Speed, m/s"),
        };
        const head = el(
            "tr",
            {},
            ...["Quantity", "Believed", "True", "Off"].map((it) => el("th", { scope: "col" }, it)),
        );
        this.body.append(
            this.verdict,
            el("table", {}, el("thead", {}, head), el("tbody", {}, ...Object.values(this.rows).map((it) => it.row))),
            this.facts,
        );
    }

    sources(): (Channel | undefined)[] {
        const facts = this.factChannels();
        return [this.context.view.channel("truth.pose"), this.believedChannel(), ...facts];
    }

    render({ utime, isForText }: Picture): void {
        if (!isForText) {
            return;
        }
        const believed = this.believedChannel();
        const real = this.context.view.channel("truth.pose");
        this.renderPoses(believed?.as(PoseTransform), real?.as(PoseTransform));
        const isFresh = [believed, real].every((it) => it?.freshness(utime) === "fresh");
        for (const { row } of Object.values(this.rows)) {
            setAttribute(row, "data-fresh", isFresh ? "fresh" : "stale");
        }
        setAttribute(this.verdict, "data-fresh", isFresh || real === undefined ? undefined : "stale");
        this.renderFacts(utime);
    }

    private believedChannel(): Channel | undefined {
        return this.context.view.find(PoseTransform, "pose");
    }

    private renderPoses(believed: PoseTransform | undefined, real: PoseTransform | undefined): void {
        if (believed === undefined || real === undefined) {
            setText(this.verdict, "The truth is not on the bus: this is no simulation, or it does not publish it.");
            return;
        }
        const [[bx, by], [rx, ry]] = [placeOf(believed), placeOf(real)];
        const turn = headingOf(believed) - headingOf(real);
        const turnDeg = (Math.atan2(Math.sin(turn), Math.cos(turn)) * 180) / Math.PI;
        show(this.rows.east, number(bx, 2), number(rx, 2), number(bx - rx, 2));
        show(this.rows.north, number(by, 2), number(ry, 2), number(by - ry, 2));
        show(this.rows.heading, bearing(headingOf(believed)), bearing(headingOf(real)), number(-turnDeg, 1));
        show(
            this.rows.speed,
            number(speedOf(believed), 2),
            number(speedOf(real), 2),
            number(speedOf(believed) - speedOf(real), 2),
        );
        const off = Math.hypot(bx - rx, by - ry);
        const ellipse = ellipseOf(believed);
        const isWithin = ellipse === undefined ? undefined : off <= ellipse.a;
        const claim = isWithin === undefined ? "" : isWithin ? ", within what it claims" : ", beyond what it claims";
        setText(this.verdict, `${number(off, 2)} m from the truth${claim}`);
        setAttribute(this.verdict, "data-bad", isWithin === false ? "" : undefined);
    }

    private factChannels(): Channel[] {
        const { view, store } = this.context;
        return store.channelsOf(view.vehicle).filter((it) => it.is(MapError) || it.is(Contact) || it.is(Sea));
    }

    private renderFacts(utime: number | undefined): void {
        for (const channel of this.factChannels()) {
            for (const [name, text] of factsOf(channel)) {
                const key = `${channel.name} ${name}`;
                const value = this.values.get(key) ?? this.addFact(key, name);
                setText(value, text);
                setAttribute(value, "data-fresh", channel.freshness(utime));
            }
        }
    }

    private addFact(key: string, name: string): HTMLElement {
        const value = el("dd");
        this.values.set(key, value);
        this.facts.append(el("dt", {}, name), value);
        return value;
    }
}

/** What a channel has of the truth, by name. */
function factsOf(channel: Channel): [string, string][] {
    const [error, contact, sea] = [channel.as(MapError), channel.as(Contact), channel.as(Sea)];
    if (error !== undefined) {
        const text = `${number(error.rms_m, 3)} m rms, bias ${number(error.bias_m, 3)} m, worst ${number(error.worst_m, 2)} m`;
        return [[`${error.plane} map`, text]];
    }
    if (contact !== undefined) {
        const touching = contact.others.map((it, i) => `${contact.bodies[i]} on ${it}`).join(", ");
        return [["contacts", `${contact.n_begun} begun; ${touching || "touches nothing now"}`]];
    }
    if (sea !== undefined) {
        const [cx = 0, cy = 0] = sea.current_mps;
        const [wx = 0, wy = 0] = sea.wind_mps;
        return [
            ["current", `${number(Math.hypot(cx, cy), 2)} m/s towards ${bearing(Math.atan2(cy, cx))}°`],
            ["wind", `${number(Math.hypot(wx, wy))} m/s towards ${bearing(Math.atan2(wy, wx))}°`],
            ["true depth", `${number(sea.depth_m)} m`],
        ];
    }
    return [];
}

function show(row: Row, believed: string, real: string, off: string): void {
    setText(row.believed, believed);
    setText(row.real, real);
    setText(row.off, off);
}

export const truth: PanelKind = {
    id: "truth",
    title: "Belief and truth",
    types: [PoseTransform],
    shows: [MapError, Contact, Sea],
    per: "vehicle",
    places: { simulation: "side" },
    make: (context) => new TruthPanel(context),
};
