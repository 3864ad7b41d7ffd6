/**
 * How good the way to the vehicle is: what the ends of the link publish of themselves, and what the page sees of its own way to
 * the station.
 */

import { GateToken } from "../generated/bowline/gate_token_t.js";
import { LinkPath } from "../generated/bowline/link_path_t.js";
import type { LinkStream } from "../generated/bowline/link_stream_t.js";
import { Link } from "../generated/bowline/link_t.js";
import { el, setAttribute, setText } from "../shell/dom.js";
import { duration, number } from "../shell/format.js";
import { Readout } from "../shell/readout.js";
import type { Channel } from "../store/channel.js";
import { News } from "./news.js";
import type { Context, Panel, PanelKind, Picture } from "./panel.js";

const PATHS = ["down", "connecting", "ready", "stalled"];

/** Counters of a stream that mean that a message did not get there. */
const LOST = ["n_expired", "n_shed", "n_queue_full", "n_too_large", "n_incomplete"] as const;

function lostOf(stream: LinkStream): number {
    return LOST.reduce((sum, name) => sum + Number(stream[name]), 0);
}

class LinkPanel implements Panel {
    readonly body = el("div", { class: "link" });
    private readonly trip = new Readout("Station round trip", "ms");
    private readonly rate = new Readout("Messages", "1/s");
    private readonly tokens = new Readout("Vehicle received", "ago");
    private readonly facts = el("div");
    private readonly skipped = el("p", { class: "caption" });
    private readonly news = new News();
    private counted = { nowMs: 0, n: 0, perSecond: 0 };

    constructor(private readonly context: Context) {
        this.body.append(
            el("div", { class: "row" }, this.trip.element, this.rate.element, this.tokens.element),
            this.facts,
            this.skipped,
        );
    }

    sources(): (Channel | undefined)[] {
        return [...this.links(), this.context.view.channel("gate.token")];
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
        setText(
            this.skipped,
            `${nSkipped} messages were overtaken on the way to this page; ${store.nFaults} made no sense.`,
        );
        this.renderLinks(utime);
    }

    private links(): Channel[] {
        return this.context.store.channels().filter((it) => it.is(Link));
    }

    private renderLinks(utime: number | undefined): void {
        const links = this.links().flatMap((channel) => {
            const link = channel.as(Link);
            return link === undefined ? [] : [{ link, isFresh: channel.freshness(utime) === "fresh" }];
        });
        if (this.news.has(...links.flatMap(({ link, isFresh }) => [link, isFresh]))) {
            this.facts.replaceChildren(...links.map(({ link, isFresh }) => this.block(link, isFresh)));
        }
    }

    private block(link: Link, isFresh: boolean): HTMLElement {
        const paths = link.paths.map((path) => {
            const figures = `${number(path.rtt_s * 1e3, 0)} ms · ${number(path.capacity_bps / 1e3, 0)} kbit/s · ${number(path.loss_ratio * 100, 1)} % lost`;
            const state = PATHS[path.state] ?? `state ${path.state}`;
            const row = el(
                "li",
                {},
                el("strong", {}, `${path.name}${path.is_active ? " (in use)" : ""}`),
                " ",
                state,
                el("span", {}, path.problem || figures),
            );
            setAttribute(row, "data-good", path.state === LinkPath.READY ? "" : undefined);
            return row;
        });
        const worst = link.streams
            .map((stream) => ({ stream, lost: lostOf(stream) }))
            .filter(({ lost }) => lost > 0)
            .sort((a, b) => b.lost - a.lost)
            .slice(0, 4)
            .map(({ stream, lost }) =>
                el("li", {}, `${stream.channel}: ${lost} dropped, `, `p99 ${number(stream.age_p99_s, 2)} s old`),
            );
        const title = el("p", { class: "headline" }, `${link.name} to ${link.peer}${isFresh ? "" : " (stale)"}`);
        return el("div", {}, title, el("ul", { class: "paths" }, ...paths), el("ul", { class: "paths" }, ...worst));
    }

    private count(nowMs: number): void {
        const { store } = this.context;
        const elapsed = nowMs - this.counted.nowMs;
        if (elapsed >= 1_000) {
            this.counted = {
                nowMs,
                n: store.nMessages,
                perSecond: ((store.nMessages - this.counted.n) / elapsed) * 1_000,
            };
        }
    }
}

export const link: PanelKind = {
    id: "link",
    title: "Link",
    types: [],
    shows: [Link, GateToken],
    per: "vehicle",
    places: { operate: "side" },
    make: (context) => new LinkPanel(context),
};
