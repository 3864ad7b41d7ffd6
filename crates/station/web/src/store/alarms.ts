/**
 * What is wrong, and whether somebody has said that they know.
 *
 * Alarms come from alarm_t, from what gates, recorders and supervisors say, and from the page itself. One that was
 * acknowledged stays in sight until it is over; one that comes again is new, and so is one that gets worse.
 */

/** How bad it is: a person must act at once, must act soon, or must know. */
export type Priority = "alarm" | "warning" | "caution";

export interface Alarm {
    readonly key: string;
    /** The channel that said so: it tells whose alarm it is. */
    readonly channel: string;
    priority: Priority;
    readonly source: string;
    text: string;
    /** Since when, by the station's clock. */
    readonly sinceUtime: number;
    isActive: boolean;
    isAcknowledged: boolean;
}

/** What is wrong, for people. */
export interface What {
    readonly priority: Priority;
    readonly source: string;
    readonly text: string;
}

const ORDER: Readonly<Record<Priority, number>> = { alarm: 0, warning: 1, caution: 2 };
const MAX_ALARMS = 200;

export class Alarms {
    private readonly alarms = new Map<string, Alarm>();
    revision = 0;
    /** Alarms that still held, that nobody had acknowledged, and that there was no more room for. */
    nDropped = 0;

    /** Something is wrong, or still is. */
    raise(channel: string, id: string, what: What, sinceUtime: number): void {
        const key = `${channel} ${id}`;
        const { priority, source, text } = what;
        const known = this.alarms.get(key);
        if (known?.isActive) {
            this.change(known, priority, text);
            return;
        }
        this.alarms.delete(key);
        this.makeRoom();
        this.alarms.set(key, {
            key,
            channel,
            priority,
            source,
            text,
            sinceUtime,
            isActive: true,
            isAcknowledged: false,
        });
        this.revision += 1;
    }

    /** It is no longer wrong. What nobody acknowledged stays in the list. */
    clear(channel: string, id: string): void {
        const key = `${channel} ${id}`;
        const known = this.alarms.get(key);
        if (known?.isActive) {
            known.isActive = false;
            this.revision += 1;
            if (known.isAcknowledged) {
                this.alarms.delete(key);
            }
        }
    }

    /** Raises or clears by a condition. */
    follow(channel: string, id: string, isWrong: boolean, what: What, utime: number): void {
        if (isWrong) {
            this.raise(channel, id, what, utime);
        } else {
            this.clear(channel, id);
        }
    }

    /** Somebody knows of it as it was `seen`: not if it got worse since, or is another one by now. */
    acknowledge(key: string, seen?: Pick<Alarm, "priority" | "sinceUtime">): void {
        const known = this.alarms.get(key);
        const isSame =
            seen === undefined || (seen.priority === known?.priority && seen.sinceUtime === known.sinceUtime);
        if (known !== undefined && isSame && !known.isAcknowledged) {
            known.isAcknowledged = true;
            this.revision += 1;
            if (!known.isActive) {
                this.alarms.delete(key);
            }
        }
    }

    clearAll(): void {
        this.alarms.clear();
        this.nDropped = 0;
        this.revision += 1;
    }

    get(key: string): Alarm | undefined {
        return this.alarms.get(key);
    }

    /** What nobody has acknowledged first, then by how bad it is, then the newest. */
    list(): Alarm[] {
        return [...this.alarms.values()].sort(
            (a, b) =>
                Number(a.isAcknowledged) - Number(b.isAcknowledged) ||
                Number(b.isActive) - Number(a.isActive) ||
                ORDER[a.priority] - ORDER[b.priority] ||
                b.sinceUtime - a.sinceUtime,
        );
    }

    /** How many nobody has acknowledged. */
    get nNew(): number {
        return [...this.alarms.values()].filter((it) => !it.isAcknowledged).length;
    }

    /** Is still wrong, perhaps worse: then whoever acknowledged it did not know that. */
    private change(known: Alarm, priority: Priority, text: string): void {
        if (known.priority === priority && known.text === text) {
            return;
        }
        if (ORDER[priority] < ORDER[known.priority]) {
            known.isAcknowledged = false;
        }
        known.priority = priority;
        known.text = text;
        this.revision += 1;
    }

    /** What somebody knows of goes first, then what is over; then the least bad that is oldest, which is counted. */
    private makeRoom(): void {
        if (this.alarms.size < MAX_ALARMS) {
            return;
        }
        const all = [...this.alarms.values()];
        const worth = (it: Alarm): number => (it.isAcknowledged ? 0 : it.isActive ? 4 - ORDER[it.priority] : 1);
        const least = all.reduce((a, b) => (worth(b) < worth(a) ? b : a));
        this.alarms.delete(least.key);
        this.nDropped += least.isActive && !least.isAcknowledged ? 1 : 0;
    }
}
