/**
 * All panels and layers of the page: those that are built in, and those of modules that the station serves.
 *
 * What they declare of the messages that they want becomes here what the station is asked for, and what the page remembers.
 */

import { GateToken } from "../generated/bowline/gate_token_t.js";
import { Task } from "../generated/bowline/task_t.js";
import { LAYERS } from "../map/layers.js";
import type { LayerKind } from "../map/layer.js";
import type { Wish } from "../protocol/frames.js";
import type { Channel } from "../store/channel.js";
import type { Histories, Notes } from "../store/histories.js";
import { carries, seriesKey, type Want, want, type Wanted, wantOf, wishesOf } from "../store/want.js";
import { KINDS } from "./index.js";
import type { PanelKind } from "./panel.js";

/** The most rows that a station takes (`wish.rs`). */
export const MAX_WISHES = 64;

/**
 * What the page itself wants, whatever panels there are: commands are made with fresh tokens, and a task that the gate
 * passed on confirms the one that was given, so that none may be overtaken.
 */
const OF_THE_PAGE: readonly Want[] = [want(GateToken, { maxHz: 25 }), want(Task, { maxHz: 0 })];

/** Panels and layers that come together. */
export interface Addition {
    readonly panels: readonly PanelKind[];
    readonly layers: readonly LayerKind[];
}

export class Registry implements Notes {
    /** In the order in which they are laid out. */
    kinds: readonly PanelKind[] = KINDS;
    layers: readonly LayerKind[] = LAYERS;
    /** Counts what makes panels be chosen anew. */
    revision = 0;
    private wants: readonly Want[] = [];
    private byFingerprint = new Map<bigint, Want[]>();
    /** Of types that there is no generated code for. */
    private byName: Want[] = [];

    constructor() {
        this.index();
    }

    /** The rows that the station is asked for. */
    get wishes(): Wish[] {
        return wishesOf([...OF_THE_PAGE, ...this.wants]);
    }

    /** Adds panels and layers. Throws, and adds nothing, where the station would not take what all of them want. */
    add({ panels, layers }: Addition): void {
        const before = { kinds: this.kinds, layers: this.layers };
        this.kinds = [...this.kinds, ...panels];
        this.layers = layers.length > 0 ? [...this.layers, ...layers] : this.layers;
        this.index();
        const n = this.wishes.length;
        if (n > MAX_WISHES) {
            Object.assign(this, before);
            this.index();
            throw new Error(
                `expected at most ${MAX_WISHES} types that are wanted in a manner of their own, found ${n}`,
            );
        }
        this.revision += 1;
    }

    /** Whether a panel or a layer shows what a channel carries; everything else is shown by its bare fields. */
    isDrawn(channel: Channel): boolean {
        return this.byFingerprint.has(channel.fingerprint) || this.byName.some((it) => carries(channel, it));
    }

    /** Remembers what panels and layers want remembered of the message that a channel just got. */
    note(histories: Histories, channel: Channel, utime: number): void {
        for (const it of this.byFingerprint.get(channel.fingerprint) ?? []) {
            remember(it, histories, channel, utime);
        }
        for (const it of this.byName) {
            if (carries(channel, it)) {
                remember(it, histories, channel, utime);
            }
        }
    }

    private index(): void {
        const rows: readonly { types: readonly Wanted[]; shows?: readonly Wanted[] }[] = [
            ...this.kinds,
            ...this.layers,
        ];
        this.wants = rows.flatMap(({ types, shows = [] }) => [...types, ...shows]).map(wantOf);
        this.byFingerprint = new Map();
        for (const it of this.wants) {
            if (it.codec !== undefined) {
                const { FINGERPRINT } = it.codec;
                this.byFingerprint.set(FINGERPRINT, [...(this.byFingerprint.get(FINGERPRINT) ?? []), it]);
            }
        }
        this.byName = this.wants.filter((it) => it.codec === undefined);
    }
}

/** A message that cannot be decoded is counted by its channel, and leaves nothing behind. */
function remember(wanted: Want, histories: Histories, channel: Channel, utime: number): void {
    const { series, note } = wanted;
    if (series === undefined && note === undefined) {
        return;
    }
    const message = channel.value() as never;
    if (message === undefined) {
        return;
    }
    for (const [name, quantity] of Object.entries(series ?? {})) {
        histories.series(seriesKey(wanted, channel), name).push(utime / 1e6, quantity(message));
    }
    note?.(histories, message, channel, utime);
}
