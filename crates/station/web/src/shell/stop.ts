/**
 * The stop: always there, always the same, also by the key Esc.
 *
 * A software stop, as good as the software that carries it; it says what it knows: sent, confirmed by the vehicle, or not
 * confirmed. It acts when the button goes down, not when it comes up.
 */

import type { Commander } from "../app/commander.js";
import { Gate } from "../generated/bowline/gate_t.js";
import type { Picture } from "../panels/panel.js";
import type { Store, VehicleView } from "../store/store.js";
import { el, setAttribute, setText } from "./dom.js";

export class StopButton {
    readonly element: HTMLButtonElement;
    private readonly label = el("strong", {}, "STOP");
    private readonly hint = el("span", {}, "Esc");
    /** Says to screen readers what the button shows; not within it, where it would be its name. */
    readonly announced = el("span", { class: "sr", role: "status", "aria-live": "assertive" });

    constructor(
        private readonly store: Store,
        private readonly commander: Commander,
        private readonly view: () => VehicleView | undefined,
    ) {
        this.element = el(
            "button",
            {
                type: "button",
                class: "stop",
                title: "Stops the vehicle. Key: Esc; Shift Esc for all vehicles; on a gamepad the right button (B)",
            },
            this.label,
            this.hint,
        );
        this.element.addEventListener("pointerdown", (event) => {
            if (event.button === 0) {
                this.press("stop button");
            }
        });
        // A click without a pointer is a key on the button, or a screen reader.
        this.element.addEventListener("click", (event) => {
            if (event.detail === 0) {
                this.press("stop button");
            }
        });
        window.addEventListener("keydown", (event) => {
            if (event.key === "Escape" && !event.repeat) {
                this.press(event.shiftKey ? "keys Shift Esc, for all vehicles" : "key Esc", event.shiftKey);
            }
        });
    }

    render({ isForText }: Picture): void {
        if (!isForText) {
            return;
        }
        const view = this.view();
        const gate = view?.channel("gate.state")?.as(Gate);
        const stop = view && this.commander.bridge(view.vehicle)?.session.stop;
        const isStopped = gate?.is_stopped ?? false;
        this.element.hidden = view === undefined;
        setAttribute(this.element, "data-stop", isStopped ? "stopped" : (stop ?? "none"));
        const [label, hint] =
            gate === undefined
                ? ["STOP", "no gate to say it to"]
                : isStopped
                  ? ["STOPPED", "latched"]
                  : stop === "sent"
                    ? ["STOP SENT", "not confirmed yet"]
                    : stop === "unconfirmed"
                      ? ["STOP", "the last was not confirmed"]
                      : ["STOP", this.store.isReplay ? "replay" : "Esc"];
        setText(this.label, label);
        setText(this.hint, hint);
        setText(this.announced, label === "STOP" && stop !== "unconfirmed" ? "" : `${label}, ${hint}`);
        this.element.disabled = gate === undefined || !this.commander.mayStop;
    }

    /** Stops the vehicle in front, or all. */
    press(reason: string, isForAll = false): void {
        const view = this.view();
        const vehicles = isForAll ? this.store.vehicles : view ? [view.vehicle] : [];
        for (const vehicle of vehicles) {
            this.commander.stop(vehicle, reason);
        }
    }
}
