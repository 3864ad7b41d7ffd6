/**
 * The chart under everything: GeoJSON of the station.
 *
 * Coordinates are metres of the map frame where the file has `"frame": "map"`; with an `"origin"` they are degrees, as
 * GeoJSON has them. Features have a `kind`, as in the table below; others are thin lines. Names that would overlap are left
 * out, so soundings show as one comes nearer.
 *
 * A fence here is the chart's: what a gate enforces is the gate's own affair, which is not drawn here, so the label names whose
 * line it is.
 */

import GeoJSON from "ol/format/GeoJSON";
import VectorLayer from "ol/layer/Vector";
import VectorSource from "ol/source/Vector";
import { Circle, Fill, Stroke, Style, Text } from "ol/style";
import type Feature from "ol/Feature";
import { screenScale } from "../shell/dom.js";
import { themeColor } from "../shell/theme.js";
import type { Picture } from "../panels/panel.js";
import { MAP_FRAME, type Origin, toMap } from "./frame.js";
import type { Layer, LayerContext, LayerKind } from "./layer.js";
import { css, DEPTH } from "./palette.js";

interface ChartFile {
    /** Whether only a simulation can know what is in it. */
    readonly is_truth?: boolean;
    readonly frame?: string;
    readonly origin?: Origin;
    readonly features?: readonly unknown[];
}

/** The features of a chart file, in the map frame. */
export function readChart(json: unknown): Feature[] {
    const file = json as ChartFile;
    const features = new GeoJSON().readFeatures(json, { dataProjection: MAP_FRAME, featureProjection: MAP_FRAME });
    const { origin } = file;
    if (origin !== undefined && file.frame !== "map") {
        for (const feature of features) {
            feature.getGeometry()?.applyTransform((flat: number[], _out, stride = 2) => {
                for (let i = 0; i < flat.length; i += stride) {
                    [flat[i], flat[i + 1]] = toMap([flat[i] ?? 0, flat[i + 1] ?? 0], origin);
                }
                return flat;
            });
        }
    }
    return features;
}

/** A chart, as all maps of the page share it. */
interface Chart {
    readonly isTruth: boolean;
    readonly features: Feature[];
}

const RETRY_AFTER_MS = 5_000;
const FETCH_FOR_MS = 20_000;

const charts = new Map<string, Promise<Chart>>();

/** A chart by its address, fetched once for all maps. A failure is not kept: who asks again tries again. */
function chartAt(url: string): Promise<Chart> {
    const known = charts.get(url);
    if (known !== undefined) {
        return known;
    }
    const chart = fetchChart(url);
    charts.set(url, chart);
    chart.catch(() => charts.delete(url));
    return chart;
}

async function fetchChart(url: string): Promise<Chart> {
    const response = await fetch(url.replace(/^\//, ""), { signal: AbortSignal.timeout(FETCH_FOR_MS) });
    if (!response.ok) {
        throw new Error(`expected a chart, found status ${response.status}`);
    }
    const file = (await response.json()) as ChartFile;
    return { isTruth: file.is_truth === true, features: readChart(file) };
}

function wordsOf(error: unknown): string {
    return error instanceof Error ? error.message : String(error);
}

/** Lays charts under the rest. What is missing is marked: water without a shore must not look like open sea. */
export class ChartLayer implements Layer {
    readonly source = new VectorSource();
    readonly drawn = new VectorLayer({
        source: this.source,
        zIndex: 1,
        declutter: true,
        style: (feature) => this.styleOf(feature as Feature),
    });
    /** Why there is no chart, or not all of it, for people; empty if there is. */
    missing = "";
    private wanted: string | undefined;
    private isLoading = false;
    private triedMs = 0;
    private styles = new WeakMap<Feature, Style>();

    constructor(private readonly context: LayerContext) {}

    render({ nowMs, isForText }: Picture): void {
        const urls = this.context.store.hello?.charts;
        if (isForText && urls !== undefined) {
            void this.load(urls, nowMs);
        }
    }

    note(): string {
        return this.missing === "" ? "" : `No chart: ${this.missing}`;
    }

    extent(): readonly number[] | undefined {
        return this.source.getExtent() ?? undefined;
    }

    /** Draws these charts. What could not be had is tried again in a while. */
    async load(urls: readonly string[], nowMs: number): Promise<void> {
        const wanted = urls.join(" ");
        const isAgain = wanted === this.wanted;
        if (isAgain && (this.isLoading || this.missing === "" || nowMs - this.triedMs < RETRY_AFTER_MS)) {
            return;
        }
        this.wanted = wanted;
        this.isLoading = true;
        this.triedMs = nowMs;
        const found = await Promise.allSettled(urls.map(chartAt));
        if (wanted !== this.wanted) {
            return;
        }
        this.isLoading = false;
        const loaded = found.flatMap((it) => (it.status === "fulfilled" ? [it.value] : []));
        const failed = found.flatMap((it, i) =>
            it.status === "rejected" ? [`${urls[i]}: ${wordsOf(it.reason)}`] : [],
        );
        this.source.clear();
        this.source.addFeatures(
            loaded.flatMap((it) => (this.context.side === "truth" || !it.isTruth ? it.features : [])),
        );
        this.missing = urls.length === 0 ? "the station has none" : failed.join("; ");
    }

    /** Draws anew, with the colours and sizes that the page has now. */
    restyle(): void {
        this.styles = new WeakMap();
        this.drawn.changed();
    }

    private styleOf(feature: Feature): Style {
        const known = this.styles.get(feature);
        if (known !== undefined) {
            return known;
        }
        const made = makeStyle(feature);
        this.styles.set(feature, made);
        return made;
    }
}

type Make = (feature: Feature) => Style;

/** How each kind of feature is drawn: one row for each. */
const STYLES: Readonly<Record<string, Make>> = {
    water: () => new Style({ fill: fill("--chart-water"), stroke: stroke("--chart-coast", 1), zIndex: 0 }),
    depth: (it) => new Style({ fill: depthFill(Number(it.get("depth_m") ?? 0)), zIndex: 1 }),
    depth_area: (it) => new Style({ fill: depthFill(Number(it.get("depth_min_m") ?? 0)), zIndex: 1 }),
    sounding: (it) =>
        new Style({ text: text(soundingText(Number(it.get("depth_m") ?? Number.NaN)), "--chart-sounding"), zIndex: 2 }),
    contour: (it) => new Style({ stroke: stroke("--chart-contour", 1), text: label(it), zIndex: 2 }),
    land: (it) =>
        new Style({ fill: fill("--chart-land"), stroke: stroke("--chart-coast", 1.5), text: label(it), zIndex: 3 }),
    building: () => new Style({ fill: fill("--chart-coast"), stroke: stroke("--chart-coast", 1), zIndex: 5 }),
    quay: (it) =>
        new Style({ fill: fill("--chart-quay"), stroke: stroke("--chart-coast", 2), text: label(it), zIndex: 4 }),
    pile: () => new Style({ fill: fill("--chart-coast"), stroke: stroke("--chart-coast", 2), zIndex: 5 }),
    survey: (it) => new Style({ stroke: dashed("--lane", 1.5, [3, 5]), text: label(it, "--plan"), zIndex: 6 }),
    fence: (it) => new Style({ stroke: dashed("--fence", 2, [10, 6]), text: fenceLabel(it), zIndex: 6 }),
    berth: (it) => mark("--accent", it),
    buoy: (it) => mark("--buoy", it),
    wreck: (it) => mark("--warning", it),
};

/** Other words for what looks the same. */
const ALIASES: Readonly<Record<string, string>> = {
    basin: "water",
    island: "land",
    shore: "land",
    pier: "quay",
    wall: "quay",
    body: "building",
    breakwater: "quay",
    dolphin: "pile",
    geofence: "fence",
    mark: "buoy",
    rock: "wreck",
};

const FENCE_LABEL_EVERY_PX = 260;

/** From 0 m to this the colours of depths go. */
const DEEPEST_M = 16;

function makeStyle(feature: Feature): Style {
    const kind = String(feature.get("kind") ?? feature.get("type") ?? "");
    const make = STYLES[ALIASES[kind] ?? kind];
    if (make !== undefined) {
        return make(feature);
    }
    const dot = new Circle({ radius: 3, fill: fill("--chart-contour") });
    return new Style({ stroke: stroke("--chart-contour", 1.5), image: dot, text: label(feature) });
}

function depthFill(depthM: number): Fill {
    return new Fill({ color: css(DEPTH, 1 - depthM / DEEPEST_M).replace(")", " / 0.3)") });
}

/** As charts have it: metres, and decimetres below the line. */
function soundingText(depthM: number): string {
    return Number.isFinite(depthM) ? depthM.toFixed(1) : "";
}

function mark(name: string, feature: Feature): Style {
    return new Style({
        image: new Circle({ radius: 5, fill: fill(name), stroke: stroke("--panel", 1.5) }),
        text: text(nameOf(feature), "--chart-text", -12),
        zIndex: 7,
    });
}

function label(feature: Feature, name = "--chart-text"): Text {
    return text(nameOf(feature), name);
}

/** Along the line, and whose it is. */
function fenceLabel(feature: Feature): Text {
    const label = text(`${nameOf(feature) || "fence"} (as charted)`, "--fence");
    label.setPlacement("line");
    label.setTextBaseline("bottom");
    // Often enough that a part of the fence is not without it.
    label.setRepeat(FENCE_LABEL_EVERY_PX * screenScale());
    return label;
}

/** The name of a feature: those that come from worlds are identifiers. */
function nameOf(feature: Feature): string {
    return String(feature.get("name") ?? "").replaceAll("_", " ");
}

function text(words: string, name: string, offsetY = 0): Text {
    return new Text({ text: words, font: font(), fill: fill(name), offsetY, overflow: false });
}

function dashed(name: string, width: number, lineDash: number[]): Stroke {
    return new Stroke({ color: themeColor(name), width, lineDash });
}

function font(): string {
    return `${11 * screenScale()}px B612`;
}

function fill(name: string): Fill {
    return new Fill({ color: themeColor(name) });
}

function stroke(name: string, width: number): Stroke {
    return new Stroke({ color: themeColor(name), width });
}

export const chart: LayerKind = {
    id: "chart",
    types: [],
    sides: ["belief", "truth"],
    make: (context) => new ChartLayer(context),
};
