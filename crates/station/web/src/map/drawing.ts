/** What moves on the map: vehicles, and where they were. Geometry only changes when its message does. */

import Feature from "ol/Feature";
import { LineString, Point, Polygon } from "ol/geom";
import type VectorSource from "ol/source/Vector";
import { Circle, Fill, Stroke, Style } from "ol/style";
import { PoseTransform } from "../generated/bowline/pose_transform_t.js";
import { screenScale } from "../shell/dom.js";
import { themeColor } from "../shell/theme.js";
import type { Channel } from "../store/channel.js";
import type { Histories } from "../store/histories.js";
import type { Track } from "../store/track.js";
import { ellipseOf, ellipseRing, headingOf, placeOf, speedOf } from "./frame.js";

/** Half the length of what is drawn for a vehicle, pixels: seen from afar it must not vanish. */
const MARK_PX = 13;
/** How far ahead the line of speed reaches, seconds. */
const AHEAD_S = 10;

/** How a vehicle is drawn: the one in front, another one, or where it truly is. */
export type Look = "front" | "other" | "truth";

/** One vehicle: hull, line of speed, uncertainty and track. */
export class VehicleMark {
    private readonly hull = new Feature<Point>();
    private readonly ellipse = new Feature<Polygon>();
    private readonly track = new Feature<LineString>();
    private heading = 0;
    private speed = Number.NaN;
    private isStale = false;
    private shownPose: PoseTransform | undefined;
    private shownTrack = -1;

    constructor(
        source: VectorSource,
        private readonly look: Look,
        private readonly name: string,
    ) {
        this.hull.setStyle(
            new Style({
                zIndex: look === "front" ? 10 : 9,
                renderer: (at, state) =>
                    this.drawHull(at as number[], state.context, state.pixelRatio, state.resolution),
            }),
        );
        this.ellipse.setStyle(
            () => new Style({ fill: new Fill({ color: themeColor("--ellipse") }), stroke: stroke("--accent", 1) }),
        );
        const trackColor = look === "truth" ? "--truth" : look === "front" ? "--track" : "--other";
        this.track.setStyle(() => new Style({ stroke: stroke(trackColor, look === "truth" ? 1 : 1.75) }));
        source.addFeatures([this.track, this.ellipse, this.hull]);
    }

    update(pose: PoseTransform, isStale: boolean, track: Track | undefined): void {
        if (pose !== this.shownPose || isStale !== this.isStale) {
            this.shownPose = pose;
            this.isStale = isStale;
            this.heading = headingOf(pose);
            this.speed = speedOf(pose);
            const place = placeOf(pose);
            this.hull.setGeometry(new Point(place));
            const ellipse = this.look === "truth" ? undefined : ellipseOf(pose);
            this.ellipse.setGeometry(ellipse && new Polygon([ellipseRing(place, ellipse)]));
        }
        if (track !== undefined && track.revision !== this.shownTrack) {
            this.shownTrack = track.revision;
            const geometry = this.track.getGeometry() ?? new LineString([], "XY");
            geometry.setFlatCoordinates("XY", track.flat());
            this.track.setGeometry(geometry);
        }
    }

    private drawHull(
        at: readonly number[],
        context: CanvasRenderingContext2D,
        ratio: number,
        resolution: number,
    ): void {
        const [x = 0, y = 0] = at;
        const size = MARK_PX * ratio * screenScale();
        context.save();
        context.translate(x, y);
        context.rotate(-this.heading);
        context.lineJoin = "round";
        if (this.speed > 0.05 && this.look !== "truth" && !this.isStale) {
            context.strokeStyle = themeColor("--accent");
            context.lineWidth = 1.5 * ratio;
            context.beginPath();
            context.moveTo(size, 0);
            context.lineTo(size + ((this.speed * AHEAD_S) / resolution) * ratio, 0);
            context.stroke();
        }
        context.beginPath();
        context.moveTo(size, 0);
        context.quadraticCurveTo(size * 0.2, size * 0.62, -size * 0.8, size * 0.5);
        context.lineTo(-size * 0.8, -size * 0.5);
        context.quadraticCurveTo(size * 0.2, -size * 0.62, size, 0);
        context.closePath();
        const fill = { front: "--vehicle", other: "--other", truth: "--none" }[this.look];
        if (this.look !== "truth") {
            context.fillStyle = themeColor(this.isStale ? "--stale" : fill);
            context.fill();
        }
        context.strokeStyle = themeColor(this.look === "truth" ? "--truth" : "--vehicle-edge");
        context.lineWidth = 1.5 * ratio;
        context.setLineDash(this.look === "truth" || this.isStale ? [4 * ratio, 3 * ratio] : []);
        context.stroke();
        context.restore();
        if (this.look === "other" || this.isStale) {
            context.fillStyle = themeColor("--chart-text");
            context.font = `${11 * ratio * screenScale()}px B612`;
            context.fillText(this.isStale ? `${this.name} (stale)` : this.name, x + size * 1.2, y - size);
        }
    }
}

/** The marks of a layer, each made with the first message of its vehicle. */
export class Marks {
    private readonly marks = new Map<string, VehicleMark>();

    constructor(
        private readonly source: VectorSource,
        private readonly histories: Histories,
    ) {}

    show(key: string, channel: Channel | undefined, look: Look, name: string, utime: number | undefined): void {
        const pose = channel?.as(PoseTransform);
        if (channel === undefined || pose === undefined) {
            return;
        }
        const mark = this.marks.get(key) ?? new VehicleMark(this.source, look, name);
        this.marks.set(key, mark);
        mark.update(pose, channel.freshness(utime) !== "fresh", this.histories.track(channel.name));
    }

    clear(): void {
        this.source.clear();
        this.marks.clear();
    }
}

/** A line in a colour of the page. */
export function stroke(color: string, width: number, dash?: number[]): Stroke {
    return new Stroke({ color: themeColor(color), width, ...(dash && { lineDash: dash }) });
}

/** A small ring in a colour of the page. */
export function ring(color: string): Circle {
    return new Circle({ radius: 5, stroke: stroke(color, 2), fill: new Fill({ color: themeColor("--panel") }) });
}
