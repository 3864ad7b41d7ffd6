/**
 * The WebSocket to the station: connects, connects again, and hands frames to the store. The only file that touches it.
 *
 * Nothing waits here: what cannot be sent now is dropped, because a command that comes late is worse than none.
 */

import {
    type FromStation,
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

const MAX_BACKOFF_MS = 2_000;
const PING_EVERY_MS = 1_000;
const REQUEST_FOR_MS = 5_000;
/** What a slow network has not taken yet; beyond that commands would only get older. */
const MAX_BUFFERED_BYTES = 64 * 1024;

/**
 * What to carry, how often, and how much of the past: pictures and maps are large, tokens must be fresh, and tracks and
 * curves do not begin with the page. The first row that matches counts.
 */
export const WISHES: readonly Wish[] = [
    { pattern: ".*", type: "bowline.gate_token_t", max_hz: 25 },
    { pattern: ".*", type: "bowline.map_t", max_hz: 1 },
    { pattern: ".*", type: "bowline.image_t", max_hz: 10 },
    { pattern: ".*", type: "bowline.range3d_t", max_hz: 10 },
    { pattern: ".*", type: "bowline.multibeam_t", max_hz: 30, past: 100 },
    { pattern: ".*", type: "bowline.pose_transform_t", max_hz: 30, past: 1_000 },
    { pattern: ".*", type: "bowline.sounding_t", max_hz: 10, past: 500 },
    { pattern: ".*", type: "bowline.spectrum_t", max_hz: 10, past: 500 },
    { pattern: ".*", type: "bowline.refusal_t", max_hz: 0, past: 50 },
    { pattern: ".*", type: "bowline.alarm_t", max_hz: 0, past: 50 },
    { pattern: ".*", type: "bowline.audit_t", max_hz: 0, past: 50 },
    // On one channel many speak: the newest is not the only one that counts.
    { pattern: ".*", type: "bowline.experiment_t", max_hz: 0 },
    { pattern: ".*", type: "bowline.heartbeat_t", max_hz: 0 },
    { pattern: ".*", type: "bowline.lease_request_t", max_hz: 0 },
    { pattern: ".*", type: "bowline.stop_command_t", max_hz: 0, past: 20 },
    { pattern: ".*", type: "bowline.task_command_t", max_hz: 0, past: 50 },
    { pattern: ".*", max_hz: 10 },
];

export class Connection {
    private socket: WebSocket | undefined;
    private backoffMs = 100;
    private nextId = 1;
    private readonly pending = new Map<
        number,
        { readonly resolve: (reply: Reply) => void; readonly sinceMs: number }
    >();
    private ping: { readonly id: number; readonly sentMs: number } | undefined;
    private pingedMs = 0;

    /** `onRefused` is called when the station wants a log-in first. */
    constructor(
        private readonly store: Store,
        private readonly onRefused: () => void,
    ) {}

    open(): void {
        const url = new URL("ws", window.location.href);
        url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
        this.store.connection = "connecting";
        const socket = new WebSocket(url, "bowline");
        socket.binaryType = "arraybuffer";
        let wasOpen = false;
        socket.onopen = () => {
            wasOpen = true;
            this.backoffMs = 100;
            this.store.connection = "open";
            socket.send(subscribeFrame(WISHES));
        };
        socket.onmessage = (event: MessageEvent<ArrayBuffer>) => this.take(event.data);
        socket.onclose = (event) => this.closed(wasOpen, event.code);
        this.socket = socket;
    }

    /** Publishes a message; false if it could not be sent at once. */
    publish(channel: string, message: Uint8Array): boolean {
        return this.send(publishFrame(channel, message));
    }

    /** Asks the station for something. There is always an answer, in bounded time. */
    request(request: Request): Promise<Reply> {
        const id = this.nextId++;
        return new Promise((resolve) => {
            this.pending.set(id, { resolve, sinceMs: performance.now() });
            if (!this.send(requestFrame(id, request))) {
                this.settle(id, { ok: false, error: "the station is not connected" });
            }
        });
    }

    /** Pings, and ends requests that nobody answered. */
    tick(nowMs: number): void {
        if (nowMs - this.pingedMs >= PING_EVERY_MS && this.socket?.readyState === WebSocket.OPEN) {
            this.pingedMs = nowMs;
            this.ping = { id: this.nextId++, sentMs: nowMs };
            this.send(pingFrame(this.ping.id));
        }
        for (const [id, { sinceMs }] of this.pending) {
            if (nowMs - sinceMs > REQUEST_FOR_MS) {
                this.settle(id, { ok: false, error: "no answer from the station" });
            }
        }
    }

    private send(frame: Uint8Array<ArrayBuffer>): boolean {
        const { socket } = this;
        if (socket?.readyState !== WebSocket.OPEN || socket.bufferedAmount > MAX_BUFFERED_BYTES) {
            return false;
        }
        socket.send(frame);
        return true;
    }

    private take(data: ArrayBuffer): void {
        const nowMs = performance.now();
        let frame: FromStation;
        try {
            frame = readFrame(data);
        } catch (error) {
            this.store.fault(error);
            return;
        }
        if (frame.kind === "reply") {
            this.settle(frame.id, frame.reply);
        } else if (frame.kind === "pong" && frame.id === this.ping?.id) {
            this.store.roundTripMs = nowMs - this.ping.sentMs;
        }
        this.store.apply(frame, nowMs);
    }

    private closed(wasOpen: boolean, code: number): void {
        for (const id of [...this.pending.keys()]) {
            this.settle(id, { ok: false, error: "the connection to the station was lost" });
        }
        this.store.roundTripMs = undefined;
        // 4401: the log-in is over. A browser does not tell a refused upgrade from a station that is not there, so ask.
        this.store.connection = "closed";
        if (!wasOpen || code === 4401) {
            void this.askWhoIAm();
        }
        window.setTimeout(() => this.store.connection !== "refused" && this.open(), this.backoffMs);
        this.backoffMs = Math.min(MAX_BACKOFF_MS, this.backoffMs * 2);
    }

    private async askWhoIAm(): Promise<void> {
        try {
            const response = await fetch("whoami", { cache: "no-store" });
            if (response.status === 401) {
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
