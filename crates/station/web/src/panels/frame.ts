/** The last frame's content: the last value of each sensor, in a line each. */

import { brief } from "../shell/fields.js";
import { el, setAttribute, setText } from "../shell/dom.js";
import { duration } from "../shell/format.js";
import type { Channel } from "../store/channel.js";
import { isHousekeeping } from "../store/vehicles.js";
import type { Context, Panel, PanelKind, Picture } from "./panel.js";

const DRAW_EVERY_MS = 250;

class FramePanel implements Panel {
    readonly body = el("div", {
        class: "last-frame",
        tabindex: "0",
        role: "region",
        "aria-label": "The last message of each channel",
    });
    private readonly rows = el("tbody");
    private readonly cells = new Map<
        string,
        { readonly row: HTMLElement; readonly text: HTMLElement; readonly age: HTMLElement }
    >();
    private drawnMs = 0;

    constructor(private readonly context: Context) {
        this.body.append(el("table", {}, this.rows));
    }

    sources(): [] {
        return [];
    }

    render({ nowMs, utime }: Picture): void {
        if (nowMs - this.drawnMs < DRAW_EVERY_MS) {
            return;
        }
        this.drawnMs = nowMs;
        const { view } = this.context;
        for (const channel of view.channels()) {
            if (channel.nMessages === 0 || isHousekeeping(view.shortName(channel))) {
                continue;
            }
            const { row, text, age } = this.cells.get(channel.name) ?? this.add(channel);
            setText(text, summary(channel));
            setText(age, duration(channel.ageS(utime)));
            setAttribute(row, "data-fresh", channel.freshness(utime));
        }
    }

    private add(channel: Channel): { row: HTMLElement; text: HTMLElement; age: HTMLElement } {
        const [text, age] = [el("td"), el("td", { class: "age" })];
        const row = el("tr", {}, el("th", { scope: "row" }, this.context.view.shortName(channel)), text, age);
        this.rows.append(row);
        const made = { row, text, age };
        this.cells.set(channel.name, made);
        return made;
    }
}

/** The fields of a message in one line: numbers and words first, long lists by their size. */
function summary(channel: Channel): string {
    const value = channel.value();
    if (value === undefined) {
        return channel.error;
    }
    return Object.entries(value)
        .filter(([name]) => !/utime$|^frame$|^reference$|^n_/.test(name))
        .slice(0, 8)
        .map(([name, field]) => `${name} ${brief(field, name)}`)
        .join(" · ")
        .slice(0, 240);
}

export const frame: PanelKind = {
    id: "frame",
    title: "Last frame",
    types: [],
    per: "vehicle",
    places: { simulation: "strip" },
    make: (context) => new FramePanel(context),
};
