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

/** The picture as RGBA; undefined where the layout is not known or the bytes are too few. */
export function pixelsOf(image: Image): Uint8ClampedArray<ArrayBuffer> | undefined {
    const layout = LAYOUTS[fourcc(image.pixelformat)];
    const n = image.width * image.height;
    if (
        layout === undefined ||
        image.width < 1 ||
        image.height < 1 ||
        n > MAX_PIXELS ||
        image.data.length < n * layout[0]
    ) {
        return undefined;
    }
    const [size, red, green, blue] = layout;
    const rgba = new Uint8ClampedArray(n * 4);
    for (let i = 0, from = 0, to = 0; i < n; i++, from += size, to += 4) {
        rgba[to] = image.data[from + red] ?? 0;
        rgba[to + 1] = image.data[from + green] ?? 0;
        rgba[to + 2] = image.data[from + blue] ?? 0;
        rgba[to + 3] = 255;
    }
    return rgba;
}

/** Whether the bytes are a file that browsers decode. */
export function mediaType(image: Image): string | undefined {
    const [a, b] = image.data;
    if (a === 0xff && b === 0xd8) {
        return "image/jpeg";
    }
    return a === 0x89 && b === 0x50 ? "image/png" : undefined;
}
