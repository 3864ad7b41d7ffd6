/** Depth below a sounder, over time. */

import { Sounding } from "../generated/bowline/sounding_t.js";
import { el } from "../shell/dom.js";
import { number } from "../shell/format.js";
import { Plot } from "../shell/plot.js";
import { Readout } from "../shell/readout.js";
import type { Channel } from "../store/channel.js";
import type { Context, Panel, PanelKind, Picture } from "./panel.js";
import { want } from "../store/want.js";

class SoundingPanel implements Panel {
    readonly body = el("div", { class: "sounding" });
    private readonly plot = new Plot({ isLog: false, windowS: 300, format: (value) => `${number(value)} m` });
    private readonly depth = new Readout("Depth", "m", "large");

    constructor(
        private readonly context: Context,
        private readonly channel: Channel,
    ) {
        this.body.append(this.depth.element, this.plot.element);
    }

    sources(): Channel[] {
        return [this.channel];
    }

    render({ nowMs, utime, isForText }: Picture): void {
        if (utime !== undefined) {
            const series = this.context.store.histories.series(this.channel.name, "depth_m");
            this.plot.draw(new Map([["depth", series]]), utime / 1e6, nowMs);
        }
        if (isForText) {
            this.depth.show(number(this.channel.as(Sounding)?.depth_m, 2), this.channel, utime);
        }
    }

    destroy(): void {
        this.plot.destroy();
    }
}

export const sounding: PanelKind = {
    id: "sounding",
    title: "Depth",
    types: [want(Sounding, { past: 500, series: { depth_m: (it) => it.depth_m } })],
    per: "channel",
    places: { sensors: "grid" },
    make: (context) => new SoundingPanel(context, context.channel as Channel),
};
