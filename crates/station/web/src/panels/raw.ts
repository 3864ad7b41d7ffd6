/** The panel for everything that has none of its own: all fields of a channel's last message. */

import { el } from "../shell/dom.js";
import { fieldTree } from "../shell/fields.js";
import type { Channel } from "../store/channel.js";
import type { Context, Panel, PanelKind, Picture } from "./panel.js";

/** A tree is costly: three times a second is as fast as a person reads one. */
const DRAW_EVERY_MS = 330;

export class RawPanel implements Panel {
    readonly body = el("div", { class: "raw", tabindex: "0" });
    private shown: Uint8Array | undefined;
    private isUndecoded = true;
    private drawnMs = Number.NEGATIVE_INFINITY;

    constructor(
        private readonly context: Context,
        private readonly channel: Channel,
    ) {}

    sources(): Channel[] {
        return [this.channel];
    }

    render({ nowMs }: Picture): void {
        const { bytes } = this.channel;
        // The description of a type may come after its first message, and there may be no second one.
        const isNews = bytes !== this.shown || (this.isUndecoded && this.channel.value() !== undefined);
        if (!isNews || nowMs - this.drawnMs < DRAW_EVERY_MS) {
            return;
        }
        this.shown = bytes;
        this.drawnMs = nowMs;
        const value = this.channel.value();
        this.isUndecoded = value === undefined;
        this.body.replaceChildren(
            el("p", { class: "type" }, this.channel.typeName),
            value === undefined
                ? el("p", { class: "refused" }, this.channel.error || "no message yet")
                : fieldTree(value, this.context.store.types, this.channel.fingerprint),
        );
    }
}

export const raw: PanelKind = {
    id: "raw",
    title: "Message",
    types: [],
    per: "channel",
    places: { sensors: "grid" },
    make: (context) => new RawPanel(context, context.channel as Channel),
};
