/**
 * What a layer of the map is: one file that makes it, and one row in `layers.ts`.
 *
 * Layers know nothing of each other. A module that the station serves can add some too (`panels/module.ts`).
 */

import type BaseLayer from "ol/layer/Base";
import type { Picture } from "../panels/panel.js";
import type { Channel } from "../store/channel.js";
import type { Store, VehicleView } from "../store/store.js";
import type { Wanted } from "../store/want.js";

/** Which map: what the robot believes, or what is true. */
export type Side = "belief" | "truth";

/** What a layer is made with. */
export interface LayerContext {
    readonly store: Store;
    readonly view: VehicleView;
    readonly side: Side;
}

export interface Layer {
    /** What is drawn, with its height above the others as `zIndex`. */
    readonly drawn: BaseLayer;
    /** All that it shows now, for the age in the panel's head. */
    sources?(): readonly (Channel | undefined)[];
    render(picture: Picture): void;
    /** The page has other colours, or is on another screen. */
    restyle?(): void;
    /** What the button that shows the whole map fits in. */
    extent?(): readonly number[] | undefined;
    /** Controls in the map's tool bar. */
    readonly tools?: readonly HTMLElement[];
    /** A legend in the corner of the map. */
    readonly legend?: HTMLElement;
    /** Why something is missing, for people; empty: nothing is. */
    note?(): string;
    destroy?(): void;
}

/** A row of the table. */
export interface LayerKind {
    readonly id: string;
    /** The messages that it draws: they need no panel of bare fields. */
    readonly types: readonly Wanted[];
    readonly sides: readonly Side[];
    make(context: LayerContext): Layer;
}
