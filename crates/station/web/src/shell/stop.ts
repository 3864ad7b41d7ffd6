/**
 * The stop: always there, always the same, also by the key Esc.
 *
 * A software stop, as good as the software that carries it; it shows what it knows: not sent, sent, confirmed by the vehicle
 * since it was pressed, or that the vehicle's last state was stopped. It acts when the button goes down, not when
 * it comes up.
 */

import type { Commander } from "../app/commander.js";
import { Gate } from "../generated/bowline/gate_t.js";
import type { Picture } from "../panels/panel.js";
import type { Store, VehicleView } from "../store/store.js";
import { callOf } from "../store/vehicles.js";
import { el, setAttribute, setText } from "./dom.js";
import { duration } from "./format.js";

/** The text of the button. */
interface Face {
    readonly state: "none" | "unsent" | "sent" | "stopped" | "was-stopped";
    readonly label: string;
    readonly calm: string;
    /** What changes all the time. */
    readonly counted: string;
    readonly isNews: boolean;
}

export class StopButton {
    readonly element: HTMLButtonElement;
    private readonly label = el("strong", {}, "STOP");
    private readonly hint = el("span", {}, "Esc");
    /** Announces to screen readers what the button shows; not within it, where it would be its name. */
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
            if (event.key === "Escape" && !event.repeat && !isForSomethingElse(event)) {
                this.press(event.shiftKey ? "keys Shift Esc, for all vehicles" : "key Esc", event.shiftKey);
            }
        });
    }

    render({ nowMs, utime, isForText }: Picture): void {
        if (!isForText) {
            return;
        }
        const view = this.view();
        const face = this.face(view, nowMs, utime);
        const name = callOf(view?.vehicle, this.store.vehicles);
        const calm = name === "" ? face.calm : `${name} · ${face.calm}`;
        this.element.hidden = view === undefined;
        setAttribute(this.element, "data-stop", face.state);
        setText(this.label, face.label);
        setText(this.hint, face.counted === "" ? calm : `${calm} ${face.counted}`);
        // Without what counts up: it would be read aloud ten times a second.
        setText(this.announced, face.isNews ? `${face.label}, ${calm}` : "");
        this.element.disabled = view?.vehicle.hasGate !== true || !this.commander.mayStop;
    }

    private face(view: VehicleView | undefined, nowMs: number, utime: number | undefined): Face {
        const channel = view?.channel("gate.state");
        const gate = channel?.as(Gate);
        const session = view && this.commander.bridge(view.vehicle)?.session;
        const waitsMs = session?.stopWaitsMs(nowMs);
        if (waitsMs !== undefined) {
            return this.pending(session?.stop === "sent", waitsMs, nowMs);
        }
        if (gate?.is_stopped) {
            return channel?.freshness(utime) === "fresh"
                ? { state: "stopped", label: "STOPPED", calm: "latched", counted: "", isNews: true }
                : {
                      state: "was-stopped",
                      label: "STOP",
                      calm: "was stopped, no message for",
                      counted: duration(channel?.ageS(utime)),
                      isNews: true,
                  };
        }
        const calm = gate === undefined ? "no gate to send it to" : this.store.isReplay ? "replay" : "Esc";
        return { state: "none", label: "STOP", calm, counted: "", isNews: false };
    }

    /** Pressed, and no gate has confirmed since that it is stopped. */
    private pending(isSent: boolean, waitsMs: number, nowMs: number): Face {
        const counted = waitsMs < 1_000 ? "" : `for ${duration(waitsMs / 1e3)}`;
        if (!isSent) {
            return { state: "unsent", label: "NOT SENT", calm: "no connection", counted, isNews: true };
        }
        const calm = this.store.isCutOff(nowMs) ? "the station is not received" : "not confirmed yet";
        return { state: "sent", label: "STOP SENT", calm, counted, isNews: true };
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

/**
 * Whether Esc closes or clears something, as it does everywhere: a menu that it closes marks that by preventing what the
 * browser would do, and a field for searching is cleared. Anywhere else Esc stops, in other fields too.
 */
function isForSomethingElse({ defaultPrevented, target }: KeyboardEvent): boolean {
    const isSearch = target instanceof HTMLInputElement && target.type === "search" && target.value !== "";
    return defaultPrevented || isSearch;
}
