/** Separates what is new from what is the same again: what has not changed is not made anew. */

export class News {
    private last: readonly unknown[] | undefined;

    /** Whether these are others than those of the last time. Messages are the same as long as no other has come. */
    has(...now: readonly unknown[]): boolean {
        const { last } = this;
        this.last = now;
        return last === undefined || last.length !== now.length || now.some((it, i) => it !== last[i]);
    }
}
