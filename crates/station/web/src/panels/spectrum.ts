/** What a mass spectrometer finds, over time: a curve for each mass, the names with their latest values beside it. */

import { Spectrum } from "../generated/bowline/spectrum_t.js";
import { el, setText } from "../shell/dom.js";
import { engineering } from "../shell/format.js";
import { curveColor, Plot } from "../shell/plot.js";
import type { Channel } from "../store/channel.js";
import type { Series } from "../store/series.js";
import type { Context, Panel, PanelKind, Picture } from "./panel.js";
import { want } from "../store/want.js";

const WINDOW_S = 300;
const MAX_CURVES = 6;

class SpectrumPanel implements Panel {
    readonly body = el("div", { class: "spectrum" });
    private readonly plot = new Plot({ isLog: true, windowS: WINDOW_S, format: (value) => engineering(value, "A") });
    private readonly legend = el("ul", { class: "curves" });
    private values: HTMLElement[] = [];
    private names: readonly string[] = [];

    constructor(
        private readonly context: Context,
        private readonly channel: Channel,
    ) {
        this.body.append(this.plot.element, this.legend);
    }

    sources(): Channel[] {
        return [this.channel];
    }

    render({ nowMs, utime, isForText }: Picture): void {
        const { histories } = this.context.store;
        const names = histories.seriesNames(this.channel.name).slice(0, MAX_CURVES);
        if (names.join() !== this.names.join()) {
            this.names = names;
            this.values = names.map(() => el("span", { class: "value" }));
            this.legend.replaceChildren(
                ...names.map((name, i) =>
                    el(
                        "li",
                        {},
                        el("i", { style: `background: var(${curveColor(i)})` }),
                        el("span", {}, name),
                        this.values[i] ?? "",
                    ),
                ),
            );
        }
        const curves = new Map<string, Series>(names.map((name) => [name, histories.series(this.channel.name, name)]));
        if (utime !== undefined) {
            this.plot.draw(curves, utime / 1e6, nowMs);
        }
        if (isForText) {
            names.forEach((name, i) => {
                const value = this.values[i];
                if (value !== undefined) {
                    setText(value, engineering(curves.get(name)?.last, "A"));
                }
            });
        }
    }

    destroy(): void {
        this.plot.destroy();
    }
}

export const spectrum: PanelKind = {
    id: "spectrum",
    title: "Chemistry",
    types: [
        want(Spectrum, {
            past: 500,
            note: (histories, spectrum, channel, utime) => {
                spectrum.names.forEach((name, i) => {
                    histories.series(channel.name, name).push(utime / 1e6, spectrum.current_a[i] ?? Number.NaN);
                });
            },
        }),
    ],
    per: "channel",
    places: { operate: "strip", sensors: "grid" },
    make: (context) => new SpectrumPanel(context, context.channel as Channel),
};
