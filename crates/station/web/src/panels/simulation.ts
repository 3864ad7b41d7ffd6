/**
 * The simulation's own controls: pause, step, reset, and what to break. Services of the simulator, asked by the station.
 *
 * It is there only with messages of a simulator, and its buttons only work for accounts that may command.
 */

import { SimControl } from "../generated/bowline/sim_control_t.js";
import { SimFault } from "../generated/bowline/sim_fault_t.js";
import { SimState } from "../generated/bowline/sim_state_t.js";
import type { Reply } from "../protocol/frames.js";
import { button, el, setAttribute, setEnabled, setText } from "../shell/dom.js";
import { duration } from "../shell/format.js";
import type { Channel, Freshness } from "../store/channel.js";
import { News } from "./news.js";
import { type Context, type Panel, type PanelKind, type Picture, whyNotAsk } from "./panel.js";

const FAULTS: readonly (readonly [number, string, number])[] = [
    [SimFault.DEAD, "sensor is silent", 0],
    [SimFault.STUCK, "sensor repeats itself", 0],
    [SimFault.NOISY, "sensor ten times as noisy", 10],
    [SimFault.WEAK, "drive at a third", 0.33],
    [SimFault.CUT, "network cut", 0],
    [SimFault.JUMP, "position off by 5 m", 5],
    [SimFault.TURN, "heading off by 0.3 rad", 0.3],
];

const ASK_EVERY_MS = 1_000;

class SimulationPanel implements Panel {
    readonly body = el("div", { class: "simulation" });
    private readonly state = el("p", { class: "headline" }, "–");
    private readonly answer = el("p", { class: "hint", role: "status" });
    private readonly faults = el("ul", { class: "faults", "aria-label": "Faults in effect" });
    private readonly kind = el(
        "select",
        { "aria-label": "Fault" },
        ...FAULTS.map(([, label], i) => el("option", { value: i }, label)),
    );
    private readonly port = el(
        "select",
        { "aria-label": "Port that is hit" },
        el("option", { value: "" }, "all ports"),
    );
    private shownPorts = "";
    private readonly faultNews = new News();
    private readonly controls: readonly (HTMLButtonElement | HTMLSelectElement)[];
    /** What the simulator last answered, and when it was asked: it reports its state only then. */
    private answered: { readonly state: Partial<SimState>; readonly ms: number } | undefined;
    /** Why it did not answer the last time. */
    private problem = "";
    private askedMs = Number.NEGATIVE_INFINITY;
    private isAsking = false;

    constructor(private readonly context: Context) {
        const control = (label: string, action: number, nSteps = (): number => 0): HTMLButtonElement =>
            button(label, () => this.control(label, action, nSteps()), { disabled: true });
        const time = [
            control("Pause", SimControl.PAUSE),
            control("Go on", SimControl.RESUME),
            control("Step", SimControl.STEP, () => 1),
            control("Step 1 s", SimControl.STEP, () => this.nStepsIn(1)),
            control("Reset", SimControl.RESET),
        ];
        const faults = [
            this.kind,
            this.port,
            button("Break it", () => this.breakIt(), { class: "warning", disabled: true }),
            button("Repair all", () => this.repair(), { disabled: true }),
        ];
        this.controls = [...time, ...faults];
        this.body.append(
            this.state,
            el("div", { class: "buttons" }, ...time),
            el("div", { class: "buttons" }, ...faults),
            this.faults,
            this.answer,
        );
    }

    sources(): (Channel | undefined)[] {
        return [this.context.view.find(SimState, "sim.state")];
    }

    render({ nowMs, utime, isForText }: Picture): void {
        if (!isForText) {
            return;
        }
        if (!this.isAsking && nowMs - this.askedMs > ASK_EVERY_MS) {
            void this.askState(nowMs);
        }
        const channel = this.context.view.find(SimState, "sim.state");
        const said = channel?.as(SimState);
        if (said !== undefined) {
            this.renderState(said, channel?.freshness(utime) ?? "none");
        } else if (this.answered !== undefined) {
            const isOld = nowMs - this.answered.ms > 2 * ASK_EVERY_MS;
            this.renderState(this.answered.state, isOld ? "stale" : "fresh");
        } else {
            setText(this.state, this.problem === "" ? "–" : `It does not say how it is: ${this.problem}`);
        }
        const why = whyNotAsk(this.context);
        for (const it of this.controls) {
            setEnabled(it, why === "");
            setAttribute(it, "title", why || undefined);
        }
        this.offerPorts();
    }

    private renderState(state: Partial<SimState>, freshness: Freshness): void {
        const isFresh = freshness === "fresh";
        const runS = (Number(state.n_steps) * Number(state.step_ns)) / 1e9;
        const now = state.paused ? "Stands still" : "Runs";
        const before = state.paused ? "Stood still" : "Ran";
        const note = isFresh ? "" : ` (stale${this.problem === "" ? "" : `: ${this.problem}`})`;
        setText(this.state, `${isFresh ? now : before}: ${duration(runS)} of its time, seed ${state.seed}${note}`);
        setAttribute(this.state, "data-paused", state.paused ? "" : undefined);
        const faults = state.faults ?? [];
        if (this.faultNews.has(...faults)) {
            this.faults.replaceChildren(...faults.map((it) => el("li", {}, it)));
        }
    }

    private async askState(nowMs: number): Promise<void> {
        if (this.context.store.isReplay) {
            return;
        }
        this.isAsking = true;
        this.askedMs = nowMs;
        const request = { action: SimControl.STATE, n_steps: 0, seed: -1 };
        const name = `${this.context.view.vehicle.prefix}sim.control`;
        const reply = await this.context.commander.ask({
            what: "service",
            name,
            type: "bowline.sim_control_t",
            request,
        });
        this.isAsking = false;
        const state = reply.ok ? (reply.result as Partial<SimState> | undefined) : undefined;
        if (state?.n_steps !== undefined) {
            this.answered = { state, ms: nowMs };
        }
        this.problem = reply.ok ? "" : (reply.error ?? "no answer");
    }

    private offerPorts(): void {
        const { view, store } = this.context;
        const names = store
            .channelsOf(view.vehicle)
            .map((it) => view.shortName(it))
            .filter((it) => !/^(truth|gate|bowline|vote|operator)\b/.test(it));
        if (names.join() !== this.shownPorts) {
            this.shownPorts = names.join();
            const before = this.port.value;
            this.port.replaceChildren(
                el("option", { value: "" }, "all ports"),
                ...names.map((it) => el("option", { value: it }, it)),
            );
            this.port.value = names.includes(before) ? before : "";
        }
    }

    /** How many steps of the simulator are so many seconds; one, where their length is unknown. */
    private nStepsIn(seconds: number): number {
        const said = this.context.view.find(SimState, "sim.state")?.as(SimState) ?? this.answered?.state;
        const stepNs = Number(said?.step_ns ?? 0);
        return stepNs > 0 ? Math.max(1, Math.round((seconds * 1e9) / stepNs)) : 1;
    }

    private control(label: string, action: number, nSteps: number): void {
        void this.ask("sim.control", "bowline.sim_control_t", { action, n_steps: nSteps, seed: -1 }, label);
    }

    private breakIt(): void {
        const [kind, label, value] = FAULTS[Number(this.kind.value)] ?? [SimFault.CLEAR, "", 0];
        const port = this.port.value;
        void this.ask(
            "sim.fault",
            "bowline.sim_fault_t",
            { kind, port, value, duration_us: 0 },
            `${label} on ${port || "all ports"}`,
        );
    }

    private repair(): void {
        void this.ask(
            "sim.fault",
            "bowline.sim_fault_t",
            { kind: SimFault.CLEAR, port: "", value: 0, duration_us: 0 },
            "repair all",
        );
    }

    private async ask(name: string, type: string, request: unknown, text: string): Promise<void> {
        setText(this.answer, `${text} …`);
        const { prefix } = this.context.view.vehicle;
        const reply: Reply = await this.context.commander.request(
            { what: "service", name: prefix + name, type, request },
            `simulation: ${text}`,
        );
        this.askedMs = Number.NEGATIVE_INFINITY;
        setText(this.answer, reply.ok ? `${text}: done` : `${text}: ${reply.error ?? "refused"}`);
        setAttribute(this.answer, "data-bad", reply.ok ? undefined : "");
    }
}

export const simulation: PanelKind = {
    id: "simulation",
    title: "Simulation",
    types: [],
    shows: [SimState],
    isWanted: (view) => ["truth.pose", "sim.state"].some((name) => view.channel(name) !== undefined),
    per: "vehicle",
    places: { simulation: "side" },
    make: (context) => new SimulationPanel(context),
};
