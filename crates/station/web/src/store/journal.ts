/** What was commanded, refused and changed, as a running log for people: the newest entries. */

export type EntryKind = "command" | "refusal" | "change";

export interface Entry {
    readonly utime: number;
    readonly kind: EntryKind;
    /** The channel that it came from; empty where this page is the source. */
    readonly channel: string;
    readonly who: string;
    readonly text: string;
}

const MAX_ENTRIES = 500;

export class Journal {
    private readonly ring: Entry[] = [];
    revision = 0;

    /** Adds an entry at its place in time: messages of the past may come after newer ones. */
    add(entry: Entry): void {
        let at = this.ring.length;
        while (at > 0 && (this.ring[at - 1]?.utime ?? 0) > entry.utime) {
            at -= 1;
        }
        this.ring.splice(at, 0, entry);
        if (this.ring.length > MAX_ENTRIES) {
            this.ring.splice(0, this.ring.length - MAX_ENTRIES);
        }
        this.revision += 1;
    }

    clear(): void {
        this.ring.length = 0;
        this.revision += 1;
    }

    /** The newest first. */
    newest(n: number): Entry[] {
        return this.ring.slice(-n).reverse();
    }
}
