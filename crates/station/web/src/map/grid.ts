/** A plane of a map_t as a picture, and as a layer under the vehicle. */

import ImageLayer from "ol/layer/Image";
import ImageCanvasSource from "ol/source/ImageCanvas";
import type { MapT } from "../generated/bowline/map_t.js";
import { MAP_FRAME } from "./frame.js";
import { paletteOf, ramp } from "./palette.js";

/** What the colours of a plane mean. */
export interface Scale {
    readonly plane: string;
    readonly unit: string;
    readonly low: number;
    readonly high: number;
    /** The share of cells that are known. */
    readonly known: number;
}

/** Draws a plane: a pixel for each cell, the first row at the bottom. What is unknown stays clear. */
export function paintPlane(map: MapT, plane: number, canvas: HTMLCanvasElement | OffscreenCanvas): Scale | undefined {
    const rows = map.cells[plane];
    if (rows === undefined || map.n_rows < 1 || map.n_columns < 1) {
        return undefined;
    }
    const { low, high, nKnown } = rangeOf(rows);
    canvas.width = map.n_columns;
    canvas.height = map.n_rows;
    const context = canvas.getContext("2d") as CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D | null;
    if (context === null) {
        return undefined;
    }
    const image = context.createImageData(map.n_columns, map.n_rows);
    const pixels = new Uint32Array(image.data.buffer);
    const name = map.names[plane] ?? "";
    const colors = ramp(paletteOf(name));
    const scale = high > low ? 255 / (high - low) : 0;
    rows.forEach((row, r) => {
        const start = (map.n_rows - 1 - r) * map.n_columns;
        for (let c = 0; c < row.length; c++) {
            const value = row[c] ?? Number.NaN;
            if (!Number.isNaN(value)) {
                const place = Math.max(0, Math.min(255, (value - low) * scale));
                pixels[start + c] = colors[place | 0] ?? 0;
            }
        }
    });
    context.putImageData(image, 0, 0);
    return { plane: name, unit: map.units[plane] ?? "", low, high, known: nKnown / (map.n_rows * map.n_columns) };
}

/** The range of what is known, without the outermost hundredth on each side: a single echo must not wash out the rest. */
export function rangeOf(rows: readonly Float32Array[]): { low: number; high: number; nKnown: number } {
    let nKnown = 0;
    const samples: number[] = [];
    const total = rows.reduce((sum, row) => sum + row.length, 0);
    const step = Math.max(1, Math.floor(total / 20_000));
    let i = 0;
    for (const row of rows) {
        for (const value of row) {
            i += 1;
            if (Number.isFinite(value)) {
                nKnown += 1;
                if (i % step === 0 || nKnown < 64) {
                    samples.push(value);
                }
            }
        }
    }
    samples.sort((a, b) => a - b);
    const at = (share: number): number => samples[Math.round(share * (samples.length - 1))] ?? 0;
    return { low: at(0.01), high: at(0.99), nKnown };
}

/** How much of the chart below is covered: what is old covers little. */
const OPACITY = { fresh: 0.85, stale: 0.3 };

/** The layer: one picture, laid over the ground. */
export class GridLayer {
    readonly layer: ImageLayer<ImageCanvasSource>;
    private readonly picture = document.createElement("canvas");
    private extent: [number, number, number, number] | undefined;
    private shown: { readonly map: MapT; readonly plane: number } | undefined;
    scale: Scale | undefined;
    private readonly target = document.createElement("canvas");

    constructor() {
        const source = new ImageCanvasSource({
            projection: MAP_FRAME,
            ratio: 1.25,
            canvasFunction: (extent, _resolution, _ratio, size) => this.draw(extent, size),
        });
        this.layer = new ImageLayer({ source, opacity: OPACITY.fresh, zIndex: 2 });
    }

    /** Shows a plane, if it is not that already. */
    show(map: MapT, plane: number): void {
        if (this.shown?.map === map && this.shown.plane === plane) {
            return;
        }
        this.shown = { map, plane };
        this.scale = paintPlane(map, plane, this.picture);
        const [x = 0, y = 0] = map.origin_m;
        this.extent = [x, y, x + map.n_columns * map.cell_m, y + map.n_rows * map.cell_m];
        this.layer.getSource()?.changed();
    }

    /** Whether what it shows is old. */
    set isStale(isStale: boolean) {
        const opacity = isStale ? OPACITY.stale : OPACITY.fresh;
        if (this.layer.getOpacity() !== opacity) {
            this.layer.setOpacity(opacity);
        }
    }

    private draw(extent: readonly number[], size: readonly number[]): HTMLCanvasElement {
        const [width = 1, height = 1] = size;
        const { target } = this;
        target.width = Math.round(width);
        target.height = Math.round(height);
        const context = target.getContext("2d");
        if (context === null || this.extent === undefined || this.scale === undefined) {
            return target;
        }
        const [left = 0, bottom = 0, right = 1, top = 1] = extent;
        const perM = target.width / (right - left);
        const perMUp = target.height / (top - bottom);
        const [x0, y0, x1, y1] = this.extent;
        context.imageSmoothingEnabled = false;
        context.drawImage(this.picture, (x0 - left) * perM, (top - y1) * perMUp, (x1 - x0) * perM, (y1 - y0) * perMUp);
        return target;
    }
}
