/** A value with its name and unit, which shows when it is old. */

import type { Channel, Freshness } from "../store/channel.js";
import { el, setAttribute, setText } from "./dom.js";
import { duration } from "./format.js";

export class Readout {
    readonly element: HTMLElement;
    private readonly value = el("span", { class: "value" }, "–");
    private readonly age = el("span", { class: "ago" });

    constructor(label: string, unit = "", className = "") {
        this.element = el(
            "div",
            { class: `readout ${className}`, "data-fresh": "none" },
            el("span", { class: "label" }, label, this.age),
            el("span", { class: "number" }, this.value, el("span", { class: "unit" }, unit)),
        );
    }

    /** Shows a value of a channel, with that channel's age: what is old may still hold, but must not be taken for new. */
    show(text: string, channel: Channel | undefined, utime: number | undefined): void {
        this.set(text, channel?.freshness(utime) ?? "none", channel?.oldS(utime));
    }

    set(text: string, freshness: Freshness, oldS?: number): void {
        setText(this.value, freshness === "none" ? "–" : text);
        // What is stale is marked; how old it is, is in the panel's head.
        setText(this.age, freshness === "fresh" && oldS !== undefined ? ` ${duration(oldS)} ago` : "");
        setAttribute(this.element, "data-fresh", freshness);
        setAttribute(this.element, "title", freshness === "stale" ? "stale: nothing new has come" : undefined);
    }
}
