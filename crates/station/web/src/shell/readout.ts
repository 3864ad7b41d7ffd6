/** A value with its name and unit, which says when it is old. */

import type { Channel, Freshness } from "../store/channel.js";
import { el, setAttribute, setText } from "./dom.js";

export class Readout {
    readonly element: HTMLElement;
    private readonly value: HTMLElement;

    constructor(label: string, unit = "", className = "") {
        this.value = el("span", { class: "value" }, "–");
        this.element = el(
            "div",
            { class: `readout ${className}`, "data-fresh": "none" },
            el("span", { class: "label" }, label),
            el("span", { class: "number" }, this.value, el("span", { class: "unit" }, unit)),
        );
    }

    /** Shows a value of a channel, with that channel's age. */
    show(text: string, channel: Channel | undefined, utime: number | undefined): void {
        this.set(text, channel?.freshness(utime) ?? "none");
    }

    set(text: string, freshness: Freshness): void {
        setText(this.value, freshness === "none" ? "–" : text);
        setAttribute(this.element, "data-fresh", freshness);
        setAttribute(this.element, "title", freshness === "stale" ? "stale: nothing new has come" : undefined);
    }
}
