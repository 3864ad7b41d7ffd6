/**
 * What the page remembers beyond the last message, by type: tracks, series, waterfalls, alarms and the journal.
 *
 * One row of the table for each type; everything in here is bounded. A message that cannot be decoded is counted by its
 * channel and leaves no trace here.
 */

import { Alarm } from "../generated/bowline/alarm_t.js";
import { Audit } from "../generated/bowline/audit_t.js";
import type { Authority } from "../generated/bowline/authority_t.js";
import { Arbitration } from "../generated/bowline/arbitration_t.js";
import { Device } from "../generated/bowline/device_t.js";
import { Experiment } from "../generated/bowline/experiment_t.js";
import { Gate } from "../generated/bowline/gate_t.js";
import { Heartbeat } from "../generated/bowline/heartbeat_t.js";
import { HeartbeatComponent } from "../generated/bowline/heartbeat_component_t.js";
import { Helm } from "../generated/bowline/helm_t.js";
import { LeaseRequest } from "../generated/bowline/lease_request_t.js";
import { Multibeam } from "../generated/bowline/multibeam_t.js";
import { PoseTransform } from "../generated/bowline/pose_transform_t.js";
import { Recorder } from "../generated/bowline/recorder_t.js";
import { Refusal } from "../generated/bowline/refusal_t.js";
import { Sounding } from "../generated/bowline/sounding_t.js";
import { Spectrum } from "../generated/bowline/spectrum_t.js";
import { StopCommand } from "../generated/bowline/stop_command_t.js";
import { Supervisor } from "../generated/bowline/supervisor_t.js";
import { TaskCommand } from "../generated/bowline/task_command_t.js";
import type { MessageType } from "../generated/bowline.js";
import { TASK_KINDS } from "../session/words.js";
import { Alarms } from "./alarms.js";
import { type Channel, staleAfterS } from "./channel.js";
import { Experiments } from "./experiments.js";
import { type Entry, Journal } from "./journal.js";
import { Series } from "./series.js";
import { Track } from "./track.js";
import { GATE_STATES } from "./vehicles.js";
import { Waterfall } from "./waterfall.js";

const MAX_SERIES = 200;
const MAX_TRACKS = 32;
const MAX_WATERFALLS = 8;
const MAX_HEALTHS = 1_024;

type Note = (histories: Histories, channel: Channel, utime: number) => void;

/** A row: notes a message of a type, if it is exactly of that type. */
function row<T>(
    type: MessageType<T>,
    note: (h: Histories, m: T, channel: Channel, utime: number) => void,
): [bigint, Note] {
    return [
        type.FINGERPRINT,
        (histories, channel, utime) => {
            const message = channel.as(type);
            if (message !== undefined) {
                note(histories, message, channel, utime);
            }
        },
    ];
}

const NOTES: ReadonlyMap<bigint, Note> = new Map([
    row(PoseTransform, (h, pose, channel) => h.track(channel.name).push(pose.matrix[3] ?? 0, pose.matrix[7] ?? 0)),
    row(Multibeam, (h, ping, channel) => h.waterfall(channel.name).push(ping)),
    row(Sounding, (h, sounding, channel, utime) =>
        h.series(channel.name, "depth_m").push(utime / 1e6, sounding.depth_m),
    ),
    row(Spectrum, (h, spectrum, channel, utime) => {
        spectrum.names.forEach((name, i) => {
            h.series(channel.name, name).push(utime / 1e6, spectrum.current_a[i] ?? Number.NaN);
        });
    }),
    row(Refusal, (h, refusal, channel, utime) => {
        const text = `${refusal.command} refused (${refusal.reason}): ${refusal.text}`;
        h.journal.add({ utime, kind: "refusal", channel: channel.name, who: refusal.by.station, text });
    }),
    row(Gate, (h, gate, channel, utime) => {
        const text = `${GATE_STATES[gate.state] ?? "?"}: ${gate.reason}`;
        h.change(`${gate.state} ${gate.in_control}`, {
            utime,
            kind: "change",
            channel: channel.name,
            who: gate.in_control,
            text,
        });
        const lost = { priority: "alarm", source: "gate", text: `contingency: ${gate.reason}` } as const;
        h.alarms.follow(channel.name, "contingency", gate.state === Gate.CONTINGENCY, lost, utime);
    }),
    row(Helm, (h, helm, channel, utime) => {
        h.change(helm.text, { utime, kind: "change", channel: channel.name, who: "helm", text: helm.text });
        const refused = { priority: "caution", source: "helm", text: `task refused: ${helm.refused}` } as const;
        h.alarms.follow(channel.name, "refused", helm.refused !== "", refused, utime);
    }),
    row(Arbitration, (h, it, channel, utime) => {
        const text = it.stopped ? `stands still: ${it.reason}` : it.reason;
        h.change(text.replace(/[\d.]+/g, ""), { utime, kind: "change", channel: channel.name, who: "arbiter", text });
        h.series(channel.name, "speed_mps").push(utime / 1e6, it.speed_mps);
        h.series(channel.name, "curvature_per_m").push(utime / 1e6, it.curvature_per_m);
    }),
    row(Alarm, (h, { source, text, utime: saidUtime, since_utime, state, robot }, channel, utime) => {
        const id = `${robot} ${source} ${since_utime}`;
        if (state === Alarm.CLEARED) {
            h.alarms.clear(channel.name, id);
        } else {
            // Both times are by the vehicle's clock, which nobody has set: how long ago it was is what they tell.
            const sinceUtime = utime - Math.max(0, Number(saidUtime - since_utime));
            h.alarms.raise(channel.name, id, { priority: "alarm", source, text }, sinceUtime);
        }
    }),
    row(Device, (h, device, channel, utime) => {
        const isWrong = device.state === Device.ERRONEOUS || device.state === Device.SILENT;
        const text =
            device.state === Device.SILENT ? "the device says nothing" : `cannot be believed: ${device.last_error}`;
        h.alarms.follow(channel.name, "device", isWrong, { priority: "warning", source: device.device, text }, utime);
    }),
    row(Recorder, (h, recorder, channel, utime) => {
        const what = { priority: "warning", source: "recorder", text: recorder.alarm } as const;
        h.alarms.follow(channel.name, recorder.file, recorder.alarm !== "", what, utime);
    }),
    row(Supervisor, (h, it, channel, utime) => {
        const what = { priority: "alarm", source: `supervisor ${it.host}`, text: it.alarm } as const;
        h.alarms.follow(channel.name, it.host, it.alarm !== "", what, utime);
    }),
    row(Heartbeat, (h, beat, channel, utime) => {
        // Of a process that missed three heartbeats nobody knows how its components are.
        const untilUtime = utime + staleAfterS(beat.period_us) * 1e6;
        for (const { name, health, text } of beat.components) {
            h.setHealth(beat.robot, name, health, untilUtime);
            const isFailed = health === HeartbeatComponent.FAILED;
            const isBad = isFailed || health === HeartbeatComponent.DEGRADED;
            const priority = isFailed ? "warning" : "caution";
            const what = { priority, source: name, text: `${isFailed ? "failed" : "degraded"}: ${text}` } as const;
            h.alarms.follow(channel.name, `${beat.robot} ${beat.process} ${name}`, isBad, what, utime);
        }
    }),
    row(Experiment, (h, experiment, channel) => h.experiments.note(channel.name, experiment)),
    // What goes to a bus is heard there; the rest of what people do, and what they were not allowed, only the station knows.
    row(Audit, (h, { station, user, action, subject, detail, is_done }, channel, utime) => {
        if (action !== "publish" || !is_done) {
            const text = `${action} ${detail || subject}`.trim();
            const kind = is_done ? "command" : "refusal";
            h.journal.add({ utime, kind, channel: channel.name, who: station || user || "nobody", text });
        }
    }),
    // What people at other stations ask for, and in a replay what anybody did.
    row(TaskCommand, (h, { by, task }, channel, utime) => {
        h.command(by, `${by.session} ${task.id}`, `task: ${task.name || TASK_KINDS[task.kind] || "?"}`, channel, utime);
    }),
    row(StopCommand, (h, { by, ask, reason }, channel, utime) => {
        const text = ask === StopCommand.STOP ? `stop: ${reason}` : "lets the stop be over";
        h.command(by, `${by.session} ${ask} ${reason}`, text, channel, utime);
    }),
    row(LeaseRequest, (h, { by, ask }, channel, utime) => {
        const text = LEASE_ASKS.get(ask);
        if (text !== undefined) {
            h.command(by, `${by.session} ${ask}`, text, channel, utime);
        }
    }),
]);

/** Renewals are not told: they come four times a second. */
const LEASE_ASKS = new Map<number, string>([
    [LeaseRequest.TAKE, "asks for the lease"],
    [LeaseRequest.RELEASE, "gives the lease up"],
    [LeaseRequest.CONSENT, "hands the lease over"],
    [LeaseRequest.DENY, "keeps the lease"],
    [LeaseRequest.PREEMPT, "takes the lease by rank"],
]);
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

    /** Takes note of the message that a channel just got. */
    note(channel: Channel, utime: number): void {
        NOTES.get(channel.fingerprint)?.(this, channel, utime);
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

    /** How a component of a robot is; "silent" if it has not said so for a while, undefined if it never did. */
    health(robot: string, component: string, utime: number): string | undefined {
        const known = this.healths.get(`${robot} ${component}`);
        return known !== undefined && utime > known.untilUtime ? "silent" : known?.health;
    }

    setHealth(robot: string, component: string, health: number, untilUtime: number): void {
        const known = entry(this.healths, `${robot} ${component}`, MAX_HEALTHS, () => ({ health: "", untilUtime: 0 }));
        Object.assign(known, { health: HEALTHS[health] ?? "", untilUtime });
    }

    /** Enters what somebody else commands, once: requests are said again until they are answered. */
    command(by: Authority, key: string, text: string, channel: Channel, utime: number): void {
        if (by.session !== this.ownSession) {
            this.change(key, { utime, kind: "command", channel: channel.name, who: by.station, text });
        }
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
