/** What was commanded, refused and changed, as a running log. */

import { Arbitration } from "../generated/bowline/arbitration_t.js";
import { Audit } from "../generated/bowline/audit_t.js";
import type { Authority } from "../generated/bowline/authority_t.js";
import { Gate } from "../generated/bowline/gate_t.js";
import { Helm } from "../generated/bowline/helm_t.js";
import { LeaseRequest } from "../generated/bowline/lease_request_t.js";
import { Refusal } from "../generated/bowline/refusal_t.js";
import { StopCommand } from "../generated/bowline/stop_command_t.js";
import { TaskCommand } from "../generated/bowline/task_command_t.js";
import { TASK_KINDS } from "../session/words.js";
import { el, setShown } from "../shell/dom.js";
import { clockTime } from "../shell/format.js";
import type { Channel } from "../store/channel.js";
import type { Histories } from "../store/histories.js";
import { GATE_STATES, ownerOf } from "../store/vehicles.js";
import type { Context, Panel, PanelKind, Picture } from "./panel.js";
import { type Want, want } from "../store/want.js";

const N_SHOWN = 60;

class JournalPanel implements Panel {
    readonly body = el("div", { class: "journal" });
    private readonly list = el("ol", { "aria-label": "Running log, newest first", tabindex: "0" });
    private readonly empty = el("p", { class: "empty" }, "There are no requests yet.");
    private shown = -1;

    constructor(private readonly context: Context) {
        this.body.append(this.list, this.empty);
    }

    sources(): [] {
        return [];
    }

    render({ isForText }: Picture): void {
        const { journal } = this.context.store.histories;
        if (!isForText || journal.revision === this.shown) {
            return;
        }
        this.shown = journal.revision;
        const entries = journal.newest(N_SHOWN);
        setShown(this.empty, entries.length === 0);
        this.list.replaceChildren(
            ...entries.map(({ utime, kind, channel, who, text }) => {
                const owner = ownerOf(channel, this.context.store.vehicles);
                const speaker = owner === "" || channel === "" ? who : `${owner}: ${who}`;
                return el(
                    "li",
                    { class: `by-${kind}` },
                    el("time", {}, clockTime(utime)),
                    el("strong", { title: speaker }, speaker),
                    el("span", {}, text),
                );
            }),
        );
    }
}

/** Renewals are left out: they come four times a second. */
const LEASE_ASKS = new Map<number, string>([
    [LeaseRequest.TAKE, "asks for the lease"],
    [LeaseRequest.RELEASE, "gives the lease up"],
    [LeaseRequest.CONSENT, "hands the lease over"],
    [LeaseRequest.DENY, "keeps the lease"],
    [LeaseRequest.PREEMPT, "takes the lease by rank"],
]);

/** Enters a command of another station, once: requests are sent again until they are answered. */
function command(h: Histories, by: Authority, key: string, text: string, channel: Channel, utime: number): void {
    if (by.session !== h.ownSession) {
        h.change(key, { utime, kind: "command", channel: channel.name, who: by.station, text });
    }
}

/** What vehicles publish of themselves when it changes. */
const CHANGES: readonly Want[] = [
    want(Gate, {
        note: (h, { state, reason, in_control }, { name }, utime) => {
            const text = `${GATE_STATES[state] ?? "?"}: ${reason}`;
            h.change(`${state} ${in_control}`, { utime, kind: "change", channel: name, who: in_control, text });
        },
    }),
    want(Helm, {
        note: (h, { text }, { name }, utime) =>
            h.change(text, { utime, kind: "change", channel: name, who: "helm", text }),
    }),
    want(Arbitration, {
        note: (h, { stopped, reason }, { name }, utime) => {
            const text = stopped ? `stands still: ${reason}` : reason;
            const key = text.replace(/[\d.]+/g, "");
            h.change(key, { utime, kind: "change", channel: name, who: "arbiter", text });
        },
    }),
];

/** What people at other stations ask for, and in a replay what any person did. */
const COMMANDS: readonly Want[] = [
    want(TaskCommand, {
        maxHz: 0,
        past: 50,
        note: (h, { by, task }, channel, utime) => {
            const text = `task: ${task.name || TASK_KINDS[task.kind] || "?"}`;
            command(h, by, `${by.session} ${task.id}`, text, channel, utime);
        },
    }),
    want(StopCommand, {
        maxHz: 0,
        past: 20,
        note: (h, { by, ask, reason }, channel, utime) => {
            const text = ask === StopCommand.STOP ? `stop: ${reason}` : "lets the stop be over";
            command(h, by, `${by.session} ${ask} ${reason}`, text, channel, utime);
        },
    }),
    want(LeaseRequest, {
        maxHz: 0,
        note: (h, { by, ask }, channel, utime) => {
            const text = LEASE_ASKS.get(ask);
            if (text !== undefined) {
                command(h, by, `${by.session} ${ask}`, text, channel, utime);
            }
        },
    }),
    want(Refusal, {
        maxHz: 0,
        past: 50,
        note: (h, { command, reason, text, by }, { name }, utime) => {
            const what = `${command} refused (${reason}): ${text}`;
            h.journal.add({ utime, kind: "refusal", channel: name, who: by.station, text: what });
        },
    }),
    // What goes to a bus is in the messages above; the rest of what people do, and what they were refused, only the station
    // knows.
    want(Audit, {
        maxHz: 0,
        past: 50,
        note: (h, { station, user, action, subject, detail, is_done }, { name }, utime) => {
            if (action !== "publish" || !is_done) {
                const text = `${action} ${detail || subject}`.trim();
                const kind = is_done ? "command" : "refusal";
                h.journal.add({ utime, kind, channel: name, who: station || user || "none", text });
            }
        },
    }),
];

export const journal: PanelKind = {
    id: "journal",
    title: "Running log",
    types: [],
    shows: [...COMMANDS, ...CHANGES],
    per: "vehicle",
    places: { operate: "side", simulation: "side" },
    make: (context) => new JournalPanel(context),
};
