/**
 * What is wrong, and whether somebody has said that they know.
 *
 * Alarms come from alarm_t, from what gates, recorders and supervisors say, and from the page itself. One that was
 * acknowledged stays in sight until it is over; one that comes again is new.
 */

/** How bad it is: a person must act at once, must act soon, or must know. */
export type Priority = "alarm" | "warning" | "caution";

export interface Alarm {
    readonly key: string;
    /** The channel that said so: it tells whose alarm it is. */
    readonly channel: string;
    readonly priority: Priority;
    readonly source: string;
    text: string;
    readonly sinceUtime: number;
    heardUtime: number;
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

    /** Something is wrong, or still is. */
    raise(channel: string, id: string, what: What, sinceUtime: number, utime: number): void {
        const key = `${channel} ${id}`;
        const { priority, source, text } = what;
        const known = this.alarms.get(key);
        if (known?.isActive) {
            if (known.text !== text) {
                known.text = text;
                this.revision += 1;
            }
            known.heardUtime = utime;
            return;
        }
        this.makeRoom();
        this.alarms.delete(key);
        this.alarms.set(key, {
            key,
            channel,
            priority,
            source,
            text,
            sinceUtime,
            heardUtime: utime,
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
            this.raise(channel, id, what, utime, utime);
        } else {
            this.clear(channel, id);
        }
    }

    /** Somebody knows. */
    acknowledge(key: string): void {
        const known = this.alarms.get(key);
        if (known !== undefined && !known.isAcknowledged) {
            known.isAcknowledged = true;
            this.revision += 1;
            if (!known.isActive) {
                this.alarms.delete(key);
            }
        }
    }

    clearAll(): void {
        this.alarms.clear();
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

    private makeRoom(): void {
        if (this.alarms.size >= MAX_ALARMS) {
            const oldest = [...this.alarms.values()].find((it) => !it.isActive) ?? this.alarms.values().next().value;
            if (oldest !== undefined) {
                this.alarms.delete(oldest.key);
            }
        }
    }
}
