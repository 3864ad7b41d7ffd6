/** What a camera sees. An old picture is dimmed and marked: a frozen picture must not look like a calm sea. */

import { Image } from "../generated/bowline/image_t.js";
import { fourcc, isSamePicture, mediaType, pixelsOf } from "../map/pixels.js";
import { el, setText } from "../shell/dom.js";
import { bytes } from "../shell/format.js";
import type { Channel } from "../store/channel.js";
import type { Panel, PanelKind, Picture } from "./panel.js";

class CameraPanel implements Panel {
    readonly body = el("div", { class: "camera" });
    private readonly canvas = el("canvas", { role: "img", "aria-label": "Camera" });
    private readonly caption = el("p", { class: "caption" });
    private shown: Image | undefined;
    private pixels: ImageData | undefined;

    constructor(private readonly channel: Channel) {
        this.body.append(this.canvas, this.caption);
    }

    sources(): Channel[] {
        return [this.channel];
    }

    render({ isForText }: Picture): void {
        const image = this.channel.as(Image);
        if (image === undefined || image === this.shown) {
            return;
        }
        const { shown } = this;
        this.shown = image;
        if (shown !== undefined && isSamePicture(image, shown)) {
            return;
        }
        const pixels = this.paint(image);
        const type = mediaType(image);
        if (pixels === undefined && type !== undefined) {
            void this.decode(image, type);
        }
        if (isForText || pixels === undefined || this.caption.textContent === "") {
            const what = type ?? fourcc(image.pixelformat);
            const note = pixels === undefined && type === undefined ? " (a layout that is not drawn here)" : "";
            setText(this.caption, `${image.width} × ${image.height} ${what}, ${bytes(image.data.length)}${note}`);
        }
    }

    /** Draws raw pixels; undefined if it cannot. The memory for them is kept: there are many pictures of one size. */
    private paint(image: Image): ImageData | undefined {
        const { width, height } = image;
        const kept = this.pixels?.width === width && this.pixels.height === height ? this.pixels : undefined;
        const rgba = pixelsOf(image, kept?.data);
        if (rgba === undefined) {
            return undefined;
        }
        this.pixels = kept ?? new ImageData(rgba, width, height);
        if (this.canvas.width !== width || this.canvas.height !== height) {
            this.canvas.width = width;
            this.canvas.height = height;
        }
        this.canvas.getContext("2d")?.putImageData(this.pixels, 0, 0);
        return this.pixels;
    }

    private async decode(image: Image, type: string): Promise<void> {
        try {
            const bitmap = await createImageBitmap(new Blob([image.data.slice()], { type }));
            if (image === this.shown) {
                this.canvas.width = bitmap.width;
                this.canvas.height = bitmap.height;
                this.canvas.getContext("2d")?.drawImage(bitmap, 0, 0);
            }
            bitmap.close();
        } catch (error) {
            setText(this.caption, `expected ${type}, found something else: ${String(error)}`);
        }
    }
}

export const camera: PanelKind = {
    id: "camera",
    title: "Camera",
    types: [Image],
    per: "channel",
    places: { operate: "strip", sensors: "grid" },
    make: (context) => new CameraPanel(context.channel as Channel),
};
