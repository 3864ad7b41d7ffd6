/**
 * How long the way to the station and back takes now: by pings, also by those without an answer so far.
 *
 * The last answer alone would stay good for as long as no other comes. So what counts is the longer one of the last round
 * trip and the time for which the oldest ping has waited.
 */

/** Of more that are under way than this the newest are left out: the oldest is the measure. */
const MAX_PINGS = 64;

export class Trips {
    /** When each was sent, the oldest first. */
    private readonly waiting = new Map<number, number>();
    private lastMs: number | undefined;

    sent(id: number, nowMs: number): void {
        if (this.waiting.size < MAX_PINGS) {
            this.waiting.set(id, nowMs);
        }
    }

    answered(id: number, nowMs: number): void {
        const sentMs = this.waiting.get(id);
        if (sentMs !== undefined) {
            this.waiting.delete(id);
            this.lastMs = nowMs - sentMs;
        }
    }

    /** The connection is another one. */
    clear(): void {
        this.waiting.clear();
        this.lastMs = undefined;
    }

    /** Milliseconds; undefined before the first answer, while it is not late. */
    now(nowMs: number): number | undefined {
        const [oldest] = this.waiting.values();
        const waitedMs = oldest === undefined ? 0 : nowMs - oldest;
        return this.lastMs === undefined && waitedMs < LATE_AFTER_MS ? undefined : Math.max(this.lastMs ?? 0, waitedMs);
    }
}

/** A round trip that takes longer than this is no way to command anything. */
export const LATE_AFTER_MS = 1_000;
