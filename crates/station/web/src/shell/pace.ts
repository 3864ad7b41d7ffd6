/**
 * When to draw: with every picture of the screen, unless the machine cannot keep up.
 *
 * A page that only draws receives nothing: on a large screen without a graphics card one picture takes as long as a hundred
 * messages. So where pictures take too long one after the other, the next one waits for as long, and messages have their
 * turn. What is received late would look like a vehicle that is silent. A single slow one, such as the first of a page, is no
 * reason to wait.
 */

/** Three pictures of a screen: shorter hold-ups are normal. */
const SLOW_MS = 50;
/** However slow it is, it must be seen to live. */
const MAX_WAIT_MS = 250;

export class Pace {
    private lastMs: number | undefined;
    private waitUntilMs = 0;
    private hasDrawn = false;
    private wasSlow = false;

    /** Whether to draw now. To be asked once for each picture of the screen. */
    isDue(nowMs: number): boolean {
        const gapMs = this.lastMs === undefined ? 0 : nowMs - this.lastMs;
        this.lastMs = nowMs;
        if (this.hasDrawn) {
            const isSlow = gapMs > SLOW_MS;
            if (isSlow && this.wasSlow) {
                this.waitUntilMs = nowMs + Math.min(gapMs, MAX_WAIT_MS);
            }
            this.wasSlow = isSlow;
        }
        this.hasDrawn = nowMs >= this.waitUntilMs;
        return this.hasDrawn;
    }
}
