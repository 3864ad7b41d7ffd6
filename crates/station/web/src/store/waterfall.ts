/** The last pings of a multibeam sonar, in a ring: strengths by beam. */

import type { Multibeam } from "../generated/bowline/multibeam_t.js";

export class Waterfall {
    readonly strengths: Uint8Array;
    /** Rows written so far; the newest is at `(nRows - 1) % height`. */
    nRows = 0;
    nBeams = 0;
    last: Multibeam | undefined;

    constructor(
        readonly width = 512,
        readonly height = 600,
    ) {
        this.strengths = new Uint8Array(width * height);
    }

    push(ping: Multibeam): void {
        const row = (this.nRows % this.height) * this.width;
        this.nBeams = Math.min(ping.n_beams, this.width);
        this.strengths.fill(0, row, row + this.width);
        this.strengths.set(ping.strengths.subarray(0, this.nBeams), row);
        this.nRows += 1;
        this.last = ping;
    }
}
