/** A plane of heights as a surface: a vertex for each cell that is known, coloured by height. */

import { BufferAttribute, BufferGeometry } from "three";
import type { MapT } from "../generated/bowline/map_t.js";
import { rangeOf } from "../map/grid.js";
import { DEPTH, paletteOf, ramp } from "../map/palette.js";

/** More cells than this are drawn in coarser steps. */
const MAX_VERTICES = 120_000;

/** The surface of the first plane of heights or depths. */
export function terrainOf(map: MapT): BufferGeometry {
    const plane = Math.max(
        0,
        map.names.findIndex((name) => /height|depth/.test(name)),
    );
    const rows = map.cells[plane] ?? [];
    const isDepth = /depth/.test(map.names[plane] ?? "");
    const step = Math.max(1, Math.ceil(Math.sqrt((map.n_rows * map.n_columns) / MAX_VERTICES)));
    const [nRows, nColumns] = [Math.floor(map.n_rows / step), Math.floor(map.n_columns / step)];
    const { low, high } = rangeOf(rows);
    // A bottom below water has the colours of depths, whichever plane it is drawn from.
    const isBottom = !isDepth && map.names.includes("depth");
    const colors = ramp(isBottom ? DEPTH : paletteOf(map.names[plane] ?? ""));
    const [x0 = 0, y0 = 0] = map.origin_m;
    const positions = new Float32Array(nRows * nColumns * 3);
    const tints = new Float32Array(nRows * nColumns * 3);
    const isKnown = new Uint8Array(nRows * nColumns);
    for (let r = 0, i = 0; r < nRows; r++) {
        for (let c = 0; c < nColumns; c++, i++) {
            const value = rows[r * step]?.[c * step] ?? Number.NaN;
            isKnown[i] = Number.isNaN(value) ? 0 : 1;
            const color = colors[Math.max(0, Math.min(255, ((value - low) / (high - low || 1)) * 255)) | 0] ?? 0;
            positions.set(
                [
                    x0 + (c * step + 0.5) * map.cell_m,
                    y0 + (r * step + 0.5) * map.cell_m,
                    isKnown[i] ? (isDepth ? -value : value) : 0,
                ],
                3 * i,
            );
            tints.set([(color & 255) / 255, ((color >> 8) & 255) / 255, ((color >> 16) & 255) / 255], 3 * i);
        }
    }
    const geometry = new BufferGeometry();
    geometry.setAttribute("position", new BufferAttribute(positions, 3));
    geometry.setAttribute("color", new BufferAttribute(tints, 3));
    geometry.setIndex(faces(isKnown, nRows, nColumns));
    geometry.computeVertexNormals();
    return geometry;
}

/** Two triangles for each square whose corners are all known. */
function faces(isKnown: Uint8Array, nRows: number, nColumns: number): number[] {
    const index: number[] = [];
    for (let r = 0; r + 1 < nRows; r++) {
        for (let c = 0; c + 1 < nColumns; c++) {
            const a = r * nColumns + c;
            const [b, d, e] = [a + 1, a + nColumns, a + nColumns + 1];
            if (isKnown[a] && isKnown[b] && isKnown[d] && isKnown[e]) {
                index.push(a, b, e, a, e, d);
            }
        }
    }
    return index;
}
