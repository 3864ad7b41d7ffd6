/**
 * The connection to the station: one line at a time, opened again whenever it is lost or silent. Hands frames to the store.
 */

import {
    type Hello,
    pingFrame,
    publishFrame,
    readFrame,
    type Reply,
    type Request,
    requestFrame,
    subscribeFrame,
    type Wish,
} from "../protocol/frames.js";
import type { Store } from "../store/store.js";
import { Trips } from "../store/trips.js";
import { Line } from "./line.js";

const MIN_BACKOFF_MS = 100;
const MAX_BACKOFF_MS = 2_000;
const PING_EVERY_MS = 1_000;
const REQUEST_FOR_MS = 5_000;
/** Statuses come five times a second: a line that is silent for so long is dead, whatever the network reports. */
const SILENT_FOR_MS = 3_000;
const CONNECT_WITHIN_MS = 10_000;
/** A page that was held up has not listened either. */
const MAX_TICK_MS = 250;

/** Who knows what the page wants of the station. */
export interface Wanter {
    /** Makes ready for a station before the page asks it for anything; undefined: there is nothing to make ready. */
    prepare(hello: Hello): Promise<void> | undefined;
    wishes(): readonly Wish[];
}

export class Connection {
    private line: Line | undefined;
    /** The next attempt; there is never more than one. */
    private retry: number | undefined;
    private backoffMs = MIN_BACKOFF_MS;
    private nextId = 1;
    private readonly pending = new Map<
        number,
        { readonly resolve: (reply: Reply) => void; readonly sinceMs: number }
    >();
    private readonly trips = new Trips();
    private pingedMs = Number.NEGATIVE_INFINITY;
    private tickedMs = Number.POSITIVE_INFINITY;
    private silentMs = 0;

    /** `onRefused` is called when the station wants a log-in first. */
    constructor(
        private readonly store: Store,
        private readonly wanter: Wanter,
        private readonly onRefused: () => void,
    ) {}

    /** Opens a line, or takes one that was opened before; any other is over. */
    open(line = new Line()): void {
        this.leave();
        this.line = line;
        this.store.connection = "connecting";
        line.attach({
            opened: () => this.opened(),
            heard: (data, nowMs) => this.take(data, nowMs),
            closed: () => this.closed(line.wasOpen),
        });
    }

    /** Publishes a message; false if it could not be sent at once. */
    publish(channel: string, message: Uint8Array, isUrgent: boolean): boolean {
        return this.line?.send(publishFrame(channel, message), isUrgent) ?? false;
    }

    /** Asks the station for something. There is always an answer, in bounded time. */
    request(request: Request): Promise<Reply> {
        const id = this.nextId++;
        return new Promise((resolve) => {
            this.pending.set(id, { resolve, sinceMs: performance.now() });
            if (this.line?.send(requestFrame(id, request)) !== true) {
                this.settle(id, { ok: false, error: "the station is not connected" });
            }
        });
    }

    /** Pings, ends requests without an answer, and gives up lines that are silent. */
    tick(nowMs: number): void {
        this.silentMs += Math.min(MAX_TICK_MS, Math.max(0, nowMs - this.tickedMs));
        this.tickedMs = nowMs;
        if (this.line !== undefined && this.silentMs > (this.line.wasOpen ? SILENT_FOR_MS : CONNECT_WITHIN_MS)) {
            this.open();
        }
        if (nowMs - this.pingedMs >= PING_EVERY_MS && this.line?.isOpen) {
            this.pingedMs = nowMs;
            const id = this.nextId++;
            this.trips.sent(id, nowMs);
            this.line.send(pingFrame(id));
        }
        this.store.roundTripMs = this.trips.now(nowMs);
        for (const [id, { sinceMs }] of this.pending) {
            if (nowMs - sinceMs > REQUEST_FOR_MS) {
                this.settle(id, { ok: false, error: "no answer from the station" });
            }
        }
    }

    private opened(): void {
        this.backoffMs = MIN_BACKOFF_MS;
        this.silentMs = 0;
        this.store.connection = "open";
    }

    private take(data: ArrayBuffer, nowMs: number): void {
        this.silentMs = 0;
        try {
            const frame = readFrame(data);
            if (frame.kind === "reply") {
                this.settle(frame.id, frame.reply);
            } else if (frame.kind === "pong") {
                this.trips.answered(frame.id, nowMs);
                this.store.roundTripMs = this.trips.now(nowMs);
            }
            this.store.apply(frame, nowMs);
            if (frame.kind === "hello") {
                this.ask(frame.hello);
            }
        } catch (error) {
            this.store.fault(error);
        }
    }

    /** Asks for messages anew, because the page wants others than before. What it has of them is not taken twice. */
    renew(): void {
        this.store.reconnect();
        this.line?.send(subscribeFrame(this.wanter.wishes()), true);
    }

    private ask(hello: Hello): void {
        const { line } = this;
        const send = (): void => {
            if (this.line === line) {
                line?.send(subscribeFrame(this.wanter.wishes()), true);
            }
        };
        const preparing = this.wanter.prepare(hello);
        if (preparing === undefined) {
            send();
        } else {
            void preparing.then(send);
        }
    }

    private closed(wasOpen: boolean): void {
        this.leave();
        this.store.connection = "closed";
        this.retry = window.setTimeout(() => this.open(), this.backoffMs);
        this.backoffMs = Math.min(MAX_BACKOFF_MS, this.backoffMs * 2);
        // A browser does not distinguish a refused upgrade from a station that is not there, so ask.
        if (!wasOpen) {
            void this.askWhoIAm();
        }
    }

    /** The line is over, and so is all that hung on it. */
    private leave(): void {
        window.clearTimeout(this.retry);
        this.line?.drop();
        this.line = undefined;
        this.silentMs = 0;
        this.trips.clear();
        this.store.roundTripMs = undefined;
        for (const id of [...this.pending.keys()]) {
            this.settle(id, { ok: false, error: "the connection to the station was lost" });
        }
    }

    private async askWhoIAm(): Promise<void> {
        try {
            const response = await fetch("whoami", { cache: "no-store" });
            // The answer may have taken longer than the next attempt, which may have worked.
            if (response.status === 401 && !this.line?.isOpen && this.store.connection !== "refused") {
                this.leave();
                this.store.connection = "refused";
                this.onRefused();
            }
        } catch {
            // The station is not there: the next attempt to connect is on its way.
        }
    }

    private settle(id: number, reply: Reply): void {
        this.pending.get(id)?.resolve(reply);
        this.pending.delete(id);
    }
}
