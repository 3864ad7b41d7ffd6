/**
 * The chart under everything: GeoJSON of the station.
 *
 * Coordinates are metres of the map frame where the file says `"frame": "map"`; with an `"origin"` they are degrees, as
 * GeoJSON has them. Features have a `kind`, as in the table below; others are thin lines. Names that would overlap are left
 * out, so soundings show as one comes nearer.
 */

import GeoJSON from "ol/format/GeoJSON";
import VectorLayer from "ol/layer/Vector";
import VectorSource from "ol/source/Vector";
import { Circle, Fill, Stroke, Style, Text } from "ol/style";
import type Feature from "ol/Feature";
import { MAP_FRAME, type Origin, toMap } from "./frame.js";
import { screenScale } from "../shell/dom.js";
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

/** Fetches charts and lays them under the rest. */
export class ChartLayer {
    readonly source = new VectorSource();
    readonly layer = new VectorLayer({
        source: this.source,
        zIndex: 1,
        declutter: true,
        style: (feature) => styleOf(feature as Feature),
    });
    private loaded = "";
    error = "";

    /** `showsTruth`: charts of what only a simulation knows are drawn too. */
    constructor(private readonly showsTruth = false) {}

    async load(urls: readonly string[]): Promise<void> {
        const wanted = urls.join(" ");
        if (wanted === this.loaded) {
            return;
        }
        this.loaded = wanted;
        this.source.clear();
        for (const url of urls) {
            try {
                const response = await fetch(url.replace(/^\//, ""));
                if (!response.ok) {
                    throw new Error(`expected a chart, found status ${response.status}`);
                }
                const file = (await response.json()) as ChartFile;
                if (this.showsTruth || file.is_truth !== true) {
                    this.source.addFeatures(readChart(file));
                }
                this.error = "";
            } catch (error) {
                this.error = `${url}: ${String(error)}`;
            }
        }
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
    fence: (it) => new Style({ stroke: dashed("--fence", 2, [10, 6]), text: label(it, "--fence"), zIndex: 6 }),
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

/** From 0 m to this the colours of depths go. */
const DEEPEST_M = 16;

function styleOf(feature: Feature): Style {
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

/** The name of a feature: those that come from worlds are identifiers. */
function nameOf(feature: Feature): string {
    return String(feature.get("name") ?? "").replaceAll("_", " ");
}

function text(words: string, name: string, offsetY = 0): Text {
    return new Text({ text: words, font: font(), fill: fill(name), offsetY, overflow: false });
}

function dashed(name: string, width: number, lineDash: number[]): Stroke {
    return new Stroke({ color: color(name), width, lineDash });
}

function font(): string {
    return `${11 * screenScale()}px B612`;
}

function color(name: string): string {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function fill(name: string): Fill {
    return new Fill({ color: color(name) });
}

function stroke(name: string, width: number): Stroke {
    return new Stroke({ color: color(name), width });
}
