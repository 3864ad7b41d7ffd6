/**
 * Where a vehicle has been: a day of it, in bounded memory.
 *
 * The newest part is kept to a hand's breadth. What is older is kept to a tolerance that doubles whenever there is no more
 * room, so that the way there always begins where the vehicle began.
 */
export class Track {
    private readonly xs: Float64Array;
    private readonly ys: Float64Array;
    private n = 0;
    private toleranceM: number;
    /** How far it is along it, metres, as it was when each place was added. */
    lengthM = 0;
    /** Grows with each change, for those who draw it. */
    revision = 0;

    constructor(
        readonly capacity = 8_192,
        private readonly finestM = 0.2,
    ) {
        this.xs = new Float64Array(capacity);
        this.ys = new Float64Array(capacity);
        this.toleranceM = finestM;
    }

    get length(): number {
        return this.n;
    }

    /** How coarse its oldest part is, metres. */
    get tolerance(): number {
        return this.toleranceM;
    }

    /** Adds a place; too near to the last one it is left out. */
    push(x: number, y: number): void {
        if (!Number.isFinite(x) || !Number.isFinite(y)) {
            return;
        }
        const stepM = this.n > 0 ? this.distance(this.n - 1, x, y) : 0;
        if (this.n > 0 && stepM < this.finestM) {
            return;
        }
        this.lengthM += stepM;
        if (this.n === this.capacity) {
            this.thin();
        }
        this.xs[this.n] = x;
        this.ys[this.n] = y;
        this.n += 1;
        this.revision += 1;
    }

    /** The places in their order, as flat coordinates. */
    flat(): number[] {
        const flat = new Array<number>(2 * this.n);
        for (let i = 0; i < this.n; i++) {
            flat[2 * i] = this.xs[i] ?? 0;
            flat[2 * i + 1] = this.ys[i] ?? 0;
        }
        return flat;
    }

    private distance(i: number, x: number, y: number): number {
        return Math.hypot((this.xs[i] ?? 0) - x, (this.ys[i] ?? 0) - y);
    }

    /** Makes the older three quarters coarser until at least a quarter of the room is free. */
    private thin(): void {
        const keepFrom = Math.floor(this.n * 0.75);
        const recent = this.n - keepFrom;
        let kept = this.simplify(keepFrom);
        while (kept + recent > this.capacity * 0.75) {
            this.toleranceM *= 2;
            kept = this.simplify(kept);
        }
        this.xs.copyWithin(kept, keepFrom, this.n);
        this.ys.copyWithin(kept, keepFrom, this.n);
        this.n = kept + recent;
    }

    private simplify(end: number): number {
        let kept = 1;
        for (let i = 1; i < end; i++) {
            const [x, y] = [this.xs[i] ?? 0, this.ys[i] ?? 0];
            if (this.distance(kept - 1, x, y) >= this.toleranceM) {
                this.xs[kept] = x;
                this.ys[kept] = y;
                kept += 1;
            }
        }
        return kept;
    }
}
