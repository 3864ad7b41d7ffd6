/**
 * How good the way to the vehicle is: what the link says of itself (link_t, by its run-time schema), and what the page
 * sees of its own way to the station.
 */

import { GateToken } from "../generated/bowline/gate_token_t.js";
import { el, setText } from "../shell/dom.js";
import { duration, number } from "../shell/format.js";
import { Readout } from "../shell/readout.js";
import type { Channel } from "../store/channel.js";
import { brief, unitOf } from "../shell/fields.js";
import type { Context, Panel, PanelKind, Picture } from "./panel.js";

const LINK = "bowline.link_t";

class LinkPanel implements Panel {
    readonly body = el("div", { class: "link" });
    private readonly trip = new Readout("Station round trip", "ms");
    private readonly rate = new Readout("Messages", "1/s");
    private readonly tokens = new Readout("Vehicle heard", "ago");
    private readonly facts = el("dl", { class: "fields" });
    private readonly skipped = el("p", { class: "caption" });
    private counted = { nowMs: 0, n: 0, perSecond: 0 };

    constructor(private readonly context: Context) {
        this.body.append(
            el("div", { class: "row" }, this.trip.element, this.rate.element, this.tokens.element),
            this.facts,
            this.skipped,
        );
    }

    sources(): (Channel | undefined)[] {
        return [this.links()[0] ?? this.context.view.channel("gate.token")];
    }

    render({ nowMs, utime, isForText }: Picture): void {
        if (!isForText) {
            return;
        }
        const { store, view } = this.context;
        this.count(nowMs);
        const isCutOff = store.isCutOff(nowMs);
        this.trip.set(number(store.roundTripMs, 0), isCutOff || store.roundTripMs === undefined ? "stale" : "fresh");
        this.rate.set(number(this.counted.perSecond, 0), isCutOff ? "stale" : "fresh");
        const token = view.find(GateToken, "gate.token");
        this.tokens.show(duration(token?.ageS(utime)), token, utime);
        const nSkipped = store.channelsOf(view.vehicle).reduce((sum, it) => sum + it.nSkipped, 0);
        setText(this.skipped, `${nSkipped} messages were overtaken on the way to this page; ${store.nFaults} made no sense.`);
        this.renderLinks();
    }

    private links(): Channel[] {
        return this.context.store.channels().filter((it) => it.typeName === LINK);
    }

    private renderLinks(): void {
        const rows = this.links().flatMap((channel) => {
            const value = channel.value() as Record<string, unknown> | undefined;
            return Object.entries(value ?? {})
                .filter(([, field]) => typeof field !== "object")
                .map(([name, field]) => [name, `${brief(field, name)} ${unitOf(name)}`] as const);
        });
        const nodes = rows.slice(0, 24).flatMap(([name, text]) => [el("dt", {}, name), el("dd", {}, text)]);
        this.facts.replaceChildren(...nodes);
    }

    private count(nowMs: number): void {
        const { store } = this.context;
        const elapsed = nowMs - this.counted.nowMs;
        if (elapsed >= 1_000) {
            this.counted = { nowMs, n: store.nMessages, perSecond: ((store.nMessages - this.counted.n) / elapsed) * 1_000 };
        }
    }
}

export const link: PanelKind = {
    id: "link",
    title: "Link",
    types: [],
    per: "vehicle",
    places: { operate: "side", sensors: "grid" },
    make: (context) => new LinkPanel(context),
};
