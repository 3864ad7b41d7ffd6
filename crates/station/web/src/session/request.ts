/** A request that is repeated until the gate has confirmed or refused it. */

import type { Authority } from "../generated/bowline/authority_t.js";
import type { Now } from "./operator.js";

/**
 * How a request stands.
 *
 * ```text
 *            begin                       confirm, end          (a task of heading and speed is repeated when it is done)
 *   idle ───────────▶ waiting ─────┬───────────────▶ done
 *     any other state ──▲          ├─ refusal ─────▶ refused
 *                                  ├─ time ────────▶ expired
 *                                  ├─ lease lost ──▶ lost
 *                                  └─ replaced ────▶ replaced
 * ```
 */
export type Progress = "idle" | "waiting" | "done" | "refused" | "expired" | "lost" | "replaced";

interface Waiting<T> {
    what: T;
    readonly since: Now;
    sentMs: number | undefined;
    /** Commands of this request have larger numbers. */
    readonly afterSequence: bigint;
}

/** At most one request of a kind, and how the last one stands. */
export class Slot<T> {
    private waiting: Waiting<T> | undefined;
    private current: Progress = "idle";

    get progress(): Progress {
        return this.current;
    }

    /** What is repeated. */
    get what(): T | undefined {
        return this.waiting?.what;
    }

    get isWaiting(): boolean {
        return this.waiting !== undefined;
    }

    get isSent(): boolean {
        return this.waiting?.sentMs !== undefined;
    }

    set(what: T): void {
        if (this.waiting !== undefined) {
            this.waiting.what = what;
        }
    }

    begin(what: T, since: Now, afterSequence: bigint): void {
        this.current = "waiting";
        this.waiting = { what, since, sentMs: undefined, afterSequence };
    }

    /** Ends a request that was never begun, or another one. */
    settle(progress: Progress): void {
        this.waiting = undefined;
        this.current = progress;
    }

    /** Ends what is repeated, if anything is. */
    end(progress: Progress): void {
        if (this.waiting !== undefined) {
            this.settle(progress);
        }
    }

    /** Done, and still repeated. */
    confirm(): void {
        this.current = "done";
    }

    /** A refusal of a command of this request. */
    refuse(by: Authority, passes: boolean): void {
        if (!passes && this.waiting !== undefined && by.sequence > this.waiting.afterSequence) {
            this.settle("refused");
        }
    }

    /** Whether this was received after the request was begun. */
    isSince(receivedUtime: number): boolean {
        return this.waiting !== undefined && receivedUtime > this.waiting.since.utime;
    }

    isDue(now: Now, everyMs: number): boolean {
        const { waiting } = this;
        return waiting !== undefined && (waiting.sentMs === undefined || now.ms - waiting.sentMs >= everyMs);
    }

    /** It is published now; returns whether it was before. */
    sent(now: Now): boolean {
        const wasSent = this.isSent;
        if (this.waiting !== undefined) {
            this.waiting.sentMs = now.ms;
        }
        return wasSent;
    }

    /** Gives it up if it has waited for longer; returns whether it did. */
    expire(now: Now, forMs: number): boolean {
        const { waiting } = this;
        const isOver = this.current === "waiting" && waiting !== undefined && now.ms - waiting.since.ms > forMs;
        if (isOver) {
            this.settle("expired");
        }
        return isOver;
    }
}
