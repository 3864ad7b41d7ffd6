/**
 * Direct control: set-points for the actuators, sent only while a control is held and the vehicle answers. docs/control.md
 * specifies it, and the vectors of `crates/operator/vectors` hold this file to it.
 *
 * ```text
 *   off ── engage ──▶ arming ── at rest for the neutral time ──▶ ready ── held ──▶ driving
 *    ▲                  ▲                                          ▲  ▲              │ released
 *    │                  └── gate refuses: neutral ─────────────────┤  │              ▼
 *    └── stopped, lease lost, away, held up, refused ──────────────┘  └── time ── trailing ── held ──▶ driving
 * ```
 */

import type { GateRules } from "../generated/bowline/gate_rules_t.js";
import type { Refusal } from "../generated/bowline/refusal_t.js";

/** How far direct control is. */
export type DriveState = "off" | "arming" | "ready" | "driving" | "trailing";

/** Between set-points: thirty a second follow a person's hands, and some may be lost before the gate's bound ends. */
const SEND_EVERY_MS = 33;
/** How much earlier than it is due a set-point may be sent: timers are coarse, and the rate is kept on average. */
const EARLY_MS = 5;
/** Neutral input is sent for so much longer than the gate demands: the gate counts from the first one that arrives. */
export const NEUTRAL_MARGIN_MS = 150;
/** After a control is released neutral set-points are sent for so long: some may be lost. */
const TRAIL_FOR_MS = 300;
/** Older than so many times the greatest age of a command, a token means that the vehicle does not answer. */
export const MAX_TOKEN_AGES = 2;
/** A control that is moved by less than this part of its range is at rest. */
const REST = 1e-3;

/** What the session with the gate knows when a tick is due. */
export interface Surroundings {
    readonly rules: GateRules;
    readonly neutralForMs: number;
    readonly maxPauseMs: number;
    readonly maxTokenAgeMs: number;
    readonly tokenAgeMs: number | undefined;
    readonly isStopped: boolean;
    /** Why no person can be at the controls; empty if one can. */
    readonly away: string;
}

/** The state of direct control. */
export class Direct {
    private current: DriveState = "off";
    private restSinceMs: number | undefined;
    private trailSinceMs = 0;
    private dueMs: number | undefined;
    private tickedMs: number | undefined;
    private afterSequence = 0n;
    /** Why it is off or waits, for people; empty where there is no reason to show. */
    reason = "";

    get state(): DriveState {
        return this.current;
    }

    /** Begins, unless there is a reason not to. */
    engage(whyNot: string, afterSequence: bigint): void {
        this.enter(whyNot === "" ? "arming" : "off", whyNot);
        this.restSinceMs = undefined;
        this.afterSequence = afterSequence;
    }

    disengage(reason: string): void {
        if (this.current !== "off") {
            this.enter("off", reason);
        }
    }

    refuse(refusal: Refusal, passes: boolean): void {
        if (passes || this.current === "off" || refusal.by.sequence <= this.afterSequence) {
            return;
        }
        if (refusal.reason !== "neutral") {
            this.enter("off", `refused: ${refusal.text}`);
        } else if (this.current !== "arming") {
            this.enter("arming", "let go of the controls first");
            this.restSinceMs = undefined;
        }
    }

    /** The set-point that is to be sent now, a value for each axis; undefined if none is due. */
    tick(
        setpoint: readonly number[] | undefined,
        around: Surroundings | undefined,
        nowMs: number,
    ): number[] | undefined {
        const pauseMs = this.tickedMs === undefined ? 0 : nowMs - this.tickedMs;
        this.tickedMs = nowMs;
        if (around === undefined) {
            return undefined;
        }
        if (pauseMs > around.maxPauseMs) {
            this.disengage("commands were held up");
        }
        this.check(around);
        if (this.current === "off") {
            return undefined;
        }
        const values = setpoint && within(setpoint, around.rules);
        this.step(values !== undefined, isAtRest(values, around.rules), around.neutralForMs, nowMs);
        if (this.current === "ready" || !this.isDue(nowMs)) {
            return undefined;
        }
        return this.current === "driving" && values !== undefined ? values : around.rules.axes.map(() => 0);
    }

    private check({ away, isStopped, tokenAgeMs, maxTokenAgeMs }: Surroundings): void {
        if (away !== "") {
            this.disengage(away);
        } else if (isStopped) {
            this.disengage("the vehicle is stopped");
        } else if (tokenAgeMs === undefined || tokenAgeMs > maxTokenAgeMs) {
            this.disengage("the vehicle does not answer");
        }
    }

    private step(isHeld: boolean, isRest: boolean, neutralForMs: number, nowMs: number): void {
        const { current } = this;
        if (current === "arming" && isRest) {
            this.restSinceMs ??= nowMs;
            this.reason = "";
            if (nowMs - this.restSinceMs >= neutralForMs) {
                this.enter("ready", "");
            }
        } else if (current === "arming") {
            this.restSinceMs = undefined;
            this.enter("arming", "let go of the controls first");
        } else if (current === "driving") {
            if (!isHeld) {
                this.trailSinceMs = nowMs;
                this.enter("trailing", "");
            }
        } else if (!isRest) {
            this.enter("driving", "");
        } else if (current === "trailing" && nowMs - this.trailSinceMs >= TRAIL_FOR_MS) {
            this.enter("ready", "");
        }
    }

    /** Whether a set-point is due, and when the next one will be. What was missed is not made up for. */
    private isDue(nowMs: number): boolean {
        const dueMs = this.dueMs ?? nowMs;
        if (nowMs < dueMs - EARLY_MS) {
            return false;
        }
        this.dueMs = (nowMs - dueMs < SEND_EVERY_MS ? dueMs : nowMs) + SEND_EVERY_MS;
        return true;
    }

    private enter(state: DriveState, reason: string): void {
        this.current = state;
        this.reason = reason;
    }
}

/** The set-point within the limits of the rules; what is no number is neutral. */
function within(setpoint: readonly number[], rules: GateRules): number[] {
    return rules.axes.map(({ min, max }, at) => {
        const value = setpoint[at] ?? 0;
        return Math.min(max, Math.max(min, Number.isFinite(value) ? value : 0));
    });
}

function isAtRest(values: readonly number[] | undefined, rules: GateRules): boolean {
    const isMoved = ({ min, max }: { min: number; max: number }, at: number): boolean =>
        Math.abs(values?.[at] ?? 0) >= REST * Math.max(Math.abs(max), Math.abs(min));
    return values === undefined || !rules.axes.some(isMoved);
}
