/** A multibeam sonar as a waterfall: a row for each ping, the newest on top, port on the left. */

import { Multibeam } from "../generated/bowline/multibeam_t.js";
import { ramp } from "../map/palette.js";
import { el, FittedCanvas, setText } from "../shell/dom.js";
import { number } from "../shell/format.js";
import type { Channel } from "../store/channel.js";
import type { Context, Panel, PanelKind, Picture } from "./panel.js";
import { want } from "../store/want.js";

/** Copper, as sonars have had since they had paper. */
const COLORS = ramp([
    [8, 8, 12],
    [74, 40, 16],
    [168, 96, 40],
    [232, 168, 88],
    [255, 240, 208],
]);

class WaterfallPanel implements Panel {
    readonly body = el("div", { class: "waterfall" });
    private readonly canvas = new FittedCanvas("Sonar waterfall, newest ping on top");
    private readonly caption = el("p", { class: "caption" });
    private readonly ring = document.createElement("canvas");
    private nDrawn = 0;

    constructor(
        private readonly context: Context,
        private readonly channel: Channel,
    ) {
        this.body.append(this.canvas.element, this.caption);
    }

    sources(): Channel[] {
        return [this.channel];
    }

    render({ isForText }: Picture): void {
        const fall = this.context.store.histories.waterfall(this.channel.name);
        const hasFit = this.canvas.fit();
        if (fall.nRows < this.nDrawn) {
            this.nDrawn = 0;
        }
        if (fall.nRows !== this.nDrawn || hasFit) {
            this.paintNew();
            this.show();
        }
        const ping = fall.last;
        if (isForText && ping !== undefined) {
            const middle = (ping.ranges_cm[ping.n_beams >> 1] ?? 0) / 100;
            setText(
                this.caption,
                `${ping.n_beams} beams · ${middle > 0 ? `${number(middle)} m below` : "no echo below"} · sound ${number(ping.sound_speed_mps, 0)} m/s`,
            );
        }
    }

    destroy(): void {
        this.canvas.destroy();
    }

    /** Brings the ring up to date: only rows that are new are painted. */
    private paintNew(): void {
        const fall = this.context.store.histories.waterfall(this.channel.name);
        const { width, height } = fall;
        if (this.ring.width !== width || this.ring.height !== height) {
            this.ring.width = width;
            this.ring.height = height;
        }
        const context = this.ring.getContext("2d");
        if (context === null) {
            return;
        }
        for (let row = Math.max(this.nDrawn, fall.nRows - height); row < fall.nRows; row++) {
            const image = context.createImageData(width, 1);
            const pixels = new Uint32Array(image.data.buffer);
            const start = (row % height) * width;
            for (let beam = 0; beam < fall.nBeams; beam++) {
                // Beams go from starboard to port by angle; people have port on the left.
                pixels[fall.nBeams - 1 - beam] = COLORS[fall.strengths[start + beam] ?? 0] ?? 0;
            }
            context.putImageData(image, 0, row % height);
        }
        this.nDrawn = fall.nRows;
    }

    /** Lays the ring out with the newest row on top: it is turned upside down, in two pieces. */
    private show(): void {
        const fall = this.context.store.histories.waterfall(this.channel.name);
        const { context, width, height } = this.canvas;
        context.fillStyle = "#08080c";
        context.fillRect(0, 0, width, height);
        const newest = (fall.nRows - 1) % fall.height;
        const nShown = Math.min(fall.nRows, fall.height, Math.floor(height));
        context.imageSmoothingEnabled = false;
        context.save();
        context.scale(1, -1);
        const first = Math.min(nShown, newest + 1);
        context.drawImage(this.ring, 0, newest - first + 1, Math.max(1, fall.nBeams), first, 0, -first, width, first);
        const second = nShown - first;
        if (second > 0) {
            context.drawImage(
                this.ring,
                0,
                fall.height - second,
                Math.max(1, fall.nBeams),
                second,
                0,
                -first - second,
                width,
                second,
            );
        }
        context.restore();
    }
}

export const waterfall: PanelKind = {
    id: "waterfall",
    title: "Sonar",
    types: [
        want(Multibeam, {
            maxHz: 30,
            past: 100,
            note: (histories, ping, channel) => histories.waterfall(channel.name).push(ping),
        }),
    ],
    per: "channel",
    places: { operate: "strip", sensors: "grid" },
    make: (context) => new WaterfallPanel(context, context.channel as Channel),
};
