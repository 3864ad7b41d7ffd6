/**
 * What is wrong, and who knows of it: the lists of the vehicles as they are, and what is wrong with this page itself.
 *
 * A vehicle keeps its own list (alarms_t), with who has acknowledged what; the page adds nothing to it and decides
 * nothing about it. The alarms of the page are those that no vehicle can raise: that it is not received here, and that a stop of
 * this page is not confirmed. They are acknowledged here: one that was stays in sight until it is over; one that comes again
 * is new, and so is one that gets worse.
 */

import { Alarm as AlarmMessage } from "../generated/bowline/alarm_t.js";
import type { Alarms as AlarmsMessage } from "../generated/bowline/alarms_t.js";
import type { ListedAlarm } from "../generated/bowline/listed_alarm_t.js";

/** How bad it is: a person must act at once, must act soon, or must know. */
export type Priority = "alarm" | "warning" | "caution";

export interface Alarm {
    readonly key: string;
    /** The channel of the list: it shows whose alarm it is. */
    readonly channel: string;
    priority: Priority;
    readonly source: string;
    text: string;
    /** Since when, by the station's clock. */
    readonly sinceUtime: number;
    isActive: boolean;
    isAcknowledged: boolean;
    /** What follows from it, and what a person can do; empty where the source gives neither. */
    readonly consequence: string;
    readonly action: string;
    /** The person who has acknowledged it; empty: none, or unknown. */
    readonly acknowledgedBy: string;
    /** Whether its source still reports it: of one that does not, it is unknown whether it holds. */
    readonly isRefreshed: boolean;
    /** As the vehicle's list has it; undefined for an alarm of this page. */
    readonly listed: ListedAlarm | undefined;
}

/** What is wrong, for people. */
export interface What {
    readonly priority: Priority;
    readonly source: string;
    readonly text: string;
}

const ORDER: Readonly<Record<Priority, number>> = { alarm: 0, warning: 1, caution: 2 };
const MAX_ALARMS = 200;

const PRIORITIES: ReadonlyMap<number, Priority> = new Map([
    [AlarmMessage.CAUTION, "caution"],
    [AlarmMessage.WARNING, "warning"],
]);

export class Alarms {
    private readonly alarms = new Map<string, Alarm>();
    /** By channel: what the lists of the vehicles have left out. */
    private readonly droppedByList = new Map<string, number>();
    private nOwnDropped = 0;
    revision = 0;

    /** Alarms that still held and that there was no more room for. */
    get nDropped(): number {
        return [...this.droppedByList.values()].reduce((sum, n) => sum + n, this.nOwnDropped);
    }

    /** Takes the list of a vehicle in place of what was known of it. Its times are by the vehicle's clock, which may not be set. */
    learn(channel: string, list: AlarmsMessage, utime: number): void {
        const before = [...this.alarms.values()].filter((it) => it.channel === channel && it.listed !== undefined);
        const known = new Map(before.map((it) => [it.key, it]));
        before.forEach((it) => this.alarms.delete(it.key));
        for (const listed of list.alarms) {
            const made = alarmOf(channel, listed, utime - Number(list.utime));
            const last = known.get(made.key);
            // It is not raised anew because messages take a while, and not always the same.
            const sinceUtime =
                last?.listed?.alarm.since_utime === listed.alarm.since_utime ? last.sinceUtime : made.sinceUtime;
            this.alarms.set(made.key, { ...made, sinceUtime });
        }
        this.droppedByList.set(channel, Number(list.n_dropped));
        this.revision += 1;
    }

    /** Something is wrong with this page, or still is. */
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
            consequence: "",
            action: "",
            acknowledgedBy: "",
            isRefreshed: true,
            listed: undefined,
        });
        this.revision += 1;
    }

    /** It is no longer wrong. What is not acknowledged stays in the list. */
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

    /** It is acknowledged as it was `seen`: not if it got worse since, or is another one by now. */
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
        this.droppedByList.clear();
        this.nOwnDropped = 0;
        this.revision += 1;
    }

    get(key: string): Alarm | undefined {
        return this.alarms.get(key);
    }

    /** What is not acknowledged first, then by severity, then the newest. */
    list(): Alarm[] {
        return [...this.alarms.values()].sort(
            (a, b) =>
                Number(a.isAcknowledged) - Number(b.isAcknowledged) ||
                Number(b.isActive) - Number(a.isActive) ||
                ORDER[a.priority] - ORDER[b.priority] ||
                b.sinceUtime - a.sinceUtime,
        );
    }

    get isEmpty(): boolean {
        return this.alarms.size === 0;
    }

    /** How many are not acknowledged. */
    get nNew(): number {
        return [...this.alarms.values()].filter((it) => !it.isAcknowledged).length;
    }

    /** Is still wrong, perhaps worse: then an acknowledgement did not cover that. */
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

    /** What is acknowledged goes first, then what is over; then the oldest of the least severe, which is counted. */
    private makeRoom(): void {
        const all = [...this.alarms.values()].filter((it) => it.listed === undefined);
        if (all.length < MAX_ALARMS) {
            return;
        }
        const worth = (it: Alarm): number => (it.isAcknowledged ? 0 : it.isActive ? 4 - ORDER[it.priority] : 1);
        const least = all.reduce((a, b) => (worth(b) < worth(a) ? b : a));
        this.alarms.delete(least.key);
        this.nOwnDropped += least.isActive && !least.isAcknowledged ? 1 : 0;
    }
}

/** An alarm of a vehicle's list, with its times by the station's clock. */
function alarmOf(channel: string, listed: ListedAlarm, clockUs: number): Alarm {
    const { alarm, is_refreshed, acknowledged_by } = listed;
    const { robot, host, source, id, cause, consequence, action, severity, state, since_utime } = alarm;
    return {
        key: [channel, robot, host, source, id].join(" "),
        channel,
        priority: PRIORITIES.get(severity) ?? "alarm",
        source: host === "" ? source : `${host} ${source}`,
        text: cause,
        sinceUtime: Number(since_utime) + clockUs,
        isActive: state === AlarmMessage.RAISED,
        isAcknowledged: acknowledged_by !== "",
        consequence,
        action,
        acknowledgedBy: acknowledged_by,
        isRefreshed: is_refreshed,
        listed,
    };
}
