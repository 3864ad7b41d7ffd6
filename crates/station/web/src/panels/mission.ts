/** What the vehicle does by itself, how far it is, and the buttons that change that. */

import { Helm } from "../generated/bowline/helm_t.js";
import { Task } from "../generated/bowline/task_t.js";
import * as tasks from "../session/tasks.js";
import { TASK_KINDS } from "../session/words.js";
import { button, el, setAttribute, setEnabled, setShown, setText } from "../shell/dom.js";
import { number } from "../shell/format.js";
import { Readout } from "../shell/readout.js";
import type { Channel } from "../store/channel.js";
import { type Context, type Panel, type PanelKind, type Picture, whyNotAsk } from "./panel.js";

class MissionPanel implements Panel {
    readonly body = el("div", { class: "mission" });
    private readonly text = el("p", { class: "headline" }, "–");
    private readonly refused = el("p", { class: "refused", role: "status" });
    private readonly progress = el("progress", { max: 1, value: 0, "aria-label": "Legs of the mission that are done" });
    private readonly legs = new Readout("Legs");
    private readonly left = new Readout("Left", "m");
    private readonly cross = new Readout("Off track", "m");
    private readonly queue = el("ol", { class: "queue", "aria-label": "Tasks that are left" });
    private readonly buttons: HTMLButtonElement[];
    private readonly x = el("input", {
        type: "number",
        step: "any",
        "aria-label": "East, metres",
        placeholder: "east m",
    });
    private readonly y = el("input", {
        type: "number",
        step: "any",
        "aria-label": "North, metres",
        placeholder: "north m",
    });
    private shownTasks = "";

    constructor(private readonly context: Context) {
        this.buttons = [
            button("Pause", () => this.give(tasks.pause(), "pause")),
            button("Resume", () => this.give(tasks.resume(), "resume"), { class: "primary" }),
            button("Stay here", () => this.give(tasks.stay(), "stay here")),
            button("Return", () => this.give(tasks.comeBack(), "return")),
            button("Go to", () => this.goTo()),
        ];
        // Until it is known that control is this person's.
        for (const it of this.buttons) {
            it.disabled = true;
        }
        const [pause, resume, stay, back, go] = this.buttons;
        this.body.append(
            this.text,
            this.progress,
            el("div", { class: "row" }, this.legs.element, this.left.element, this.cross.element),
            this.refused,
            this.queue,
            el("div", { class: "buttons" }, pause ?? "", resume ?? "", stay ?? "", back ?? ""),
            el("div", { class: "buttons goto" }, this.x, this.y, go ?? ""),
        );
    }

    sources(): (Channel | undefined)[] {
        return [this.context.view.find(Helm, "helm.state")];
    }

    render({ utime, isForText }: Picture): void {
        if (!isForText) {
            return;
        }
        const { view, commander } = this.context;
        const channel = view.find(Helm, "helm.state");
        const helm = channel?.as(Helm);
        const state = helm?.is_paused ? "Paused. " : helm?.is_done ? "Done. " : "";
        setText(this.text, helm ? `${state}${helm.text || helm.name || TASK_KINDS[helm.kind] || "–"}` : "–");
        setAttribute(this.text, "data-fresh", channel?.freshness(utime));
        this.progress.max = Math.max(1, helm?.n_legs ?? 1);
        this.progress.value = helm?.n_done ?? 0;
        this.legs.show(helm ? `${helm.n_done} of ${helm.n_legs}` : "–", channel, utime);
        this.left.show(number(helm?.left_m, 0), channel, utime);
        this.cross.show(number(helm?.cross_track_m, 2), channel, utime);
        setText(this.refused, helm?.refused ? `Not taken: ${helm.refused}` : "");
        setShown(this.refused, Boolean(helm?.refused));
        this.renderQueue(helm?.tasks ?? []);
        const isHolder = commander.bridge(view.vehicle)?.session.isHolder() ?? false;
        const why = whyNotAsk(this.context) || (isHolder ? "" : "Take control first");
        for (const it of this.buttons) {
            setEnabled(it, why === "");
            setAttribute(it, "title", why || undefined);
        }
    }

    private renderQueue(names: readonly string[]): void {
        const joined = names.join("\n");
        if (joined !== this.shownTasks) {
            this.shownTasks = joined;
            this.queue.replaceChildren(...names.slice(0, 8).map((name) => el("li", {}, name || "task")));
        }
    }

    private goTo(): void {
        const [x, y] = [this.x.valueAsNumber, this.y.valueAsNumber];
        if (Number.isFinite(x) && Number.isFinite(y)) {
            this.give(tasks.goTo([x, y]), `go to ${number(x)}, ${number(y)}`);
        }
    }

    private give(task: Task, text: string): void {
        this.context.commander.giveTask(this.context.view.vehicle, task, text);
    }
}

export const mission: PanelKind = {
    id: "mission",
    title: "Mission",
    types: [Helm],
    per: "vehicle",
    places: { operate: "side" },
    make: (context) => new MissionPanel(context),
};
