/** Driving by hand: keys, a stick for fingers, a gamepad. It shows at all times whether it drives, and why not. */

import { Gate } from "../generated/bowline/gate_t.js";
import { GateRules } from "../generated/bowline/gate_rules_t.js";
import type { Hands } from "../session/hands.js";
import { button, el, setAttribute, setEnabled, setText } from "../shell/dom.js";
import type { Channel } from "../store/channel.js";
import type { Context, Panel, PanelKind, Picture } from "./panel.js";

const STATES = {
    off: "Hands off",
    arming: "Getting ready: hold nothing",
    ready: "Ready: you may drive",
    driving: "You are driving",
    trailing: "Letting go",
} as const;

const REASON_FOR_MS = 8_000;

class TeleopPanel implements Panel {
    readonly body = el("div", { class: "teleop" });
    private readonly state = el("p", { class: "state", role: "status", "aria-live": "polite" });
    private readonly why = el("p", { class: "hint" });
    private readonly engage: HTMLButtonElement;
    private readonly knob = el("span", { class: "knob" });
    private readonly pad: HTMLElement;
    private readonly limit = el("input", {
        type: "range",
        min: 10,
        max: 100,
        step: 10,
        value: 50,
        "aria-label": "Most power, percent",
    });
    private readonly limitText = el("output", {}, "50 %");
    private reason = { text: "", ms: 0 };
    private readonly devices = el("p", { class: "hint" });

    constructor(private readonly context: Context) {
        this.engage = button("Drive by hand", () => this.toggle(), {
            class: "primary",
            "aria-pressed": "false",
            disabled: true,
        });
        this.pad = el(
            "div",
            { class: "stick", role: "img", "aria-label": "Stick: drag to drive. Keys W A S D or arrows do the same." },
            this.knob,
        );
        this.pad.addEventListener("pointerdown", (event) => this.grab(event));
        this.pad.addEventListener("pointermove", (event) => this.move(event));
        for (const end of ["pointerup", "pointercancel", "lostpointercapture"]) {
            this.pad.addEventListener(end, () => this.letGo());
        }
        this.limit.addEventListener("input", () => this.setLimit());
        this.body.append(
            this.pad,
            el(
                "div",
                { class: "column" },
                this.state,
                this.why,
                this.engage,
                el("label", { class: "limit" }, "Power", this.limit, this.limitText),
                this.devices,
            ),
        );
    }

    sources(): (Channel | undefined)[] {
        return [this.context.view.channel("gate.token"), this.context.view.channel("gate.state")];
    }

    render({ nowMs, isForText }: Picture): void {
        const { commander, view, controls } = this.context;
        const bridge = commander.bridge(view.vehicle);
        const direct = bridge?.session.direct;
        const state = direct?.state ?? "off";
        controls.isEngaged = state !== "off";
        setAttribute(this.body, "data-state", state);
        const hands = state === "off" ? undefined : controls.hands();
        setAttribute(
            this.knob,
            "style",
            `transform: translate(${-(hands?.left ?? 0) * 100}%, ${-(hands?.ahead ?? 0) * 100}%)`,
        );
        if (!isForText) {
            return;
        }
        const isHolder = bridge?.session.isHolder() ?? false;
        const isStopped = view.channel("gate.state")?.as(Gate)?.is_stopped ?? true;
        setText(this.state, STATES[state]);
        const reason =
            state === "off" && isHolder && !isStopped ? this.recent(direct?.reason ?? "", nowMs) : direct?.reason;
        setText(this.why, reason || (isHolder ? (isStopped ? "the vehicle is stopped" : "") : "control is not yours"));
        setText(this.engage, state === "off" ? "Drive by hand" : "Hands off");
        setAttribute(this.engage, "aria-pressed", String(state !== "off"));
        setEnabled(this.engage, state !== "off" || (commander.mayCommand && isHolder && !isStopped));
        const pad = controls.gamepad();
        setText(
            this.devices,
            pad ? `W A S D, stick, or ${pad.id.slice(0, 24)}` : "W A S D, arrows or stick; no gamepad",
        );
    }

    destroy(): void {
        this.letGo();
        this.context.commander.engage(this.context.view.vehicle, false);
        this.context.controls.isEngaged = false;
    }

    /** Why it was ended, for as long as that is news. */
    private recent(reason: string, nowMs: number): string {
        if (reason !== this.reason.text) {
            this.reason = { text: reason, ms: nowMs };
        }
        return nowMs - this.reason.ms < REASON_FOR_MS ? reason : "";
    }

    private toggle(): void {
        const { commander, view } = this.context;
        commander.engage(view.vehicle, commander.bridge(view.vehicle)?.session.direct.state === "off");
        this.setLimit();
    }

    private setLimit(): void {
        const bridge = this.context.commander.bridge(this.context.view.vehicle);
        if (bridge !== undefined) {
            bridge.limit = this.limit.valueAsNumber / 100;
        }
        setText(this.limitText, `${this.limit.value} %`);
    }

    private grab(event: PointerEvent): void {
        this.pad.setPointerCapture(event.pointerId);
        this.context.controls.stick = this.handsAt(event);
    }

    private move(event: PointerEvent): void {
        if (this.context.controls.stick !== undefined) {
            this.context.controls.stick = this.handsAt(event);
        }
    }

    private letGo(): void {
        this.context.controls.stick = undefined;
    }

    private handsAt(event: PointerEvent): Hands {
        const box = this.pad.getBoundingClientRect();
        const scale = 2.4 / box.width;
        const at = (value: number): number => Math.max(-1, Math.min(1, value));
        return {
            ahead: at(-(event.clientY - box.top - box.height / 2) * scale),
            left: at(-(event.clientX - box.left - box.width / 2) * scale),
        };
    }
}

export const teleop: PanelKind = {
    id: "teleop",
    title: "Direct control",
    types: [Gate],
    shows: [GateRules],
    per: "vehicle",
    places: { operate: "side" },
    make: (context) => new TeleopPanel(context),
};
