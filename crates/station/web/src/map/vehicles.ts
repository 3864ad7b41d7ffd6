/** The layer of the vehicles: where each is and was, the one in front and all others. */

import VectorLayer from "ol/layer/Vector";
import VectorSource from "ol/source/Vector";
import { PoseTransform } from "../generated/bowline/pose_transform_t.js";
import type { Picture } from "../panels/panel.js";
import type { Channel } from "../store/channel.js";
import { want } from "../store/want.js";
import { Marks } from "./drawing.js";
import type { Layer, LayerContext, LayerKind } from "./layer.js";

class VehiclesLayer implements Layer {
    private readonly source = new VectorSource();
    readonly drawn = new VectorLayer({
        source: this.source,
        zIndex: 8,
        updateWhileInteracting: true,
        updateWhileAnimating: true,
    });
    private readonly marks: Marks;

    constructor(private readonly context: LayerContext) {
        this.marks = new Marks(this.source, context.store.histories);
    }

    sources(): (Channel | undefined)[] {
        return [this.pose()];
    }

    render({ utime }: Picture): void {
        const { store, view } = this.context;
        for (const { prefix, name } of store.vehicles) {
            const look = prefix === view.vehicle.prefix ? "front" : "other";
            const channel = look === "front" ? this.pose() : store.channel(`${prefix}pose`);
            this.marks.show(`${look} ${prefix}`, channel, look, name, utime);
        }
    }

    restyle(): void {
        this.source.changed();
    }

    extent(): readonly number[] | undefined {
        return this.source.getExtent() ?? undefined;
    }

    private pose(): Channel | undefined {
        return this.context.view.find(PoseTransform, "pose");
    }
}

export const vehicles: LayerKind = {
    id: "vehicles",
    types: [
        want(PoseTransform, {
            maxHz: 30,
            past: 1_000,
            note: (histories, { matrix }, channel) =>
                histories.track(channel.name).push(matrix[3] ?? 0, matrix[7] ?? 0),
        }),
    ],
    sides: ["belief"],
    make: (context) => new VehiclesLayer(context),
};
