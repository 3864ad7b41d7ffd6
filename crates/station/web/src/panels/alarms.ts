/** What is wrong, worst first, until somebody says that they know. */

import { button, el, setAttribute, setShown, setText } from "../shell/dom.js";
import { clockTime, duration } from "../shell/format.js";
import type { Alarm } from "../store/alarms.js";
import { ownerOf } from "../store/vehicles.js";
import type { Context, Panel, PanelKind, Picture } from "./panel.js";

class AlarmsPanel implements Panel {
    readonly body = el("div", { class: "alarms" });
    private readonly list = el("ul", { "aria-live": "assertive", "aria-label": "Alarms" });
    private readonly empty = el("p", { class: "empty" }, "Nothing is wrong, as far as anybody says.");
    private readonly all: HTMLButtonElement;
    private rows: { readonly alarm: Alarm; readonly age: HTMLElement }[] = [];
    private shown = -1;

    constructor(private readonly context: Context) {
        this.all = button("Acknowledge all", () => this.acknowledgeAll(), { class: "quiet" });
        this.body.append(this.list, this.empty, this.all);
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
            this.rows = [];
            this.list.replaceChildren(
                ...alarms
                    .list()
                    .slice(0, 50)
                    .map((alarm) => this.row(alarm)),
            );
            setShown(this.empty, this.rows.length === 0);
            setShown(this.all, alarms.nNew > 1);
        }
        for (const { alarm, age } of this.rows) {
            const ageS = utime === undefined ? undefined : (utime - alarm.sinceUtime) / 1e6;
            setText(age, `${clockTime(alarm.sinceUtime)} · ${alarm.isActive ? duration(ageS) : "over"}`);
        }
    }

    private row(alarm: Alarm): HTMLElement {
        const age = el("span", { class: "age" });
        this.rows.push({ alarm, age });
        const row = el(
            "li",
            { class: alarm.priority },
            el(
                "span",
                { class: "mark", "aria-label": alarm.priority },
                { alarm: "▲", warning: "◆", caution: "●" }[alarm.priority],
            ),
            el("div", {}, el("strong", {}, this.sourceOf(alarm)), " ", el("span", {}, alarm.text), age),
        );
        setAttribute(row, "data-acknowledged", alarm.isAcknowledged ? "" : undefined);
        setAttribute(row, "data-over", alarm.isActive ? undefined : "");
        if (!alarm.isAcknowledged) {
            const label = `Ack ${alarm.source}: ${alarm.text}`;
            row.append(button("Ack", () => this.acknowledge(alarm), { "aria-label": label }));
        }
        return row;
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
        this.context.store.histories.alarms.acknowledge(alarm.key);
        const request = { what: "acknowledge", alarm: alarm.key, since_utime: String(alarm.sinceUtime) } as const;
        void this.context.commander.request(request, `acknowledges: ${alarm.source} ${alarm.text}`);
    }
}

export const alarms: PanelKind = {
    id: "alarms",
    title: "Alarms",
    types: [],
    per: "vehicle",
    places: { operate: "side" },
    make: (context) => new AlarmsPanel(context),
};
