/** Pictures of image_t as pixels of a canvas, or as something that the browser can decode. */

import type { Image } from "../generated/bowline/image_t.js";

/** The name of a FourCC code. */
export function fourcc(code: number): string {
    const letters = [0, 8, 16, 24].map((shift) => (code >> shift) & 0xff);
    return letters.every((it) => it >= 32 && it < 127)
        ? String.fromCharCode(...letters)
        : `0x${(code >>> 0).toString(16)}`;
}

/** How many bytes a pixel has in layouts that are drawn here, and where its red, green and blue are. */
const LAYOUTS: Readonly<Record<string, readonly [number, number, number, number]>> = {
    GREY: [1, 0, 0, 0],
    Y800: [1, 0, 0, 0],
    RGB3: [3, 0, 1, 2],
    BGR3: [3, 2, 1, 0],
    RGB4: [4, 0, 1, 2],
    RGBA: [4, 0, 1, 2],
    BGRA: [4, 2, 1, 0],
};

/** The most that a picture may be; a larger one is shown by its size only. */
const MAX_PIXELS = 16_000_000;

/**
 * The picture as RGBA, written to `into` if that has the size; undefined where the layout is not known or the bytes are too
 * few.
 */
export function pixelsOf(image: Image, into?: Uint8ClampedArray): Uint8ClampedArray<ArrayBuffer> | undefined {
    const { data, width, height } = image;
    const layout = LAYOUTS[fourcc(image.pixelformat)];
    const n = width * height;
    if (layout === undefined || width < 1 || height < 1 || n > MAX_PIXELS || data.length < n * layout[0]) {
        return undefined;
    }
    const [size, red, green, blue] = layout;
    const isFit = into?.length === n * 4;
    const rgba = isFit ? (into as Uint8ClampedArray<ArrayBuffer>) : new Uint8ClampedArray(n * 4);
    for (let i = 0, from = 0, to = 0; i < n; i++, from += size, to += 4) {
        rgba[to] = data[from + red] ?? 0;
        rgba[to + 1] = data[from + green] ?? 0;
        rgba[to + 2] = data[from + blue] ?? 0;
        rgba[to + 3] = 255;
    }
    return rgba;
}

/** Whether two messages have the same picture. Pictures that differ do so after a few bytes, so to look costs little. */
export function isSamePicture(a: Image, b: Image): boolean {
    const [one, other] = [a.data, b.data];
    if (a.width !== b.width || a.height !== b.height || a.pixelformat !== b.pixelformat) {
        return false;
    }
    let i = 0;
    while (i < one.length && one[i] === other[i]) {
        i += 1;
    }
    return i === one.length && i === other.length;
}

/** Whether the bytes are a file that browsers decode. */
export function mediaType(image: Image): string | undefined {
    const [a, b] = image.data;
    if (a === 0xff && b === 0xd8) {
        return "image/jpeg";
    }
    return a === 0x89 && b === 0x50 ? "image/png" : undefined;
}
