/**
 * The time at the station, as far as the page can know, and whether it is cut off.
 *
 * The page has a clock of its own that only goes forward; each status has what the station's clock showed when it was sent.
 * Between two of them time goes on at the rate that the station reported, so ages go on growing when nothing comes any more.
 *
 * A status that was under way for long has a time that is long over, and would make old messages look
 * fresh. So the status that was under way for the shortest time counts, of those of the last minute; and where all of them
 * have become slower, the clock follows by going a little slower, and never steps back. (A station whose own clock was set
 * back by more than that is believed after that minute.)
 */

/** Without a status for so long the page shows that it is cut off. Statuses come five times a second. */
const CUT_OFF_AFTER_MS = 1_000;

/** The best of this span and the best of the one before it are remembered. */
const SPAN_MS = 30_000;
/** How much slower than time the clock may go, to follow statuses that all take longer. */
const GIVE = 0.1;
/** Nothing is under way for so long: the station's clock was set. */
const SET_AFTER_US = 10_000_000;

export class StationClock {
    /** What the station's clock shows when the page's shows 0; at another rate than 1 since the last status. */
    private offsetUs: number | undefined;
    private heardMs = Number.NEGATIVE_INFINITY;
    private rate = 1;
    private best = { sinceMs: 0, now: Number.NEGATIVE_INFINITY, before: Number.NEGATIVE_INFINITY };

    /** A status: what the station's clock shows, and how fast it goes. */
    set(utime: number, rate: number, nowMs: number): void {
        const offsetUs = utime - nowMs * 1_000 * rate;
        if (this.offsetUs === undefined || rate !== 1 || this.rate !== 1) {
            // A log's clock stands, jumps and goes at any rate; no vehicle is driven by it.
            this.offsetUs = offsetUs;
            this.best = { sinceMs: nowMs, now: offsetUs, before: offsetUs };
        } else {
            this.offsetUs = this.follow(this.offsetUs, this.bestOf(offsetUs, nowMs), nowMs);
        }
        this.rate = rate;
        this.heardMs = nowMs;
    }

    /** The station's clock, microseconds since the epoch; undefined before the first status. */
    now(nowMs: number): number | undefined {
        return this.offsetUs === undefined ? undefined : this.offsetUs + nowMs * 1_000 * this.rate;
    }

    /** How long ago a status came, milliseconds. */
    silenceMs(nowMs: number): number {
        return nowMs - this.heardMs;
    }

    /** Whether what the page shows may be long over. */
    isCutOff(nowMs: number): boolean {
        return this.silenceMs(nowMs) > CUT_OFF_AFTER_MS;
    }

    /** The status that was under way for the shortest time. */
    private bestOf(offsetUs: number, nowMs: number): number {
        if (nowMs - this.best.sinceMs > SPAN_MS) {
            this.best = { sinceMs: nowMs, now: offsetUs, before: this.best.now };
        }
        this.best.now = Math.max(this.best.now, offsetUs);
        return Math.max(this.best.now, this.best.before);
    }

    private follow(heldUs: number, bestUs: number, nowMs: number): number {
        const giveUs = Math.max(0, nowMs - this.heardMs) * 1_000 * GIVE;
        return bestUs < heldUs - SET_AFTER_US ? bestUs : Math.max(bestUs, heldUs - giveUs);
    }
}
