/** Curves over time, with uPlot: as many as there are names, over the last minutes. */

import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { Series } from "../store/series.js";
import { el, screenScale } from "./dom.js";
import { shownTheme, themeColor } from "./theme.js";

/** Distinguishable for people who see red and green alike, in either theme. */
const COLORS = ["--curve-1", "--curve-2", "--curve-3", "--curve-4", "--curve-5", "--curve-6"];
const DRAW_EVERY_MS = 100;

export interface PlotOptions {
    readonly isLog: boolean;
    readonly format: (value: number) => string;
    readonly windowS: number;
}

export class Plot {
    readonly element = el("div", { class: "plot" });
    private plot: uPlot | undefined;
    /** What it was made for: curves and colours. */
    private made = "";
    private drawnMs = 0;
    private readonly observer: ResizeObserver;

    constructor(private readonly options: PlotOptions) {
        this.observer = new ResizeObserver(() => this.resize());
        this.observer.observe(this.element);
    }

    /** Draws these curves up to now, at most ten times a second. */
    draw(curves: ReadonlyMap<string, Series>, nowS: number, nowMs: number): void {
        if (nowMs - this.drawnMs < DRAW_EVERY_MS || this.element.clientWidth < 40) {
            return;
        }
        this.drawnMs = nowMs;
        const names = [...curves.keys()];
        const wanted = [shownTheme(), ...names].join("\n");
        if (wanted !== this.made) {
            this.made = wanted;
            this.make(names);
        }
        const [min, max] = [nowS - this.options.windowS, nowS];
        const data = alignTimes([...curves.values()].map((series) => series.since(min)));
        this.plot?.batch(() => {
            this.plot?.setData(data, false);
            this.plot?.setScale("x", { min, max });
            this.rescale(data);
        });
    }

    destroy(): void {
        this.observer.disconnect();
        this.plot?.destroy();
    }

    private rescale(data: uPlot.AlignedData): void {
        let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
        for (const values of data.slice(1)) {
            for (const value of values as ArrayLike<number | null> & Iterable<number | null>) {
                if (value !== null && Number.isFinite(value) && (!this.options.isLog || value > 0)) {
                    low = Math.min(low, value);
                    high = Math.max(high, value);
                }
            }
        }
        if (low <= high) {
            const pad = this.options.isLog ? 0 : Math.max(1e-12, (high - low) * 0.08);
            this.plot?.setScale("y", {
                min: this.options.isLog ? low * 0.8 : low - pad,
                max: this.options.isLog ? high * 1.25 : high + pad,
            });
        }
    }

    private make(names: readonly string[]): void {
        this.plot?.destroy();
        const axis = (): uPlot.Axis => ({
            stroke: themeColor("--dim"),
            grid: { stroke: themeColor("--line"), width: 1 },
            ticks: { stroke: themeColor("--line"), width: 1 },
            font: `${10 * screenScale()}px B612`,
        });
        this.plot = new uPlot(
            {
                width: this.element.clientWidth,
                height: this.element.clientHeight,
                legend: { show: false },
                cursor: { show: false },
                scales: {
                    x: { time: true, auto: false },
                    y: { distr: this.options.isLog ? 3 : 1, auto: false, range: (_, min, max) => [min, max] },
                },
                axes: [
                    {
                        ...axis(),
                        size: 26 * screenScale(),
                        values: (_, ticks) => ticks.map((s) => new Date(s * 1e3).toISOString().slice(11, 19)),
                        space: 70 * screenScale(),
                    },
                    {
                        ...axis(),
                        size: 58 * screenScale(),
                        ...(this.options.isLog && {
                            splits: (_: uPlot, _axis: number, min: number, max: number) => decades(min, max),
                        }),
                        values: (_, ticks) => ticks.map((it) => (it === null ? "" : this.options.format(it))),
                    },
                ],
                series: [
                    {},
                    ...names.map((label, i) => ({
                        label,
                        stroke: themeColor(curveColor(i)),
                        width: 1.5,
                        points: { show: false },
                    })),
                ],
            },
            [[], ...names.map(() => [])] as uPlot.AlignedData,
            this.element,
        );
    }

    private resize(): void {
        if (this.element.clientWidth > 0) {
            this.plot?.setSize({ width: this.element.clientWidth, height: this.element.clientHeight });
        }
    }
}

/** The powers of ten within a range: all that a logarithmic axis needs. */
export function decades(min: number, max: number): number[] {
    if (!(min > 0) || !(max > min)) {
        return [];
    }
    const [low, high] = [Math.ceil(Math.log10(min)), Math.floor(Math.log10(max))];
    return Array.from({ length: Math.max(0, high - low + 1) }, (_, i) => 10 ** (low + i));
}

/** The property with the colour of a curve. */
export function curveColor(i: number): string {
    return COLORS[i % COLORS.length] ?? "--accent";
}

/** Curves on common times: those of one message have the same, so the first's are taken where lengths agree. */
export function alignTimes(
    curves: readonly { readonly times: Float64Array; readonly values: Float64Array }[],
): uPlot.AlignedData {
    const [first] = curves;
    if (first === undefined) {
        return [[]];
    }
    const isCommon = curves.every(({ times }) => times.length === first.times.length && times[0] === first.times[0]);
    if (isCommon) {
        return [first.times, ...curves.map(({ values }) => values)] as unknown as uPlot.AlignedData;
    }
    return uPlot.join(curves.map(({ times, values }) => [times, values] as unknown as uPlot.AlignedData));
}
