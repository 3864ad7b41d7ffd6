/**
 * Who or what is in control, at which level, since when, until when, and why: always in sight, together with the stop.
 *
 * The last state of the gate is shown with its age; when it is old the bar shows that before anything else.
 */

import type { Commander } from "../app/commander.js";
import { Gate } from "../generated/bowline/gate_t.js";
import type { Picture } from "../panels/panel.js";
import type { LeaseState, OperatorSession } from "../session/operator.js";
import type { Channel } from "../store/channel.js";
import type { Store, VehicleView } from "../store/store.js";
import { callOf, GATE_STATES } from "../store/vehicles.js";
import { button, el, setAttribute, setEnabled, setShown, setText } from "./dom.js";
import { clockTime, duration } from "./format.js";

const LEVELS = ["Direct control", "Heading and speed", "Waypoint", "Route", "Objective", "Observe"];

const LEASES: Readonly<Record<LeaseState, string>> = {
    unknown: "the gate has not published its rules",
    free: "the lease is free",
    taking: "asking for the lease …",
    asking: "waiting for the holder's answer …",
    held: "the lease is yours",
    other: "another station holds the lease",
};

/** For how long a refusal is news. */
const REFUSAL_FOR_MS = 30_000;

export class AuthorityBar {
    readonly element: HTMLElement;
    private readonly state = el("strong", { class: "state" }, "–");
    private readonly level = el("span", { class: "level" }, "");
    private readonly ofWhom = el("span", { class: "label" }, "In control");
    private readonly who = el("strong", { class: "who" }, "–");
    private readonly reason = el("span", { class: "reason" });
    private readonly since = el("span", { class: "since" });
    private readonly lease = el("span", { class: "lease-text", role: "status" });
    private readonly leaseBar = el("span", { class: "fill" });
    private readonly leaseMeter = el("span", { class: "meter", "aria-hidden": "true" }, this.leaseBar);
    private readonly refusal = el("span", { class: "refusal", role: "status", "aria-live": "polite" });
    /** Outside of what is read aloud: it counts. */
    private readonly refusalAge = el("span", { class: "since", "aria-hidden": "true" });
    private readonly askedText = el("span", { id: "asked-text" });
    private readonly askedLeft = el("span", { "aria-hidden": "true" });
    private readonly asked = el("div", {
        class: "asked",
        role: "alertdialog",
        tabindex: "-1",
        "aria-label": "Another station asks for control",
        "aria-describedby": "asked-text",
        hidden: true,
    });
    private focusBefore: Element | null = null;
    private readonly announced = el("span", { class: "sr", role: "status", "aria-live": "assertive" });
    private readonly take: HTMLButtonElement;
    private readonly preempt: HTMLButtonElement;
    private readonly release: HTMLButtonElement;
    private readonly clear: HTMLButtonElement;
    private readonly dismiss: HTMLButtonElement;
    private leaseSpanUs = 1_000_000;

    constructor(
        private readonly store: Store,
        private readonly commander: Commander,
        private readonly view: () => VehicleView | undefined,
    ) {
        const act = (what: "take" | "preempt" | "release" | "clear" | "consent" | "deny" | "dismissStop") => () => {
            const vehicle = this.view()?.vehicle;
            if (vehicle !== undefined) {
                this.commander[what](vehicle);
            }
        };
        this.take = button("Take control", act("take"), { class: "primary" });
        this.preempt = button("Take by rank", act("preempt"), {
            class: "warning",
            title: "Takes control from a station of lower rank; the vehicle is stopped first",
        });
        this.release = button("Hand over", act("release"));
        this.clear = button("Clear the stop", act("clear"), { class: "warning" });
        this.dismiss = button("Give up the stop", act("dismissStop"), {
            class: "warning",
            title: "The stop is repeated until the vehicle confirms it; this ends that",
        });
        this.asked.append(
            this.askedText,
            this.askedLeft,
            button("Let them", act("consent"), { class: "primary" }),
            button("Keep it", act("deny")),
        );
        this.element = el(
            "section",
            { class: "authority", "aria-label": "Authority", "data-state": "none" },
            el("div", { class: "block" }, this.state, this.level),
            el(
                "div",
                { class: "facts" },
                el("span", { class: "line" }, this.ofWhom, this.who),
                this.reason,
                this.since,
            ),
            el(
                "div",
                { class: "lease" },
                el("span", { class: "line" }, el("span", { class: "label" }, "Lease"), this.lease),
                this.leaseMeter,
                this.refusal,
                this.refusalAge,
            ),
            el("div", { class: "buttons" }, this.take, this.preempt, this.release, this.clear, this.dismiss),
            this.asked,
            this.announced,
        );
    }

    render({ nowMs, utime, isForText }: Picture): void {
        if (!isForText) {
            return;
        }
        const view = this.view();
        const channel = view?.channel("gate.state");
        const gate = channel?.as(Gate);
        const session = view && this.commander.bridge(view.vehicle)?.session;
        setShown(this.element, view !== undefined);
        const name = callOf(view?.vehicle, this.store.vehicles);
        setText(this.ofWhom, name === "" ? "In control" : `In control of ${name}`);
        setAttribute(this.element, "aria-label", name === "" ? "Authority" : `Authority over ${name}`);
        setShown(this.dismiss, session?.isStopUnconfirmed(nowMs) ?? false);
        this.renderRefusal(session, nowMs);
        if (gate === undefined || channel === undefined) {
            this.renderNoGate();
            return;
        }
        this.renderState(gate, channel, utime);
        this.renderLease(gate, session, channel.freshness(utime) === "fresh");
        this.renderButtons(gate, session);
    }

    /** A robot that goes by itself without a gate: that must be seen too. */
    private renderNoGate(): void {
        setAttribute(this.element, "data-state", "none");
        setAttribute(this.element, "data-lease", "unknown");
        setText(this.state, "No gate");
        setText(this.level, "it cannot be commanded");
        setText(this.who, "the robot itself");
        setText(this.reason, "it has no gate that people could command or stop it through");
        setText(this.since, "");
        setText(this.lease, "there is none");
        setText(this.announced, "");
        this.showAsked(false);
        for (const it of [this.leaseMeter, this.take, this.preempt, this.release, this.clear]) {
            setShown(it, false);
        }
    }

    private renderState(gate: Gate, channel: Channel, utime: number | undefined): void {
        const isStale = channel.freshness(utime) !== "fresh";
        setAttribute(this.element, "data-state", isStale ? "stale" : (GATE_STATES[gate.state] ?? "none"));
        const state = GATE_STATES[gate.state] ?? `state ${gate.state}`;
        setText(this.state, isStale ? `Was ${state}` : state.charAt(0).toUpperCase() + state.slice(1));
        const isMoving = gate.state === Gate.OPERATED || gate.state === Gate.AUTONOMOUS;
        const level = isMoving ? `Level ${gate.level} · ${LEVELS[gate.level] ?? ""}` : "";
        setText(this.level, isStale ? `not heard for ${duration(channel.ageS(utime))}` : level);
        setText(this.who, gate.in_control || "none");
        setText(
            this.reason,
            gate.is_stopped && gate.stopped_by
                ? `stopped by ${gate.stopped_by}: ${gate.stop_reason || gate.reason}`
                : gate.reason,
        );
        const now = Number(gate.utime) + (channel.ageS(utime) ?? 0) * 1e6;
        const since = `since ${clockTime(Number(gate.since_utime))} (${duration((now - Number(gate.since_utime)) / 1e6)})`;
        const until =
            gate.until_utime > 0n ? `, until ${duration((Number(gate.until_utime) - now) / 1e6)} from now` : "";
        setText(this.since, `${since}${until}${gate.contingency ? ` · if lost: ${gate.contingency}` : ""}`);
        setText(
            this.announced,
            isStale ? "No messages from the vehicle" : `${state}, in control: ${gate.in_control || "none"}`,
        );
    }

    private renderLease(gate: Gate, session: OperatorSession | undefined, isFresh: boolean): void {
        const state = session?.lease ?? "unknown";
        const text = state === "other" ? `${gate.holder} (rank ${gate.rank})` : LEASES[state];
        setText(this.lease, isFresh ? text : `was last: ${text}`);
        setAttribute(this.element, "data-lease", isFresh ? state : "unknown");
        const leftUs = Number(gate.lease_until_utime) - Number(gate.utime);
        this.leaseSpanUs = Math.max(this.leaseSpanUs * 0.999, leftUs, 1);
        const share = gate.lease_until_utime > 0n && isFresh ? Math.max(0, Math.min(1, leftUs / this.leaseSpanUs)) : 0;
        setAttribute(this.leaseBar, "style", `width: ${(share * 100).toFixed(0)}%`);
        setShown(this.leaseMeter, gate.lease_until_utime > 0n);
        const isAsked = session?.isAskedFor ?? false;
        if (isAsked) {
            const left = (Number(gate.asking_until_utime) - Number(gate.utime)) / 1e6;
            setText(this.askedText, `${gate.asking} asks for control`);
            setText(this.askedLeft, `(${duration(left)} to answer)`);
        }
        this.showAsked(isAsked);
    }

    /** Asks the person at the page. The question takes the focus, but not from a text field, and not from the stop. */
    private showAsked(isAsked: boolean): void {
        if (this.asked.hidden !== isAsked) {
            return;
        }
        setShown(this.asked, isAsked);
        const { activeElement } = document;
        if (isAsked && !activeElement?.matches("input, select, textarea, .stop")) {
            this.focusBefore = activeElement;
            this.asked.focus();
        } else if (!isAsked && this.focusBefore instanceof HTMLElement) {
            this.focusBefore.focus();
            this.focusBefore = null;
        }
    }

    private renderRefusal(session: OperatorSession | undefined, nowMs: number): void {
        const ageMs = session?.refusalAgeMs(nowMs) ?? Number.POSITIVE_INFINITY;
        const refusal = ageMs < REFUSAL_FOR_MS ? session?.refusal : undefined;
        setText(this.refusal, refusal ? `refused: ${refusal.text || refusal.reason}` : "");
        setText(this.refusalAge, refusal ? `${duration(ageMs / 1e3)} ago` : "");
    }

    private renderButtons(gate: Gate, session: OperatorSession | undefined): void {
        const may = this.commander.isOperator && session !== undefined;
        const isNow = this.commander.mayCommand;
        const lease = session?.lease ?? "unknown";
        setShown(this.take, may && (lease === "free" || lease === "other" || lease === "taking" || lease === "asking"));
        setEnabled(this.take, isNow && (lease === "free" || lease === "other"));
        for (const it of [this.preempt, this.release, this.clear]) {
            setEnabled(it, isNow);
        }
        setText(this.take, lease === "other" ? "Ask for control" : "Take control");
        setShown(this.preempt, may && (session?.mayPreempt ?? false));
        setShown(this.release, may && lease === "held");
        setShown(this.clear, may && lease === "held" && gate.is_stopped);
    }
}
