/** What was commanded, refused and changed, as a running log. */

import { Audit } from "../generated/bowline/audit_t.js";
import { LeaseRequest } from "../generated/bowline/lease_request_t.js";
import { Refusal } from "../generated/bowline/refusal_t.js";
import { StopCommand } from "../generated/bowline/stop_command_t.js";
import { TaskCommand } from "../generated/bowline/task_command_t.js";
import { el, setShown } from "../shell/dom.js";
import { clockTime } from "../shell/format.js";
import { ownerOf } from "../store/vehicles.js";
import type { Context, Panel, PanelKind, Picture } from "./panel.js";

const N_SHOWN = 60;

class JournalPanel implements Panel {
    readonly body = el("div", { class: "journal" });
    private readonly list = el("ol", { "aria-label": "Running log, newest first", tabindex: "0" });
    private readonly empty = el("p", { class: "empty" }, "Nobody has asked for anything yet.");
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

export const journal: PanelKind = {
    id: "journal",
    title: "Running log",
    types: [],
    shows: [Audit, LeaseRequest, Refusal, StopCommand, TaskCommand],
    per: "vehicle",
    places: { operate: "side", simulation: "side" },
    make: (context) => new JournalPanel(context),
};
