/** The experiments that the robot offers: what each is for and made of, who guards it, and a button to bind the page to it. */

import { Experiment } from "../generated/bowline/experiment_t.js";
import { Heartbeat } from "../generated/bowline/heartbeat_t.js";
import { button, el, setAttribute, setText } from "../shell/dom.js";
import { type Channel, staleAfterS } from "../store/channel.js";
import type { Monitor } from "../store/experiments.js";
import type { Histories } from "../store/histories.js";
import type { Context, Panel, PanelKind, Picture } from "./panel.js";
import { want } from "../store/want.js";

class ExperimentPanel implements Panel {
    readonly body = el("div", { class: "experiments" });
    private shown = "";
    private buttons = new Map<string, HTMLButtonElement>();
    private parts: { readonly part: HTMLElement; readonly robot: string; readonly name: string }[] = [];

    constructor(private readonly context: Context) {}

    sources(): (Channel | undefined)[] {
        return [this.context.store.channels().find((it) => it.is(Experiment))];
    }

    render({ utime, isForText }: Picture): void {
        if (!isForText) {
            return;
        }
        const { view, store } = this.context;
        const monitors = view.monitors();
        const shown = JSON.stringify(monitors.map((it) => [it.name, it.about, it.gate, it.components]));
        if (shown !== this.shown) {
            this.shown = shown;
            this.buttons.clear();
            this.parts = [];
            this.body.replaceChildren(...monitors.map((it) => this.block(it)));
        }
        for (const [name, it] of this.buttons) {
            setAttribute(it, "aria-pressed", String(view.monitor?.name === name));
        }
        for (const { part, robot, name } of this.parts) {
            const health = utime === undefined ? "silent" : store.histories.health(robot, name, utime);
            setAttribute(part, "data-health", health);
            setText(part, health === undefined || health === "good" ? name : `${name} (${health})`);
        }
    }

    private block({ name, robot, about, gate, components, channels }: Monitor): HTMLElement {
        const watch = button(`Watch only ${name}`, () => this.choose(name));
        this.buttons.set(name, watch);
        const parts = components.map((it) => {
            const part = el("li", {}, it);
            this.parts.push({ part, robot, name: it });
            return part;
        });
        const guard = gate === "" ? "no station commands it" : `commanded through ${gate}`;
        return el(
            "section",
            { "aria-label": `Experiment ${name}` },
            el("p", { class: "headline" }, name),
            el("p", {}, about),
            el("p", { class: "caption" }, `${guard} · ${components.length} components, ${channels.size} channels`),
            el("ul", { class: "parts", "aria-label": `Components of ${name}` }, ...parts),
            watch,
        );
    }

    /** Binds the page to an experiment, or lets go of it. */
    private choose(name: string): void {
        this.context.chooseMonitor(this.context.view.monitor?.name === name ? "" : name);
    }
}

/** A process that misses three heartbeats leaves the health of its components unknown. */
function noteHealth(histories: Histories, beat: Heartbeat, _channel: Channel, utime: number): void {
    const untilUtime = utime + staleAfterS(beat.period_us) * 1e6;
    for (const { name, health } of beat.components) {
        histories.setHealth(beat.robot, name, health, untilUtime);
    }
}

export const experiment: PanelKind = {
    id: "experiment",
    title: "Experiments",
    types: [],
    // On one channel several hosts publish: the newest message is not the only one that counts.
    shows: [
        want(Experiment, {
            maxHz: 0,
            note: (histories, experiment, channel) => histories.experiments.note(channel.name, experiment),
        }),
        want(Heartbeat, { maxHz: 0, note: noteHealth }),
    ],
    isWanted: (view) => view.monitors().length > 0,
    per: "vehicle",
    places: { sensors: "grid" },
    make: (context) => new ExperimentPanel(context),
};
