/**
 * A person's session with one vehicle's gate: the lease, tasks, stop and clear.
 *
 * It lives in the page and not in the station, so that a page that is frozen, closed or cut off stops commanding by
 * itself. In: what the gate says, what the person wants, and the time. Out: commands to publish. It reads no clock, and
 * touches no socket; nothing is ever taken up again by itself.
 *
 * ```text
 *   free ── take ──▶ taking ── gate: holder is us ──▶ held ── renew … ──▶ held
 *                      │ gate: we are asking             │ gate: another session, or none
 *                      ▼                                 ▼
 *                    asking ── refusal or time ──────▶ free
 * ```
 */

import { Authority } from "../generated/bowline/authority_t.js";
import type { Gate } from "../generated/bowline/gate_t.js";
import type { GateToken } from "../generated/bowline/gate_token_t.js";
import { LeaseRequest } from "../generated/bowline/lease_request_t.js";
import type { Refusal } from "../generated/bowline/refusal_t.js";
import { StopCommand } from "../generated/bowline/stop_command_t.js";
import type { Task } from "../generated/bowline/task_t.js";
import { TaskCommand } from "../generated/bowline/task_command_t.js";

/** Something to publish, on a channel without the vehicle's prefix. */
export interface Command {
    readonly channel: string;
    readonly bytes: Uint8Array;
    /** What it is, for the running log. */
    readonly text: string;
    /** Whether it is one of many of its sort, which no log wants to have each. */
    readonly isRepeated: boolean;
    /** Whether it is a stop, which goes out whatever else waits. */
    readonly isStop?: boolean;
}

/** Who is asking to be let through. */
export interface Identity {
    readonly station: string;
    readonly session: bigint;
    readonly rank: number;
}

/** The two clocks of a page: its own for intervals, the station's for what people read later. */
export interface Now {
    readonly ms: number;
    readonly utime: number;
}

/** How the person stands with the gate. */
export type LeaseState = "unknown" | "free" | "taking" | "asking" | "held" | "other";

/**
 * How far a stop is.
 *
 * ```text
 *   none ── press ──▶ unsent ◀──▶ sent ── gate heard since: stopped ──▶ confirmed ── gate: cleared ──▶ none
 *     ▲                 └── dismissed ──┘                                                               ▲
 *     └────────────────────────┴────────────────────────────────────────────────────────────────────────┘
 * ```
 */
export type StopState = "none" | "unsent" | "sent" | "confirmed";

const TAKE_EVERY_MS = 500;
const TAKE_FOR_MS = 4_000;
/** A third of the gate's shortest lease that is sensible, so that two may be lost. */
const RENEW_EVERY_MS = 250;
/** A stop is said again often at first, and then for as long as nobody confirms or dismisses it. */
const STOP_EVERY_MS = 100;
const STOP_OFTEN_FOR_MS = 5_000;
const STOP_LATER_EVERY_MS = 1_000;
/** A gate that heard a stop says so at once: after this a person has to know that it did not. */
const STOP_CONFIRMED_WITHIN_MS = 2_000;

/** A new session's number: any positive one, which nobody else has drawn. */
export function drawSession(): bigint {
    const [number = 0n] = crypto.getRandomValues(new BigInt64Array(1));
    const positive = number & 0x7fff_ffff_ffff_ffffn;
    return positive === 0n ? 1n : positive;
}

/** The session with one gate. */
export class OperatorSession {
    private sequence = 0n;
    private token = 0n;
    private tokenHeardMs = Number.NEGATIVE_INFINITY;
    private gate: Gate | undefined;
    private taking: { readonly sinceMs: number; readonly ask: number; sentMs: number } | undefined;
    private renewedMs = Number.NEGATIVE_INFINITY;
    private stopping: { readonly since: Now; readonly reason: string; triedMs: number; isSent: boolean } | undefined;
    private isStopConfirmed = false;
    /** The last refusal of something that this session asked. */
    refusal: Refusal | undefined;
    private refusedMs = Number.NEGATIVE_INFINITY;

    constructor(readonly identity: Identity) {}

    /** A token of the gate: proof of how fresh the next command is. */
    heardToken(token: GateToken, nowMs: number): void {
        this.token = token.token;
        this.tokenHeardMs = nowMs;
    }

    /** What the gate says of itself. `utime` is when that came to the station: what came before a stop does not confirm it. */
    heardGate(gate: Gate, utime: number): void {
        this.gate = gate;
        if (this.isHolder()) {
            this.taking = undefined;
        }
        const { stopping } = this;
        if (gate.is_stopped && stopping?.isSent && utime > stopping.since.utime) {
            this.stopping = undefined;
            this.isStopConfirmed = true;
        }
        if (!gate.is_stopped) {
            this.isStopConfirmed = false;
        }
    }

    /** The gate did not take something; true if that was this session's. */
    heardRefusal(refusal: Refusal, nowMs: number): boolean {
        if (refusal.by.session !== this.identity.session) {
            return false;
        }
        this.refusal = refusal;
        this.refusedMs = nowMs;
        if (["take", "preempt"].includes(refusal.command) && refusal.reason !== "asked") {
            this.taking = undefined;
        }
        return true;
    }

    /** Whether commands of this session count. */
    isHolder(): boolean {
        return this.gate !== undefined && this.gate.session === this.identity.session && this.gate.epoch !== 0n;
    }

    /** How long ago a token was heard, milliseconds. */
    tokenAgeMs(nowMs: number): number {
        return nowMs - this.tokenHeardMs;
    }

    get lease(): LeaseState {
        if (this.gate === undefined) {
            return "unknown";
        }
        if (this.isHolder()) {
            return "held";
        }
        if (this.gate.asking !== "" && this.gate.asking === this.identity.station) {
            return "asking";
        }
        if (this.taking !== undefined) {
            return "taking";
        }
        return this.gate.holder === "" ? "free" : "other";
    }

    get stop(): StopState {
        const { stopping } = this;
        return stopping !== undefined
            ? stopping.isSent
                ? "sent"
                : "unsent"
            : this.isStopConfirmed
              ? "confirmed"
              : "none";
    }

    /** For how long a stop has waited to be confirmed, milliseconds; undefined if none does. */
    stopWaitsMs(nowMs: number): number | undefined {
        return this.stopping && nowMs - this.stopping.since.ms;
    }

    /** Whether a person has to know that a stop was not confirmed. */
    isStopUnconfirmed(nowMs: number): boolean {
        return (this.stopWaitsMs(nowMs) ?? 0) > STOP_CONFIRMED_WITHIN_MS;
    }

    /** How long ago something was refused, milliseconds. */
    refusalAgeMs(nowMs: number): number {
        return nowMs - this.refusedMs;
    }

    /** Whether the holder is us and somebody wants the lease. */
    get isAskedFor(): boolean {
        return this.isHolder() && (this.gate?.asking ?? "") !== "";
    }

    /** Whether this session's rank lets it take the lease without asking. */
    get mayPreempt(): boolean {
        return this.lease === "other" && this.identity.rank > (this.gate?.rank ?? 0);
    }

    /** Wants the lease. */
    take(now: Now): Command[] {
        return this.want(LeaseRequest.TAKE, now);
    }

    /** Wants the lease of a holder of lower rank, whatever that one says. */
    preempt(now: Now): Command[] {
        return this.want(LeaseRequest.PREEMPT, now);
    }

    /** Gives the lease up. */
    release(now: Now): Command[] {
        this.taking = undefined;
        return [this.leaseRequest(LeaseRequest.RELEASE, now, "gives the lease up")];
    }

    /** Lets the one that asks have the lease. */
    consent(now: Now): Command[] {
        return [this.leaseRequest(LeaseRequest.CONSENT, now, `hands over to ${this.gate?.asking ?? "whoever asks"}`)];
    }

    /** Keeps the lease. */
    deny(now: Now): Command[] {
        return [
            this.leaseRequest(LeaseRequest.DENY, now, `keeps the lease from ${this.gate?.asking ?? "whoever asks"}`),
        ];
    }

    /** Stops the vehicle. It is said again until the gate confirms it, or a person gives it up. */
    pressStop(reason: string, now: Now): Command[] {
        this.stopping = { since: now, reason, triedMs: now.ms, isSent: false };
        this.isStopConfirmed = false;
        return [this.stopCommand(StopCommand.STOP, reason, now, false)];
    }

    /** Whether the stop that was to go out last went out. */
    stopWent(isSent: boolean): void {
        if (this.stopping !== undefined) {
            this.stopping.isSent = isSent;
        }
    }

    /** Goes on with the stop of a session that ends: whoever logs in under another name has not given it up. */
    inheritStop(before: OperatorSession): void {
        this.stopping = before.stopping;
    }

    /** A person gives up on a stop that nobody confirms. */
    dismissStop(): void {
        this.stopping = undefined;
    }

    /** Lets a stop be over. Nothing moves because of it. */
    clear(now: Now): Command[] {
        this.dismissStop();
        return [this.stopCommand(StopCommand.CLEAR, "cleared by a person", now, false)];
    }

    /** Gives the vehicle something to do. */
    giveTask(task: Task, text: string, now: Now): Command[] {
        const command = new TaskCommand({ utime: BigInt(now.utime), by: this.authority(), task });
        return [{ channel: "operator.task", bytes: command.encode(), text, isRepeated: false }];
    }

    /** What has to be said by now without anybody pressing anything. */
    tick(now: Now): Command[] {
        return [...this.tickTake(now), ...this.tickRenew(now), ...this.tickStop(now)];
    }

    /** By which right this session commands next. */
    authority(): Authority {
        this.sequence += 1n;
        const { station, session } = this.identity;
        const epoch = this.isHolder() ? (this.gate?.epoch ?? 0n) : 0n;
        return new Authority({ station, session, epoch, sequence: this.sequence, token: this.token });
    }

    private want(ask: number, now: Now): Command[] {
        this.refusal = undefined;
        this.taking = { sinceMs: now.ms, ask, sentMs: now.ms };
        return [
            this.leaseRequest(
                ask,
                now,
                ask === LeaseRequest.PREEMPT ? "takes the lease by rank" : "asks for the lease",
            ),
        ];
    }

    private tickTake(now: Now): Command[] {
        const { taking } = this;
        if (taking === undefined || this.lease === "asking") {
            return [];
        }
        if (now.ms - taking.sinceMs > TAKE_FOR_MS) {
            this.taking = undefined;
            return [];
        }
        if (now.ms - taking.sentMs < TAKE_EVERY_MS) {
            return [];
        }
        taking.sentMs = now.ms;
        return [this.leaseRequest(taking.ask, now, "", true)];
    }

    private tickRenew(now: Now): Command[] {
        if (!this.isHolder() || now.ms - this.renewedMs < RENEW_EVERY_MS) {
            return [];
        }
        this.renewedMs = now.ms;
        return [this.leaseRequest(LeaseRequest.RENEW, now, "", true)];
    }

    private tickStop(now: Now): Command[] {
        const { stopping } = this;
        if (stopping === undefined) {
            return [];
        }
        const isNew = now.ms - stopping.since.ms <= STOP_OFTEN_FOR_MS;
        if (now.ms - stopping.triedMs < (isNew ? STOP_EVERY_MS : STOP_LATER_EVERY_MS)) {
            return [];
        }
        stopping.triedMs = now.ms;
        return [this.stopCommand(StopCommand.STOP, stopping.reason, now, true)];
    }

    private leaseRequest(ask: number, now: Now, text: string, isRepeated = false): Command {
        const request = new LeaseRequest({
            utime: BigInt(now.utime),
            by: this.authority(),
            ask,
            rank: this.identity.rank,
        });
        return { channel: "operator.lease", bytes: request.encode(), text, isRepeated };
    }

    private stopCommand(ask: number, reason: string, now: Now, isRepeated: boolean): Command {
        const command = new StopCommand({ utime: BigInt(now.utime), by: this.authority(), ask, reason });
        const isStop = ask === StopCommand.STOP;
        const text = isStop ? `stop: ${reason}` : "lets the stop be over";
        return { channel: "operator.stop", bytes: command.encode(), text, isRepeated, isStop };
    }
}
