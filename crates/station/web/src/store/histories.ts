/**
 * What the page remembers beyond the last message: tracks, series, waterfalls, alarms and the journal.
 *
 * What of a message is remembered is declared by the panels that show it (`panels/want.ts`); everything in here is bounded.
 */

import { Alarms } from "./alarms.js";
import type { Channel } from "./channel.js";
import { Experiments } from "./experiments.js";
import { type Entry, Journal } from "./journal.js";
import { Series } from "./series.js";
import { Track } from "./track.js";
import { Waterfall } from "./waterfall.js";

const MAX_SERIES = 200;
const MAX_TRACKS = 32;
const MAX_WATERFALLS = 8;
const MAX_HEALTHS = 1_024;

/** Who remembers something of a message: panels and layers, each by its row. */
export interface Notes {
    note(histories: Histories, channel: Channel, utime: number): void;
}

const HEALTHS = ["", "starting", "good", "degraded", "failed"];

export class Histories {
    readonly alarms = new Alarms();
    readonly journal = new Journal();
    readonly experiments = new Experiments();
    /** The session of this page: its commands are entered when they are sent. */
    ownSession = 0n;
    private readonly tracks = new Map<string, Track>();
    private readonly waterfalls = new Map<string, Waterfall>();
    private readonly allSeries = new Map<string, Map<string, Series>>();
    private nSeries = 0;
    private readonly lastChanges = new Map<string, string>();
    private readonly healths = new Map<string, { health: string; untilUtime: number }>();

    constructor(private readonly notes: Notes) {}

    /** Takes note of the message that a channel just got. */
    note(channel: Channel, utime: number): void {
        this.notes.note(this, channel, utime);
    }

    /** Forgets everything, because time went back. */
    clear(): void {
        this.tracks.clear();
        this.waterfalls.clear();
        this.allSeries.clear();
        this.nSeries = 0;
        this.lastChanges.clear();
        this.healths.clear();
        this.experiments.clear();
        this.alarms.clearAll();
        this.journal.clear();
    }

    /** The way that the poses of a channel describe. */
    track(channel: string): Track {
        return entry(this.tracks, channel, MAX_TRACKS, () => new Track());
    }

    /** The last pings of a channel. */
    waterfall(channel: string): Waterfall {
        return entry(this.waterfalls, channel, MAX_WATERFALLS, () => new Waterfall());
    }

    /** What a quantity of a channel was over time. */
    series(channel: string, name: string): Series {
        const byName = entry(this.allSeries, channel, MAX_SERIES, () => new Map<string, Series>());
        const known = byName.get(name);
        if (known !== undefined) {
            return known;
        }
        const made = new Series();
        if (this.nSeries < MAX_SERIES) {
            byName.set(name, made);
            this.nSeries += 1;
        }
        return made;
    }

    /** The quantities of a channel that have a series. */
    seriesNames(channel: string): string[] {
        return [...(this.allSeries.get(channel)?.keys() ?? [])];
    }

    /** How a component of a robot is; "silent" if it has sent nothing for a while, undefined if it never did. */
    health(robot: string, component: string, utime: number): string | undefined {
        const known = this.healths.get(`${robot} ${component}`);
        return known !== undefined && utime > known.untilUtime ? "silent" : known?.health;
    }

    setHealth(robot: string, component: string, health: number, untilUtime: number): void {
        const known = entry(this.healths, `${robot} ${component}`, MAX_HEALTHS, () => ({ health: "", untilUtime: 0 }));
        Object.assign(known, { health: HEALTHS[health] ?? "", untilUtime });
    }

    /** Enters something in the journal when it is not what it was. */
    change(state: string, entry: Entry): void {
        if (this.lastChanges.get(entry.channel) !== state) {
            this.lastChanges.set(entry.channel, state);
            this.journal.add(entry);
        }
    }
}

/** An entry of a table of bounded size: beyond that the oldest gives way. */
function entry<T>(table: Map<string, T>, key: string, most: number, make: () => T): T {
    const known = table.get(key);
    if (known !== undefined) {
        return known;
    }
    if (table.size >= most) {
        const [oldest] = table.keys();
        table.delete(oldest ?? "");
    }
    const made = make();
    table.set(key, made);
    return made;
}
