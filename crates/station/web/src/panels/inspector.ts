/** All channels: type, rate, age, what was not sent; and the fields of one of them. */

import { el, setAttribute, setText } from "../shell/dom.js";
import { bytes, duration, number } from "../shell/format.js";
import type { Channel } from "../store/channel.js";
import type { Context, Panel, PanelKind, Picture } from "./panel.js";
import { RawPanel } from "./raw.js";

const COLUMNS = ["Channel", "Type", "Rate", "Age", "Size", "Not sent"];

class InspectorPanel implements Panel {
    readonly body = el("div", { class: "inspector" });
    private readonly filter = el("input", {
        type: "search",
        placeholder: "Filter channels or types",
        "aria-label": "Filter channels or types",
    });
    private readonly rows = el("tbody");
    private readonly detail = el("div", { class: "detail" });
    private readonly count = el("span", { class: "caption" });
    private readonly byName = new Map<string, readonly HTMLTableCellElement[]>();
    private shown = "";
    private chosen: RawPanel | undefined;
    private chosenName = "";

    constructor(private readonly context: Context) {
        const head = el("tr", {}, ...COLUMNS.map((name) => el("th", { scope: "col" }, name)));
        this.body.append(
            el("div", { class: "tools" }, this.filter, this.count),
            el(
                "div",
                { class: "table", tabindex: "0", role: "region", "aria-label": "Channels" },
                el("table", {}, el("thead", {}, head), this.rows),
            ),
            this.detail,
        );
    }

    sources(): [] {
        return [];
    }

    render(picture: Picture): void {
        if (picture.isForText) {
            const wanted = this.filter.value.toLowerCase();
            const all = this.context.store.channels();
            const channels = all.filter((it) => `${it.name} ${it.typeName}`.toLowerCase().includes(wanted));
            setText(this.count, `${channels.length} of ${all.length} channels`);
            this.arrange(channels);
            for (const channel of channels) {
                this.renderRow(channel, picture.utime);
            }
        }
        this.chosen?.render(picture);
    }

    private arrange(channels: readonly Channel[]): void {
        const names = channels.map((it) => it.name).join("\n");
        if (names === this.shown) {
            return;
        }
        this.shown = names;
        this.byName.clear();
        this.rows.replaceChildren(...channels.map((channel) => this.makeRow(channel)));
        if (this.chosenName === "" && channels[0] !== undefined) {
            this.choose(channels[0]);
        }
    }

    private makeRow(channel: Channel): HTMLElement {
        const cells = COLUMNS.map(() => el("td"));
        const link = el("button", { type: "button", class: "link", onclick: () => this.choose(channel) }, channel.name);
        cells[0]?.append(link);
        this.byName.set(channel.name, cells);
        const row = el("tr", { "data-name": channel.name }, ...cells);
        setAttribute(row, "aria-selected", channel.name === this.chosenName ? "true" : undefined);
        return row;
    }

    private renderRow(channel: Channel, utime: number | undefined): void {
        const [, type, rate, age, size, skipped] = this.byName.get(channel.name) ?? [];
        const atStation = this.context.store.status?.rates?.[channel.name];
        const hz = atStation ?? (channel.periodUs ? 1e6 / channel.periodUs : undefined);
        if (type && rate && age && size && skipped) {
            setText(type, channel.typeName);
            setText(rate, hz === undefined ? "–" : `${number(hz)} Hz`);
            setText(age, duration(channel.ageS(utime)));
            setAttribute(age, "data-fresh", channel.freshness(utime));
            setText(size, channel.bytes === undefined ? "–" : bytes(channel.bytes.length));
            setText(skipped, String(channel.nSkipped));
        }
    }

    private choose(channel: Channel): void {
        this.chosenName = channel.name;
        this.chosen = new RawPanel(this.context, channel);
        this.detail.replaceChildren(el("h3", {}, channel.name), this.chosen.body);
        for (const row of this.rows.children) {
            setAttribute(row, "aria-selected", row.getAttribute("data-name") === channel.name ? "true" : undefined);
        }
    }
}

export const inspector: PanelKind = {
    id: "inspector",
    title: "Messages",
    types: [],
    per: "vehicle",
    places: { messages: "wide" },
    make: (context) => new InspectorPanel(context),
};
