/**
 * What time it is at the station, as far as the page can tell, and whether it is cut off.
 *
 * The page has a clock of its own that only goes forward; each status sets what the station's clock showed then. Between
 * two of them time goes on at the rate that the station said, so ages go on growing when nothing comes any more.
 */

/** Without a status for so long the page says that it is cut off. Statuses come five times a second. */
export const CUT_OFF_AFTER_MS = 1_000;

export class StationClock {
    private utime: number | undefined;
    private heardMs = Number.NEGATIVE_INFINITY;
    private rate = 1;

    /** A status: what the station's clock shows, and how fast it goes. */
    set(utime: number, rate: number, nowMs: number): void {
        this.utime = utime;
        this.rate = rate;
        this.heardMs = nowMs;
    }

    /** The station's clock, microseconds since the epoch; undefined before the first status. */
    now(nowMs: number): number | undefined {
        return this.utime === undefined ? undefined : this.utime + (nowMs - this.heardMs) * 1_000 * this.rate;
    }

    /** How long ago a status came, milliseconds. */
    silenceMs(nowMs: number): number {
        return nowMs - this.heardMs;
    }

    /** Whether what the page shows may be long over. */
    isCutOff(nowMs: number): boolean {
        return this.silenceMs(nowMs) > CUT_OFF_AFTER_MS;
    }
}
