/**
 * One WebSocket to the station. The only file that touches one.
 *
 * It is small and needs little, so that it can be opened before the rest of the page is there; what comes before there is a
 * listener is kept with its time. Once it is dropped its messages are ignored, however long its end takes.
 *
 * Nothing waits here on the way out: what cannot be sent now is dropped, because a command that comes late is worse than
 * none. A stop is not: it is as good late as it is soon.
 */

/** The listener of a line. */
export interface LineListener {
    opened(): void;
    heard(data: ArrayBuffer, nowMs: number): void;
    closed(): void;
}

/** What a slow network has not taken yet; beyond that commands would only get older. */
const MAX_BUFFERED_BYTES = 64 * 1024;

export class Line {
    private readonly socket: WebSocket;
    private listener: LineListener | undefined;
    private waiting: { readonly data: ArrayBuffer; readonly ms: number }[] = [];
    private isOver = false;
    /** Whether it ever was open. */
    wasOpen = false;

    constructor() {
        const url = new URL("ws", window.location.href);
        url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
        this.socket = new WebSocket(url, "bowline");
        this.socket.binaryType = "arraybuffer";
        this.socket.onopen = () => {
            this.wasOpen = true;
            this.listener?.opened();
        };
        this.socket.onmessage = (event: MessageEvent<ArrayBuffer>) => this.hear(event.data);
        this.socket.onclose = () => {
            this.isOver = true;
            this.listener?.closed();
        };
    }

    get isOpen(): boolean {
        return this.socket.readyState === WebSocket.OPEN;
    }

    /** Sends everything to a listener, from the beginning. */
    attach(listener: LineListener): void {
        this.listener = listener;
        if (this.wasOpen) {
            listener.opened();
        }
        for (const { data, ms } of this.waiting) {
            listener.heard(data, ms);
        }
        this.waiting = [];
        if (this.isOver) {
            listener.closed();
        }
    }

    /** Sends a frame; false if it cannot go out now. */
    send(frame: Uint8Array<ArrayBuffer>, isUrgent = false): boolean {
        if (!this.isOpen || (!isUrgent && this.socket.bufferedAmount > MAX_BUFFERED_BYTES)) {
            return false;
        }
        this.socket.send(frame);
        return true;
    }

    /** Ends listening. */
    drop(): void {
        this.socket.onopen = this.socket.onmessage = this.socket.onclose = null;
        this.listener = undefined;
        this.waiting = [];
        this.socket.close();
    }

    private hear(data: ArrayBuffer): void {
        const ms = performance.now();
        if (this.listener === undefined) {
            this.waiting.push({ data, ms });
        } else {
            this.listener.heard(data, ms);
        }
    }
}
