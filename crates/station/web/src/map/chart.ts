/**
 * The chart under everything: GeoJSON of the station.
 *
 * Coordinates are metres of the map frame where the file says `"frame": "map"`; with an `"origin"` they are degrees, as
 * GeoJSON has them. Features have a `kind`: land, water, depth (with `depth_m`), contour, quay, buoy, wreck, fence, area.
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
    readonly layer = new VectorLayer({ source: this.source, zIndex: 1, style: (feature) => styleOf(feature as Feature) });
    private loaded = "";
    error = "";

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
                this.source.addFeatures(readChart(await response.json()));
                this.error = "";
            } catch (error) {
                this.error = `${url}: ${String(error)}`;
            }
        }
    }
}

/** From 0 m to this the colours of depths go. */
const DEEPEST_M = 20;

function styleOf(feature: Feature): Style | Style[] {
    const kind = String(feature.get("kind") ?? feature.get("type") ?? "");
    const name = String(feature.get("name") ?? "");
    const label = (color: string): Text => new Text({ text: name, font: font(), fill: new Fill({ color }), overflow: false });
    switch (kind) {
        case "land":
        case "island":
            return new Style({ fill: fill("--chart-land"), stroke: stroke("--chart-coast", 1.5), text: label(color("--chart-text")) });
        case "quay":
        case "pier":
        case "wall":
        case "breakwater":
            return new Style({ fill: fill("--chart-quay"), stroke: stroke("--chart-coast", 2), text: label(color("--chart-text")) });
        case "water":
        case "basin":
            return new Style({ fill: fill("--chart-water"), stroke: stroke("--chart-coast", 1) });
        case "depth": {
            const share = 1 - Number(feature.get("depth_m") ?? 0) / DEEPEST_M;
            return new Style({ fill: new Fill({ color: css(DEPTH, share).replace(")", " / 0.35)") }) });
        }
        case "contour":
            return new Style({ stroke: stroke("--chart-contour", 1), text: label(color("--chart-text")) });
        case "fence":
        case "geofence":
            return [
                new Style({ stroke: new Stroke({ color: color("--fence"), width: 2, lineDash: [10, 6] }), text: label(color("--fence")) }),
            ];
        case "buoy":
        case "mark":
        case "wreck":
        case "rock":
            return new Style({
                image: new Circle({ radius: 5, fill: fill(kind === "buoy" || kind === "mark" ? "--buoy" : "--warning"), stroke: stroke("--panel", 1.5) }),
                text: new Text({ text: name, font: font(), offsetY: -12, fill: fill("--chart-text") }),
            });
        default:
            return new Style({
                stroke: stroke("--chart-contour", 1.5),
                image: new Circle({ radius: 3, fill: fill("--chart-contour") }),
                text: label(color("--chart-text")),
            });
    }
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
