/**
 * What a panel is: one file that makes it, and one row in `index.ts` with the messages that it is for.
 *
 * A panel sees the store through the view of one vehicle, and acts through the commander. It is rendered once for each
 * picture while it is in sight, and it owns nothing but its elements. What it wants of the station and what the page
 * remembers for it are part of its row. Panels from a folder of the station have the same rows (`module.ts`), and can not act.
 */

import type { Commander } from "../app/commander.js";
import type { Controls } from "../input/hands.js";
import type { Channel } from "../store/channel.js";
import type { LayerKind } from "../map/layer.js";
import type { Store, VehicleView } from "../store/store.js";
import type { Wanted } from "../store/want.js";

/** A moment at which everything is drawn. */
export interface Picture {
    /** The page's clock, milliseconds. */
    readonly nowMs: number;
    /** The station's clock, microseconds since the epoch. */
    readonly utime: number | undefined;
    /** Whether texts may change: ten times a second, since a person does not read faster. */
    readonly isForText: boolean;
}

export interface Panel {
    readonly body: HTMLElement;
    /** All that it shows, the most important first: in its head is the age of the one that is longest overdue. */
    sources(): readonly (Channel | undefined)[];
    render(picture: Picture): void;
    destroy?(): void;
}

/** Of what a panel shows, what is longest overdue; the first, if nothing is. */
export function worstOf(sources: readonly (Channel | undefined)[], utime: number | undefined): Channel | undefined {
    const all = sources.filter((it) => it !== undefined);
    const overdue = all.filter((it) => it.freshness(utime) === "stale");
    const [first] = overdue.length > 0 ? overdue : all;
    return overdue.reduce((a, b) => ((b?.ageS(utime) ?? 0) > (a?.ageS(utime) ?? 0) ? b : a), first);
}

/** What a panel is made with. */
export interface Context {
    readonly store: Store;
    readonly view: VehicleView;
    readonly commander: Commander;
    readonly controls: Controls;
    /** The layers of maps. */
    readonly layers: readonly LayerKind[];
    /** Binds the layout to an experiment of the vehicle; with an empty name to the whole vehicle. */
    readonly chooseMonitor: (name: string) => void;
    /** The channel that it is for, of a panel that is for one. */
    readonly channel: Channel | undefined;
}

/** Why this person cannot ask for anything at all, for people; empty if they may. */
export function whyNotAsk({ store, commander }: Context): string {
    if (store.isReplay) {
        return "This is a replay: nothing can be asked of it.";
    }
    if (store.hello?.role === "viewer") {
        return "You are a viewer: you can look, and stop.";
    }
    return commander.mayCommand ? "" : "Nothing is received from the station.";
}

/** The pages that panels are on. */
export type PageId = "operate" | "sensors" | "simulation" | "scene" | "messages";

/** Where on a page a panel is. */
export type Slot = "hero" | "side" | "strip" | "grid" | "wide";

/** A kind of panel: a row of the table. */
export interface PanelKind {
    readonly id: string;
    readonly title: string;
    /** It is shown for vehicles that have messages of one of these types; for all where there is none. */
    readonly types: readonly Wanted[];
    /** What else it shows: messages of these types, and of those above, need no panel of bare fields. */
    readonly shows?: readonly Wanted[];
    /** Instead of types, where they do not decide. */
    readonly isWanted?: (view: VehicleView) => boolean;
    /** Whether there is one for the vehicle, or one for each channel of these types. */
    readonly per: "vehicle" | "channel";
    /** It is made anew where a module has brought more layers of maps. */
    readonly hasLayers?: boolean;
    readonly places: Readonly<Partial<Record<PageId, Slot>>>;
    make(context: Context): Panel | Promise<Panel>;
}
