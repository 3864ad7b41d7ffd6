/** What layers of a line have in common: they show where a vehicle is to go, and a line that is not sent any more as doubtful. */

import Feature from "ol/Feature";
import { LineString, MultiPoint } from "ol/geom";
import VectorLayer from "ol/layer/Vector";
import VectorSource from "ol/source/Vector";
import { Style } from "ol/style";
import type { MessageType } from "../generated/bowline.js";
import { Path } from "../generated/bowline/path_t.js";
import type { Channel } from "../store/channel.js";
import type { VehicleView } from "../store/store.js";
import { ring, stroke } from "./drawing.js";
import type { Layer, LayerContext, LayerKind } from "./layer.js";

/** A line: the channel that it is of, and how it is read and drawn. */
export interface Line {
    readonly id: string;
    readonly type: MessageType<unknown>;
    readonly channel: (view: VehicleView) => Channel | undefined;
    /** What it is drawn for: it is drawn anew when this is another. Undefined: there is nothing to draw. */
    readonly of: (channel: Channel) => unknown;
    readonly points: (channel: Channel) => readonly (readonly number[])[] | undefined;
    readonly style: () => Style;
    /** Points that are not joined. */
    readonly isLoose?: boolean;
}

const STALE_STYLE = (): Style => new Style({ stroke: stroke("--stale", 1.25, [2, 6]), image: ring("--stale") });

class LineLayer implements Layer {
    private readonly feature = new Feature();
    private readonly source = new VectorSource({ features: [this.feature] });
    readonly drawn = new VectorLayer({ source: this.source, zIndex: 6, updateWhileInteracting: true });
    private shown: unknown;
    private isStale = false;

    constructor(
        private readonly context: LayerContext,
        private readonly line: Line,
    ) {
        this.feature.setStyle(() => (this.isStale ? STALE_STYLE : line.style)());
    }

    sources(): (Channel | undefined)[] {
        const channel = this.line.channel(this.context.view);
        return channel && this.line.of(channel) !== undefined ? [channel] : [];
    }

    render({ utime }: { readonly utime: number | undefined }): void {
        const channel = this.line.channel(this.context.view);
        const of = channel && this.line.of(channel);
        if (of !== this.shown) {
            this.shown = of;
            const points = of === undefined || channel === undefined ? [] : (this.line.points(channel) ?? []);
            this.draw(points.map((it) => [...it]));
        }
        const isStale = channel?.freshness(utime) === "stale";
        if (isStale !== this.isStale) {
            this.isStale = isStale;
            this.feature.changed();
        }
    }

    restyle(): void {
        this.source.changed();
    }

    private draw(points: number[][]): void {
        const geometry = this.line.isLoose ? new MultiPoint(points) : new LineString(points);
        this.feature.setGeometry(points.length === 0 ? undefined : geometry);
    }
}

export function lineLayer(line: Line): LayerKind {
    const { id, type } = line;
    return { id, types: [type], sides: ["belief"], make: (context) => new LineLayer(context, line) };
}

/** The places of a path. */
export const waypoints = (channel: Channel): (readonly number[])[] | undefined =>
    channel.as(Path)?.waypoints.map((it) => [it.position[0] ?? 0, it.position[1] ?? 0]);
