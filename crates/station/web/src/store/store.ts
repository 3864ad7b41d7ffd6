/**
 * All state of the page, in one place.
 *
 * In: frames from the station, in their order, and the page's clock. Out: what panels draw, once for each picture. Nothing
 * in here knows of sockets or of the page's elements.
 */

import { Types } from "../decode/codec.js";
import type { MessageType } from "../generated/bowline.js";
import type { FromStation, Hello, Status } from "../protocol/frames.js";
import { Channel } from "./channel.js";
import { StationClock } from "./clock.js";
import type { Monitor } from "./experiments.js";
import { Histories, type Notes } from "./histories.js";
import { LATE_AFTER_MS } from "./trips.js";
import { findVehicles, isOf, type Vehicle } from "./vehicles.js";
import { carries, type Wanted, wantOf } from "./want.js";

/** How the page stands with the station. */
export type Connection = "connecting" | "open" | "closed" | "refused";

/** Receives each message as it comes. */
export type Listener = (channel: Channel, nowMs: number) => void;

const MAX_CHANNELS = 4_096;
const TRUTH = /(^|[./])truth\.pose$/;
/** What is older than this when it comes is of the past. */
const PAST_AFTER_US = 2_000_000;

export class Store {
    readonly types = new Types((error) => this.fault(error));
    readonly clock = new StationClock();
    readonly histories: Histories;
    hello: Hello | undefined;
    status: Status | undefined;
    connection: Connection = "connecting";
    /** Counts what makes panels be chosen anew: channels, types, vehicles. */
    revision = 0;
    /** Whether the truth is published: only a simulation can. */
    isSimulated = false;
    /** Messages taken since the page was opened. */
    nMessages = 0;
    /** Frames and schemas that made no sense. */
    nFaults = 0;
    lastFault = "";
    /** Round trip to the station, or for how long it has not answered, milliseconds; undefined before the first. */
    roundTripMs: number | undefined;
    private readonly byId = new Map<number, Channel>();
    private readonly byName = new Map<string, Channel>();
    private readonly listeners: Listener[] = [];
    private sorted: { readonly revision: number; readonly channels: Channel[] } | undefined;
    private found: { readonly revision: number; readonly vehicles: readonly Vehicle[] } | undefined;
    private newestUtime = Number.NEGATIVE_INFINITY;

    /** `notes` decides what is remembered of each message. */
    constructor(notes: Notes) {
        this.histories = new Histories(notes);
    }

    /** Receivers of each message, and not only of the last one. */
    listen(listener: Listener): void {
        this.listeners.push(listener);
    }

    /** Takes a frame. */
    apply(frame: FromStation, nowMs: number): void {
        switch (frame.kind) {
            case "hello":
                return this.applyHello(frame.hello, nowMs);
            case "channel":
                return this.applyChannel(frame.id, frame.name, frame.fingerprint);
            case "schema":
                this.types.learn(frame.fingerprint, frame.bytes);
                return this.changed();
            case "message":
                return this.applyMessage(frame, nowMs);
            case "status":
                this.status = frame.status;
                this.clock.set(frame.status.utime, frame.status.rate ?? 1, nowMs);
                return;
            case "reset":
                return this.forget();
            case "reply":
            case "pong":
                return;
        }
    }

    /** Something made no sense. */
    fault(error: unknown): void {
        this.nFaults += 1;
        this.lastFault = error instanceof Error ? error.message : String(error);
    }

    /** The station will send again what it has: what was received of it is not taken twice. */
    reconnect(): void {
        for (const channel of this.byName.values()) {
            channel.reconnect();
        }
    }

    /** The station's time, microseconds since the epoch. */
    now(nowMs: number): number | undefined {
        return this.clock.now(nowMs);
    }

    /** Whether what the page shows may be long over: nothing comes, or what comes was under way for too long. */
    isCutOff(nowMs: number): boolean {
        return this.connection !== "open" || this.clock.isCutOff(nowMs) || this.isLate;
    }

    /** Whether the way to the station and back takes too long to command anything by what the page shows. */
    get isLate(): boolean {
        return (this.roundTripMs ?? 0) > LATE_AFTER_MS;
    }

    get isReplay(): boolean {
        return this.hello?.source === "replay";
    }

    /** The vehicles, by name. They are looked for on request, not with each of a thousand messages of a first view. */
    get vehicles(): readonly Vehicle[] {
        if (this.found?.revision !== this.revision) {
            this.found = { revision: this.revision, vehicles: findVehicles(this.byName.values()) };
        }
        return this.found.vehicles;
    }

    /** All channels, by name. Panels ask for each picture: it is sorted anew only when there is another one. */
    channels(): readonly Channel[] {
        if (this.sorted?.revision !== this.revision) {
            const channels = [...this.byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
            this.sorted = { revision: this.revision, channels };
        }
        return this.sorted.channels;
    }

    channel(name: string): Channel | undefined {
        return this.byName.get(name);
    }

    /** The channels of a vehicle. */
    channelsOf(vehicle: Vehicle): Channel[] {
        return this.channels().filter((channel) => isOf(channel.name, vehicle, this.vehicles));
    }

    private applyHello(hello: Hello, nowMs: number): void {
        // A log begins anew with each connection; and where the clock was set back, what was received is not the past.
        const isAnother = (this.hello !== undefined && this.isReplay) || hello.source === "replay";
        if (isAnother || hello.utime < this.newestUtime) {
            this.forget();
        }
        this.hello = hello;
        this.byId.clear();
        this.reconnect();
        this.clock.set(hello.utime, hello.source === "replay" ? 0 : 1, nowMs);
        this.revision += 1;
    }

    private applyChannel(id: number, name: string, fingerprint: bigint): void {
        let channel = this.byName.get(name);
        if (channel === undefined) {
            if (this.byName.size >= MAX_CHANNELS) {
                return this.fault(new Error(`expected at most ${MAX_CHANNELS} channels, found one more: ${name}`));
            }
            channel = new Channel(this.byName.size, name, fingerprint, this.types);
            this.byName.set(name, channel);
            this.isSimulated ||= TRUTH.test(name);
        } else if (fingerprint !== 0n) {
            channel.fingerprint = fingerprint;
        }
        this.byId.set(id, channel);
        this.changed();
    }

    private applyMessage(frame: FromStation & { kind: "message" }, nowMs: number): void {
        const channel = this.byId.get(frame.id);
        if (channel === undefined) {
            return this.fault(new Error(`expected a channel that was announced, found number ${frame.id}`));
        }
        if (channel.isKnown(frame.utime)) {
            return;
        }
        const before = channel.fingerprint;
        const isFirst = channel.bytes === undefined;
        const isPast = (this.now(nowMs) ?? 0) - frame.utime > PAST_AFTER_US;
        channel.take(frame.bytes, frame.utime, frame.nSkipped, isPast);
        this.nMessages += 1;
        this.newestUtime = Math.max(this.newestUtime, frame.utime);
        const offered = this.histories.experiments.revision;
        this.histories.note(channel, frame.utime);
        for (const listener of this.listeners) {
            listener(channel, nowMs);
        }
        if (isFirst || before !== channel.fingerprint || offered !== this.histories.experiments.revision) {
            this.changed();
        }
    }

    /** Forgets messages and histories: time went back, or it is another log. */
    private forget(): void {
        for (const channel of this.byName.values()) {
            channel.forget();
        }
        this.histories.clear();
        this.newestUtime = Number.NEGATIVE_INFINITY;
        this.changed();
    }

    private changed(): void {
        this.revision += 1;
    }
}

/**
 * What a panel sees of one vehicle: its channels, by their names without the prefix, or by type. Bound to an experiment,
 * only those of that.
 */
export class VehicleView {
    private found = { revision: -1, all: [] as Channel[], byType: new Map<string, Channel[]>() };

    constructor(
        readonly store: Store,
        readonly vehicle: Vehicle,
        readonly monitor?: Monitor,
    ) {}

    /** The key of a view. */
    get key(): string {
        return this.monitor === undefined ? this.vehicle.prefix : `${this.vehicle.prefix}${this.monitor.name}:`;
    }

    /** The experiments that the vehicle offers. */
    monitors(): Monitor[] {
        return this.store.histories.experiments.of(this.vehicle, this.store.vehicles);
    }

    /** Its channels. */
    channels(): readonly Channel[] {
        const { monitor, store } = this;
        if (this.found.revision !== store.revision) {
            const all = store.channelsOf(this.vehicle);
            const bound = monitor === undefined ? all : all.filter((channel) => monitor.channels.has(channel.name));
            this.found = { revision: store.revision, all: bound, byType: new Map() };
        }
        return this.found.all;
    }

    /** A channel by its name on the vehicle. */
    channel(name: string): Channel | undefined {
        return this.store.channel(this.vehicle.prefix + name);
    }

    /** The name of a channel without the vehicle's prefix. */
    shortName(channel: Channel): string {
        return channel.name.slice(this.vehicle.prefix.length);
    }

    /** Its channels of a type; the truth of a simulation is left out, and what twins of devices are fed with. */
    ofType(type: Wanted): readonly Channel[] {
        const all = this.channels();
        const wanted = wantOf(type);
        // Another version of a type has the same name.
        const key = `${wanted.type} ${wanted.codec?.FINGERPRINT ?? ""}`;
        let found = this.found.byType.get(key);
        if (found === undefined) {
            found = all.filter((it) => carries(it, wanted) && !/^(truth|sim)\./.test(this.shortName(it)));
            this.found.byType.set(key, found);
        }
        return found;
    }

    /** A channel of a type: by its usual name, or any. */
    find(type: MessageType<unknown>, name: string): Channel | undefined {
        const usual = this.channel(name);
        return usual?.is(type) ? usual : this.ofType(type)[0];
    }
}
