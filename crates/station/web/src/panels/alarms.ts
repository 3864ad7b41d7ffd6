/**
 * What is wrong, worst first, until somebody says that they know.
 *
 * What is new is said once in a region that screen readers speak at once, in words that do not change afterwards. The list
 * itself is not spoken: ages tick in it. Its rows stay the same elements for as long as the alarm is there, so that a click or
 * the focus is not lost to what happens meanwhile.
 */

import { Alarm as AlarmMessage } from "../generated/bowline/alarm_t.js";
import { Device } from "../generated/bowline/device_t.js";
import { Gate } from "../generated/bowline/gate_t.js";
import { HeartbeatComponent } from "../generated/bowline/heartbeat_component_t.js";
import { Heartbeat } from "../generated/bowline/heartbeat_t.js";
import { Helm } from "../generated/bowline/helm_t.js";
import { Recorder } from "../generated/bowline/recorder_t.js";
import { Supervisor } from "../generated/bowline/supervisor_t.js";
import { button, el, setAttribute, setShown, setText } from "../shell/dom.js";
import { clockTime, duration } from "../shell/format.js";
import type { Alarm } from "../store/alarms.js";
import { ownerOf } from "../store/vehicles.js";
import type { Context, Panel, PanelKind, Picture } from "./panel.js";
import { type Want, want } from "../store/want.js";

const MAX_SHOWN = 50;
/** More at once than this nobody can listen to: they are counted. */
const MAX_SPOKEN = 3;
const MARKS = { alarm: "▲", warning: "◆", caution: "●" } as const;

class AlarmsPanel implements Panel {
    readonly body = el("div", { class: "alarms" });
    private readonly spoken = el("div", {
        class: "sr",
        role: "log",
        "aria-live": "assertive",
        "aria-label": "New alarms",
    });
    private readonly list = el("ul", { "aria-label": "Alarms", tabindex: "-1" });
    private readonly empty = el("p", { class: "empty" }, "Nothing is wrong, as far as anybody says.");
    private readonly all: HTMLButtonElement;
    private readonly rows = new Map<string, Row>();
    private told = new Set<string>();
    private shown = -1;

    constructor(private readonly context: Context) {
        this.all = button("Acknowledge all", () => this.acknowledgeAll(), { class: "quiet" });
        this.body.append(this.spoken, this.list, this.empty, this.all);
    }

    sources(): [] {
        return [];
    }

    render({ utime, isForText }: Picture): void {
        const { alarms } = this.context.store.histories;
        if (!isForText) {
            return;
        }
        if (alarms.revision !== this.shown) {
            this.shown = alarms.revision;
            const all = alarms.list();
            this.arrange(all.slice(0, MAX_SHOWN));
            this.speak(all);
            setShown(this.empty, all.length === 0);
            setShown(this.all, alarms.nNew > 1);
        }
        for (const row of this.rows.values()) {
            row.renderAge(utime);
        }
    }

    private arrange(alarms: readonly Alarm[]): void {
        const hadFocus = this.list.contains(document.activeElement);
        const keys = new Set(alarms.map((it) => it.key));
        for (const [key, row] of this.rows) {
            if (!keys.has(key)) {
                this.rows.delete(key);
                row.element.remove();
            }
        }
        const wanted = alarms.map((alarm) => {
            const row = this.rows.get(alarm.key) ?? new Row((it) => this.acknowledge(it));
            this.rows.set(alarm.key, row);
            row.show(alarm, this.sourceOf(alarm));
            return row.element;
        });
        putInOrder(this.list, wanted);
        const focused = document.activeElement as HTMLElement | null;
        if (hadFocus && (!this.list.contains(focused) || focused?.hidden)) {
            (this.list.querySelector<HTMLElement>("button:not([hidden])") ?? this.list).focus();
        }
    }

    /** Says what is new, or worse than it was; once. */
    private speak(alarms: readonly Alarm[]): void {
        const name = ({ key, sinceUtime, priority }: Alarm): string => `${sinceUtime} ${priority} ${key}`;
        const news = alarms.filter((it) => !it.isAcknowledged && !this.told.has(name(it)));
        this.told = new Set(alarms.map(name));
        if (news.length > 0) {
            const words = news.slice(0, MAX_SPOKEN).map((it) => `${it.priority}: ${this.sourceOf(it)} ${it.text}`);
            const rest = news.length > MAX_SPOKEN ? [`and ${news.length - MAX_SPOKEN} more`] : [];
            this.spoken.replaceChildren(...[...words, ...rest].map((it) => el("p", {}, it)));
        }
    }

    private sourceOf(alarm: Alarm): string {
        const owner = ownerOf(alarm.channel, this.context.store.vehicles);
        return owner === "" ? alarm.source : `${owner}: ${alarm.source}`;
    }

    /** One by one, so that each is in the audit log. */
    private acknowledgeAll(): void {
        for (const alarm of this.context.store.histories.alarms.list()) {
            if (!alarm.isAcknowledged) {
                this.acknowledge(alarm);
            }
        }
    }

    private acknowledge(alarm: Alarm): void {
        void this.context.commander.acknowledge(alarm);
    }
}

/** An alarm's row. */
class Row {
    readonly element = el("li");
    private readonly mark = el("span", { class: "mark", role: "img" });
    private readonly source = el("strong");
    private readonly text = el("span");
    private readonly since = el("time");
    private readonly state = el("span");
    /** It ticks, and says what the time beside it says: nobody must have to listen to it. */
    private readonly age = el("span", { "aria-hidden": "true" });
    private readonly ack: HTMLButtonElement;
    private alarm: Alarm | undefined;

    constructor(acknowledge: (alarm: Alarm) => void) {
        this.ack = button("Ack", () => this.alarm && acknowledge(this.alarm));
        const age = el("span", { class: "age" }, this.since, this.state, this.age);
        this.element.append(this.mark, el("div", {}, this.source, " ", this.text, age), this.ack);
    }

    show(alarm: Alarm, source: string): void {
        this.alarm = alarm;
        setAttribute(this.element, "class", alarm.priority);
        setAttribute(this.element, "data-acknowledged", alarm.isAcknowledged ? "" : undefined);
        setAttribute(this.element, "data-over", alarm.isActive ? undefined : "");
        setText(this.mark, MARKS[alarm.priority]);
        setAttribute(this.mark, "aria-label", alarm.priority);
        setText(this.source, source);
        setText(this.text, alarm.text);
        setText(this.since, clockTime(alarm.sinceUtime));
        setText(this.state, alarm.isActive ? "" : " · over");
        setAttribute(this.ack, "aria-label", `Ack ${alarm.source}: ${alarm.text}`);
        setShown(this.ack, !alarm.isAcknowledged);
    }

    renderAge(utime: number | undefined): void {
        const { alarm } = this;
        const isTold = alarm?.isActive && utime !== undefined;
        setText(this.age, isTold ? ` · ${duration((utime - alarm.sinceUtime) / 1e6)}` : "");
    }
}

/** Puts elements in this order. Only those that change places are moved: whoever is moved loses the focus. */
function putInOrder(list: HTMLElement, wanted: readonly HTMLElement[]): void {
    wanted.forEach((element, i) => {
        const there = list.children[i];
        if (there !== undefined && there !== element && list.children[i + 1] === element) {
            list.append(there);
        }
        if (list.children[i] !== element) {
            list.insertBefore(element, list.children[i] ?? null);
        }
    });
}

const RULES: readonly Want[] = [
    want(Gate, {
        note: (h, gate, { name }, utime) => {
            const lost = { priority: "alarm", source: "gate", text: `contingency: ${gate.reason}` } as const;
            h.alarms.follow(name, "contingency", gate.state === Gate.CONTINGENCY, lost, utime);
        },
    }),
    want(Helm, {
        note: (h, helm, { name }, utime) => {
            const refused = { priority: "caution", source: "helm", text: `task refused: ${helm.refused}` } as const;
            h.alarms.follow(name, "refused", helm.refused !== "", refused, utime);
        },
    }),
    want(AlarmMessage, {
        maxHz: 0,
        past: 50,
        note: (h, { source, text, utime: saidUtime, since_utime, state, robot }, { name }, utime) => {
            const id = `${robot} ${source} ${since_utime}`;
            if (state === AlarmMessage.CLEARED) {
                h.alarms.clear(name, id);
            } else {
                // Both times are by the vehicle's clock, which nobody has set: how long ago it was is what they tell.
                const sinceUtime = utime - Math.max(0, Number(saidUtime - since_utime));
                h.alarms.raise(name, id, { priority: "alarm", source, text }, sinceUtime);
            }
        },
    }),
    want(Device, {
        note: (h, device, { name }, utime) => {
            const isWrong = device.state === Device.ERRONEOUS || device.state === Device.SILENT;
            const text =
                device.state === Device.SILENT ? "the device says nothing" : `cannot be believed: ${device.last_error}`;
            h.alarms.follow(name, "device", isWrong, { priority: "warning", source: device.device, text }, utime);
        },
    }),
    want(Recorder, {
        note: (h, recorder, { name }, utime) => {
            const what = { priority: "warning", source: "recorder", text: recorder.alarm } as const;
            h.alarms.follow(name, recorder.file, recorder.alarm !== "", what, utime);
        },
    }),
    want(Supervisor, {
        note: (h, it, { name }, utime) => {
            const what = { priority: "alarm", source: `supervisor ${it.host}`, text: it.alarm } as const;
            h.alarms.follow(name, it.host, it.alarm !== "", what, utime);
        },
    }),
    want(Heartbeat, {
        maxHz: 0,
        note: (h, beat, channel, utime) => {
            for (const { name, health, text } of beat.components) {
                const isFailed = health === HeartbeatComponent.FAILED;
                const isBad = isFailed || health === HeartbeatComponent.DEGRADED;
                const priority = isFailed ? "warning" : "caution";
                const what = { priority, source: name, text: `${isFailed ? "failed" : "degraded"}: ${text}` } as const;
                h.alarms.follow(channel.name, `${beat.robot} ${beat.process} ${name}`, isBad, what, utime);
            }
        },
    }),
];

export const alarms: PanelKind = {
    id: "alarms",
    title: "Alarms",
    types: [],
    shows: RULES,
    per: "vehicle",
    places: { operate: "side" },
    make: (context) => new AlarmsPanel(context),
};
