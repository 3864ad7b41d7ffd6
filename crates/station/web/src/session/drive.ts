/**
 * Direct control: level 0, thrust or wheels by hand.
 *
 * Commands go out 30 times a second, and only while a person holds a control, the page is in front and tokens come in. A
 * stick that is already pushed when somebody engages moves nothing: first it must have been seen at rest. What is let go
 * goes to zero and is said so for a moment; then the page is silent, and the gate's bound does the rest.
 *
 * ```text
 *   off ── engage ──▶ arming ── at rest for a while ──▶ ready ── held ──▶ driving
 *    ▲                  ▲                                 ▲               │ let go
 *    │                  └── gate: wants neutral ──────────┤               ▼
 *    └── away, held up, lease lost, stopped ───────────── └─── silent ── trailing
 * ```
 */

import { Thrust } from "../generated/bowline/thrust_t.js";
import { ThrustCommand } from "../generated/bowline/thrust_command_t.js";
import { Velocity } from "../generated/bowline/velocity_t.js";
import { VelocityCommand } from "../generated/bowline/velocity_command_t.js";
import type { Command, Now, OperatorSession } from "./operator.js";

/** What a person's hands say: how much ahead, and how much to the left, each -1 to 1. */
export interface Hands {
    readonly ahead: number;
    readonly left: number;
}

/** How a kind of vehicle is driven. */
export type Drive =
    | { readonly kind: "thrust" }
    | { readonly kind: "velocity"; readonly maxSpeedMps: number; readonly maxSteeringRad: number };

/** How far direct control is. */
export type DriveState = "off" | "arming" | "ready" | "driving" | "trailing";

const SEND_EVERY_MS = 1_000 / 30;
/** How much earlier than it is due a command may go out: timers are coarse, and the rate is kept on average. */
const EARLY_MS = 5;
/** The gate asks for 300 ms; some more, because the way there takes time. */
const NEUTRAL_FOR_MS = 450;
const TRAIL_FOR_MS = 300;
/** Without a token for so long commands would be refused, and a person would steer blind. */
const MAX_TOKEN_AGE_MS = 500;
/** A page that was held up for so long may go on with keys that were let go meanwhile; the gate has given up by then too. */
const MAX_PAUSE_MS = 300;
const REST = 0.02;

const AT_REST: Hands = { ahead: 0, left: 0 };

/** Direct control of one vehicle. */
export class DirectControl {
    private current: DriveState = "off";
    private restSinceMs: number | undefined;
    private trailSinceMs = 0;
    private dueMs = Number.NEGATIVE_INFINITY;
    private tickedMs = Number.NEGATIVE_INFINITY;
    /** The share of full power that full deflection gives, more than 0 to 1. */
    limit = 0.5;
    /** Why it is off, for people. */
    reason = "";

    constructor(
        private readonly session: OperatorSession,
        public drive: Drive,
    ) {}

    get state(): DriveState {
        return this.current;
    }

    /** Somebody wants to drive by hand. */
    engage(): void {
        if (this.session.isHolder()) {
            this.become("arming", "");
            this.restSinceMs = undefined;
        } else {
            this.become("off", "take control first");
        }
    }

    /** Somebody has had enough, or must not go on. */
    disengage(reason: string): void {
        if (this.current !== "off") {
            this.become("off", reason);
        }
    }

    /** The gate wants to see neutral input before it takes any. */
    heardNeutralWanted(): void {
        if (this.current === "ready" || this.current === "driving" || this.current === "trailing") {
            this.become("arming", "let go of the controls first");
            this.restSinceMs = undefined;
        }
    }

    /**
     * What to send by now. `hands` is undefined while nobody holds a control; `away` says why nobody can be at the controls:
     * the page is out of sight, has lost the focus, or shows nothing new. Empty if somebody can.
     */
    tick(hands: Hands | undefined, isStopped: boolean, away: string, now: Now): Command[] {
        const pauseMs = now.ms - this.tickedMs;
        this.tickedMs = now.ms;
        if (pauseMs > MAX_PAUSE_MS) {
            this.disengage("the page was held up");
        }
        this.check(away, isStopped, now);
        if (this.current === "off") {
            return [];
        }
        this.step(hands, now.ms);
        const isSilent = this.current === "ready";
        if (isSilent || now.ms < this.dueMs - EARLY_MS) {
            return [];
        }
        // What was missed is not sent late: the next one is due from now on.
        this.dueMs = Math.max(this.dueMs, now.ms - SEND_EVERY_MS) + SEND_EVERY_MS;
        return [this.command(this.current === "driving" ? (hands ?? AT_REST) : AT_REST, now)];
    }

    private check(away: string, isStopped: boolean, now: Now): void {
        if (away !== "") {
            this.disengage(away);
        } else if (isStopped) {
            this.disengage("the vehicle is stopped");
        } else if (!this.session.isHolder()) {
            this.disengage("control is no longer yours");
        } else if (this.session.tokenAgeMs(now.ms) > MAX_TOKEN_AGE_MS) {
            this.disengage("the vehicle is not heard");
        }
    }

    private step(hands: Hands | undefined, nowMs: number): void {
        const isAtRest = hands === undefined || (Math.abs(hands.ahead) < REST && Math.abs(hands.left) < REST);
        switch (this.current) {
            case "arming":
                this.restSinceMs = isAtRest ? (this.restSinceMs ?? nowMs) : undefined;
                this.reason = isAtRest ? "" : "let go of the controls first";
                if (this.restSinceMs !== undefined && nowMs - this.restSinceMs >= NEUTRAL_FOR_MS) {
                    this.become("ready", "");
                }
                break;
            case "driving":
                if (isAtRest && hands === undefined) {
                    this.trailSinceMs = nowMs;
                    this.become("trailing", "");
                }
                break;
            case "trailing":
                if (nowMs - this.trailSinceMs >= TRAIL_FOR_MS) {
                    this.become("ready", "");
                }
                break;
        }
        if (!isAtRest && (this.current === "ready" || this.current === "trailing")) {
            this.become("driving", "");
        }
    }

    private become(state: DriveState, reason: string): void {
        this.current = state;
        this.reason = reason;
    }

    private command(hands: Hands, now: Now): Command {
        const utime = BigInt(now.utime);
        const by = this.session.authority();
        const { drive, limit } = this;
        if (drive.kind === "thrust") {
            const thrust = thrustOf(hands, limit);
            const bytes = new ThrustCommand({ utime, by, thrust: new Thrust({ utime, ...thrust }) }).encode();
            return { channel: "operator.thrust", bytes, text: "", isRepeated: true };
        }
        const velocity = new Velocity({
            utime,
            speed_mps: clamp(hands.ahead) * limit * drive.maxSpeedMps,
            steering_rad: clamp(hands.left) * drive.maxSteeringRad,
        });
        const bytes = new VelocityCommand({ utime, by, velocity }).encode();
        return { channel: "operator.velocity", bytes, text: "", isRepeated: true };
    }
}

/** Two thrusters from two axes: where both cannot be had, the turn is kept and speed gives way. */
export function thrustOf(hands: Hands, limit: number): { port_ratio: number; starboard_ratio: number } {
    const left = clamp(hands.left);
    const room = 1 - Math.abs(left) / 2;
    const ahead = Math.max(-room, Math.min(room, clamp(hands.ahead)));
    return { port_ratio: clamp(ahead - left / 2) * limit, starboard_ratio: clamp(ahead + left / 2) * limit };
}

function clamp(value: number): number {
    return Number.isFinite(value) ? Math.max(-1, Math.min(1, value)) : 0;
}
