/**
 * Which panels are on a page, by the vehicle's messages: a new message shows up by itself.
 *
 * A layout is bound to what a vehicle publishes and not to the vehicle, so a second vehicle gets the same panels again; bound to
 * an experiment it is FAST-Robots' monitor. Panels that are still wanted are kept as they are.
 */

import type { LayerKind } from "../map/layer.js";
import type { Context, PageId, Panel, PanelKind, Picture, Slot } from "../panels/panel.js";
import type { Registry } from "../panels/registry.js";
import { setpointShown } from "../panels/setpoint.js";
import type { Channel } from "../store/channel.js";
import type { VehicleView } from "../store/store.js";
import { isHousekeeping } from "../store/vehicles.js";
import { Card } from "./card.js";
import { el } from "./dom.js";

/** A panel that a page should have. */
export interface Wanted {
    readonly key: string;
    readonly kind: PanelKind;
    readonly slot: Slot;
    readonly channel: Channel | undefined;
}

/** More panels for single channels than this only make a page slow; the inspector has them all. */
const MAX_PER_KIND = 8;

/** The panels of a page for a vehicle, in their order. */
export function wantedPanels(page: PageId, view: VehicleView, registry: Registry): Wanted[] {
    return choose(page, view, registry).flatMap((it) => it.wanted);
}

/** Where on a page channels were left out because there are too many of them, and how many. */
export function leftOut(page: PageId, view: VehicleView, registry: Registry): Map<Slot, number> {
    const left = new Map<Slot, number>();
    for (const { slot, nLeftOut } of choose(page, view, registry).filter((it) => it.nLeftOut > 0)) {
        left.set(slot, (left.get(slot) ?? 0) + nLeftOut);
    }
    return left;
}

interface Choice {
    readonly slot: Slot;
    readonly wanted: readonly Wanted[];
    readonly nLeftOut: number;
}

function choose(page: PageId, view: VehicleView, registry: Registry): Choice[] {
    const prefix = view.key;
    return registry.kinds.flatMap((kind): Choice[] => {
        const slot = kind.places[page];
        if (slot === undefined) {
            return [];
        }
        if (kind.per === "vehicle") {
            const isWanted =
                kind.isWanted?.(view) ??
                (kind.types.length === 0 || kind.types.some((type) => view.ofType(type).length > 0));
            const wanted = isWanted ? [{ key: `${prefix}${kind.id}`, kind, slot, channel: undefined }] : [];
            return [{ slot, wanted, nLeftOut: 0 }];
        }
        const channels =
            kind.types.length > 0 ? kind.types.flatMap((type) => view.ofType(type)) : unknownTo(view, registry);
        const wanted = channels
            .slice(0, MAX_PER_KIND)
            .map((channel) => ({ key: `${prefix}${kind.id}-${channel.name}`, kind, slot, channel }));
        return [{ slot, wanted, nLeftOut: channels.length - wanted.length }];
    });
}

/**
 * Channels of types that no panel was made for, the newest first: a channel that has just begun is what a person looks
 * for. Without what twins of devices are fed with.
 */
function unknownTo(view: VehicleView, registry: Registry): Channel[] {
    // What actuators are set to has no type of its own in the page: the gate describes it.
    const setpoint = setpointShown(view).channel?.fingerprint;
    const isShown = (channel: Channel): boolean => {
        const name = view.shortName(channel);
        const isKnown = registry.isDrawn(channel) || channel.fingerprint === setpoint;
        return channel.nMessages > 0 && !isKnown && !isHousekeeping(name) && !name.startsWith("sim.");
    };
    return view
        .channels()
        .filter(isShown)
        .sort((a, b) => b.serial - a.serial);
}

export class Layout {
    readonly element = el("main", { id: "page", tabindex: "-1" });
    private readonly slots: Readonly<Record<Slot, HTMLElement>> = {
        hero: el("div", { class: "slot hero" }),
        side: el("div", { class: "slot side" }),
        strip: el("div", { class: "slot strip" }),
        wide: el("div", { class: "slot wide" }),
        grid: el("div", { class: "slot grid" }),
    };
    private cards = new Map<string, Card>();
    private notes: HTMLElement[] = [];
    /** Those that the maps were made with. */
    private layers: readonly LayerKind[] | undefined;

    constructor(
        private readonly context: Omit<Context, "view" | "channel" | "layers">,
        private readonly registry: Registry,
    ) {
        this.element.append(...Object.values(this.slots));
    }

    /** Brings the page in line with what there is now. */
    arrange(page: PageId, view: VehicleView | undefined): void {
        const wanted = view === undefined ? [] : wantedPanels(page, view, this.registry);
        const kept = new Map<string, Card>();
        const hasNewLayers = this.registry.layers !== this.layers;
        this.layers = this.registry.layers;
        for (const [key, card] of this.cards) {
            const found = wanted.find((it) => it.key === key);
            if (found !== undefined && !(hasNewLayers && found.kind.hasLayers)) {
                kept.set(key, card);
            } else {
                card.destroy();
            }
        }
        for (const { key, kind, slot, channel } of wanted) {
            const card = kept.get(key) ?? this.card(key, kind, view, channel);
            kept.set(key, card);
            this.place(
                card.element,
                slot,
                wanted.filter((it) => it.slot === slot).findIndex((it) => it.key === key),
            );
        }
        this.cards = kept;
        this.note(view === undefined ? new Map() : leftOut(page, view, this.registry));
        this.element.className = `page-${page}`;
        for (const [name, slot] of Object.entries(this.slots)) {
            slot.hidden = slot.childElementCount === 0;
            this.element.classList.toggle(`has-${name}`, !slot.hidden);
        }
    }

    render(picture: Picture): void {
        for (const card of this.cards.values()) {
            card.render(picture);
        }
    }

    /** Marks that not everything is shown. */
    private note(left: ReadonlyMap<Slot, number>): void {
        this.notes.forEach((it) => it.remove());
        this.notes = [...left].map(([slot, n]) => {
            const note = el("p", { class: "empty more" }, `${n} more in the inspector, on the page Messages`);
            this.slots[slot].append(note);
            return note;
        });
    }

    private card(key: string, kind: PanelKind, view: VehicleView | undefined, channel: Channel | undefined): Card {
        const onFault = (error: unknown): void => this.context.store.fault(error);
        return new Card(key, kind, channel?.name ?? "", this.make(kind, view, channel), onFault);
    }

    private make(kind: PanelKind, view: VehicleView | undefined, channel: Channel | undefined): Panel | Promise<Panel> {
        if (view === undefined) {
            return Promise.reject(new Error("there is no vehicle"));
        }
        try {
            return kind.make({ ...this.context, view, channel, layers: this.registry.layers });
        } catch (error) {
            return Promise.reject(error);
        }
    }

    /** Puts an element at its place, unless it is there: moving it would make it lose the focus. */
    private place(element: HTMLElement, slot: Slot, at: number): void {
        const parent = this.slots[slot];
        if (parent.children[at] !== element) {
            parent.insertBefore(element, parent.children[at] ?? null);
        }
    }
}
