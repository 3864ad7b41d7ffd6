/**
 * Bounded memory of numbers over time.
 *
 * A day of measurements must neither grow without end nor lose its beginning: when there is no more room, the older half
 * is thinned out by two, so the newest part is always as measured and the oldest is coarse. Each thinned point keeps the
 * mean, and its time.
 */
export class Series {
    private readonly times: Float64Array;
    private readonly values: Float64Array;
    private n = 0;

    constructor(readonly capacity = 4_096) {
        this.times = new Float64Array(capacity);
        this.values = new Float64Array(capacity);
    }

    get length(): number {
        return this.n;
    }

    /** Adds a measurement; one that is older than the last is left out. */
    push(timeS: number, value: number): void {
        if (this.n > 0 && timeS < (this.times[this.n - 1] ?? 0)) {
            return;
        }
        if (this.n === this.capacity) {
            this.thin();
        }
        this.times[this.n] = timeS;
        this.values[this.n] = value;
        this.n += 1;
    }

    /** Times and values from a moment on, as views that the next push may change. */
    since(timeS: number): { readonly times: Float64Array; readonly values: Float64Array } {
        const start = this.firstAt(timeS);
        return { times: this.times.subarray(start, this.n), values: this.values.subarray(start, this.n) };
    }

    get last(): number | undefined {
        return this.n === 0 ? undefined : this.values[this.n - 1];
    }

    private firstAt(timeS: number): number {
        let [low, high] = [0, this.n];
        while (low < high) {
            const middle = (low + high) >> 1;
            if ((this.times[middle] ?? 0) < timeS) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low;
    }

    private thin(): void {
        const { times, values } = this;
        const half = (this.n >> 2) << 1;
        for (let i = 0; i < half; i += 2) {
            times[i >> 1] = times[i] ?? 0;
            const [a, b] = [values[i] ?? 0, values[i + 1] ?? 0];
            values[i >> 1] = Number.isNaN(a) ? b : Number.isNaN(b) ? a : (a + b) / 2;
        }
        times.copyWithin(half >> 1, half, this.n);
        values.copyWithin(half >> 1, half, this.n);
        this.n -= half >> 1;
    }
}
