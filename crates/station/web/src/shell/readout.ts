/** A value with its name and unit, which says when it is old. */

import type { Channel, Freshness } from "../store/channel.js";
import { el, setAttribute, setText } from "./dom.js";
import { duration } from "./format.js";

/** What is older than this has its age beside it, seconds: it may still hold, but nobody must take it for new. */
const AGE_FROM_S = 1;

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

    /** Shows a value of a channel, with that channel's age. */
    show(text: string, channel: Channel | undefined, utime: number | undefined): void {
        this.set(text, channel?.freshness(utime) ?? "none", channel?.ageS(utime));
    }

    set(text: string, freshness: Freshness, ageS?: number): void {
        setText(this.value, freshness === "none" ? "–" : text);
        // What is stale is said to be that; how old it is, is in the panel's head.
        const isOld = freshness === "fresh" && ageS !== undefined && ageS > AGE_FROM_S;
        setText(this.age, isOld ? ` ${duration(ageS)} ago` : "");
        setAttribute(this.element, "data-fresh", freshness);
        setAttribute(this.element, "title", freshness === "stale" ? "stale: nothing new has come" : undefined);
    }
}
