/**
 * What is wrong, worst first, until a person acknowledges it: the vehicle's own list, and what is wrong with this page.
 *
 * What is new is announced once in a region that screen readers read at once, in words that do not change afterwards. The list
 * itself is not read aloud: ages tick in it. Its rows stay the same elements for as long as the alarm is there, so that a click or
 * the focus is not lost to what happens meanwhile.
 */

import { Acknowledge } from "../generated/bowline/acknowledge_t.js";
import { Alarm as AlarmMessage } from "../generated/bowline/alarm_t.js";
import { Alarms as AlarmsMessage } from "../generated/bowline/alarms_t.js";
import { button, el, setAttribute, setShown, setText } from "../shell/dom.js";
import { clockTime, duration } from "../shell/format.js";
import type { Alarm } from "../store/alarms.js";
import type { Channel } from "../store/channel.js";
import { ownerOf } from "../store/vehicles.js";
import type { Context, Panel, PanelKind, Picture } from "./panel.js";
import { want } from "../store/want.js";

const MAX_SHOWN = 50;
/** More at once than a person can listen to: they are counted. */
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
    private readonly empty = el("p", { class: "empty" });
    private readonly all: HTMLButtonElement;
    private readonly rows = new Map<string, Row>();
    private told = new Set<string>();
    private shown = -1;

    constructor(private readonly context: Context) {
        this.all = button("Acknowledge all", () => void this.acknowledgeAll(), { class: "quiet" });
        this.body.append(this.spoken, this.list, this.empty, this.all);
    }

    /** The lists of the vehicle: one that is not published any more is not to be believed. */
    sources(): readonly Channel[] {
        return this.context.view.ofType(AlarmsMessage);
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
            setShown(this.all, alarms.nNew > 1);
        }
        const text = this.emptyText();
        setText(this.empty, text);
        setShown(this.empty, text !== "");
        for (const row of this.rows.values()) {
            row.renderAge(utime);
        }
    }

    /** The text where there are no alarms, or no component that lists them; empty: there are some. */
    private emptyText(): string {
        const { view, store } = this.context;
        if (this.sources().length > 0) {
            return store.histories.alarms.isEmpty ? "Nothing is wrong, as far as the vehicle knows." : "";
        }
        return view.ofType(AlarmMessage).length > 0
            ? "Alarms are raised, and no component of kind alarms lists them."
            : "The vehicle publishes no list of alarms.";
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

    /** Announces what is new, or worse than it was; once. */
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

    /** All of them, each with its own message or request: the next one when the last was taken. */
    private async acknowledgeAll(): Promise<void> {
        for (const alarm of this.context.store.histories.alarms.list()) {
            if (!alarm.isAcknowledged) {
                await this.context.commander.acknowledge(alarm);
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
    private readonly advice = el("span", { class: "advice", hidden: true });
    /** It ticks, and repeats the time beside it: screen readers skip it. */
    private readonly age = el("span", { "aria-hidden": "true" });
    private readonly ack: HTMLButtonElement;
    private alarm: Alarm | undefined;

    constructor(acknowledge: (alarm: Alarm) => void) {
        this.ack = button("Ack", () => this.alarm && acknowledge(this.alarm));
        const age = el("span", { class: "age" }, this.since, this.state, this.age);
        this.element.append(this.mark, el("div", {}, this.source, " ", this.text, this.advice, age), this.ack);
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
        setText(this.state, stateOf(alarm));
        const advice = [alarm.consequence, alarm.action].filter((it) => it !== "").join(". ");
        setText(this.advice, advice === "" ? "" : `${advice.charAt(0).toUpperCase()}${advice.slice(1)}.`);
        setShown(this.advice, advice !== "");
        setAttribute(this.ack, "aria-label", `Ack ${alarm.source}: ${alarm.text}`);
        setShown(this.ack, !alarm.isAcknowledged);
    }

    renderAge(utime: number | undefined): void {
        const { alarm } = this;
        const isTold = alarm?.isActive && utime !== undefined;
        setText(this.age, isTold ? ` · ${duration((utime - alarm.sinceUtime) / 1e6)}` : "");
    }
}

/** What has become of it, and whose it is, after the time at which it was raised. */
function stateOf({ isActive, isRefreshed, acknowledgedBy, listed }: Alarm): string {
    const words = [
        !isActive ? "over" : isRefreshed ? "" : "not refreshed: whether it holds is not known",
        acknowledgedBy === "" ? "" : `known to ${acknowledgedBy}`,
        listed === undefined ? "of this page" : "",
    ];
    return words.map((it) => (it === "" ? "" : ` · ${it}`)).join("");
}

/** Puts elements in this order. Only those that change places are moved: a moved element loses the focus. */
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

export const alarms: PanelKind = {
    id: "alarms",
    title: "Alarms",
    types: [],
    shows: [
        want(AlarmsMessage, {
            maxHz: 0,
            note: (histories, list, { name }, utime) => histories.alarms.learn(name, list, utime),
        }),
        // The list has what is in them, and the running log who knows of what.
        AlarmMessage,
        want(Acknowledge, {
            maxHz: 0,
            past: 50,
            note: (h, { by, source, id, since_utime }, { name }, utime) => {
                const text = `acknowledges: ${source} ${id}`;
                const state = `${by.station} ${source} ${id} ${since_utime}`;
                h.change(state, { utime, kind: "command", channel: name, who: by.station, text });
            },
        }),
    ],
    per: "vehicle",
    places: { operate: "side" },
    make: (context) => new AlarmsPanel(context),
};
