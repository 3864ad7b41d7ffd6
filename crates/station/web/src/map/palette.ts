/** Colours for planes of maps: from deep or bad to shallow or good, readable for people who see red and green alike. */

type Rgb = readonly [number, number, number];

/** Depths: dark blue to pale sand. */
export const DEPTH: readonly Rgb[] = [
    [16, 26, 84],
    [22, 72, 140],
    [29, 125, 168],
    [70, 176, 172],
    [152, 214, 166],
    [240, 236, 178],
];

/** Depths by their number: what is shallow is pale, and dangerous. */
export const SHOAL: readonly Rgb[] = [...DEPTH].reverse();

/** Heights and everything else: viridis-like. */
export const HEIGHT: readonly Rgb[] = [
    [52, 24, 88],
    [58, 82, 139],
    [32, 144, 140],
    [94, 201, 98],
    [253, 231, 37],
];

/** Costs: what can be crossed is dark and quiet, what cannot stands out. */
export const COST: readonly Rgb[] = [
    [22, 52, 60],
    [44, 110, 100],
    [186, 170, 80],
    [222, 110, 52],
    [214, 48, 60],
];

/** Traversability: 1 is free. */
export const FREEDOM: readonly Rgb[] = [...COST].reverse();

/** 256 colours between those given, packed as a canvas has them. */
export function ramp(stops: readonly Rgb[], alpha = 255): Uint32Array {
    const colors = new Uint32Array(256);
    for (let i = 0; i < 256; i++) {
        const at = (i / 255) * (stops.length - 1);
        const [low, share] = [Math.floor(at), at % 1];
        const from = stops[low] ?? [0, 0, 0];
        const to = stops[Math.min(low + 1, stops.length - 1)] ?? from;
        const mix = (k: 0 | 1 | 2): number => Math.round(from[k] + (to[k] - from[k]) * share);
        // Little-endian, as every machine with a browser is.
        colors[i] = ((alpha << 24) | (mix(2) << 16) | (mix(1) << 8) | mix(0)) >>> 0;
    }
    return colors;
}

/** A colour for a plane by its name. */
export function paletteOf(plane: string): readonly Rgb[] {
    const name = plane.toLowerCase();
    if (/depth|bathy/.test(name)) {
        return SHOAL;
    }
    if (/travers/.test(name)) {
        return FREEDOM;
    }
    return /cost|slope|rough|obstacle|hazard|step/.test(name) ? COST : HEIGHT;
}

/** A colour of a ramp as CSS. */
export function css(stops: readonly Rgb[], share: number): string {
    const at = Math.max(0, Math.min(1, share)) * (stops.length - 1);
    const [low, part] = [Math.floor(at), at % 1];
    const from = stops[low] ?? [0, 0, 0];
    const to = stops[Math.min(low + 1, stops.length - 1)] ?? from;
    const mix = (k: 0 | 1 | 2): number => Math.round(from[k] + (to[k] - from[k]) * part);
    return `rgb(${mix(0)} ${mix(1)} ${mix(2)})`;
}
