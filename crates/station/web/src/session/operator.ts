/**
 * The operator's side of one vehicle's gate: the lease, the stop, a clearing, a task, and direct control.
 *
 * It lives in the page and not in the station, so that a page that is frozen, closed or cut off stops commanding by
 * itself. docs/control.md specifies it, with the reason for each figure; `crates/operator` is the same machine in Rust, and
 * the vectors there hold both to the specification. In: what the gate publishes, what a person asks for, and the time. Out:
 * commands to publish. It reads no clock, and touches no socket; nothing is ever taken up again by itself.
 */

import { DirectCommand } from "../generated/bowline/direct_command_t.js";
import type { Gate } from "../generated/bowline/gate_t.js";
import type { GateRules } from "../generated/bowline/gate_rules_t.js";
import type { GateToken } from "../generated/bowline/gate_token_t.js";
import { LeaseRequest } from "../generated/bowline/lease_request_t.js";
import type { Refusal } from "../generated/bowline/refusal_t.js";
import { StopCommand } from "../generated/bowline/stop_command_t.js";
import { Task } from "../generated/bowline/task_t.js";
import { TaskCommand } from "../generated/bowline/task_command_t.js";
import { AuthorityMaker, type Identity } from "./authority.js";
import { commandNamed, type CommandRow, rowOf } from "./commands.js";
import { Direct, MAX_TOKEN_AGES, NEUTRAL_MARGIN_MS, type Surroundings } from "./direct.js";
import { type Progress, Slot } from "./request.js";

/** The two clocks of a page: its own for intervals, the station's for what people read later. */
export interface Now {
    readonly ms: number;
    readonly utime: number;
}

/** The message of a command. */
export type Message = LeaseRequest | StopCommand | TaskCommand | DirectCommand;

/** A command to publish, with its row in the table. */
export interface Outgoing {
    readonly command: CommandRow;
    readonly message: Message;
    /** Whether it repeats one that a person asked for before; a log need not have each. */
    readonly isRepeated: boolean;
}

/** How the page stands with the lease. */
export type LeaseState = "unknown" | "free" | "taking" | "asking" | "held" | "other";

/** A request for the lease, by its name in the table of commands. */
export type LeaseName = "take" | "preempt" | "release" | "consent" | "deny";

/**
 * How a stop stands.
 *
 * ```text
 *   none ── press ──▶ unsent ◀──▶ sent ── gate since then: stopped by us ──▶ confirmed ── gate: cleared ──▶ none
 *     ▲                 └── dismissed ──┘                                                                   ▲
 *     └────────────────────────┴────────────────────────────────────────────────────────────────────────────┘
 * ```
 */
export type StopState = "none" | "unsent" | "sent" | "confirmed";

/** An unconfirmed request is repeated after this: more than the round trip of a thin link, so that repetitions do not fill it. */
const AGAIN_MS = 500;
/** After this an unconfirmed request is given up: a person no longer expects it to take effect. */
const REQUEST_FOR_MS = 4_000;
/** A stop is repeated this often at first: many losses in a row then cost less than half a second. */
const STOP_EVERY_MS = 100;
const STOP_OFTEN_FOR_MS = 5_000;
/** And then this often, for as long as no gate confirms it and no person gives it up. */
const STOP_LATER_EVERY_MS = 1_000;
/** A gate that received a stop confirms it within a round trip: after this a person must know that it did not. */
const STOP_CONFIRMED_WITHIN_MS = 2_000;
/** A lease is renewed so many times during its length: two renewals in a row may be lost, and the third has a quarter left. */
const RENEWALS = 4;
/** Heading and speed are repeated so many times during the time that a gate keeps them. */
const REPETITIONS = 3;
/** Reasons for a refusal that pass: repeated with a newer token and number, the same command is accepted. */
const PASSING: ReadonlySet<string> = new Set(["stale", "unknown", "unseen", "overtaken", "repeated", "crowded"]);

/** The operator's side of one gate. */
export class OperatorSession {
    private readonly maker: AuthorityMaker;
    private rulesKnown: GateRules | undefined;
    private gate: Gate | undefined;
    private tokenMs: number | undefined;
    private readonly leaseSlot = new Slot<LeaseName>();
    /** Whether the lease is to be kept, and whether it was held: one that is lost is not taken again. */
    private keepsLease = false;
    private wasHolder = false;
    private renewedMs: number | undefined;
    private stopping: { readonly since: Now; readonly reason: string; triedMs: number; isSent: boolean } | undefined;
    private isStopConfirmed = false;
    /** The stop that is to be cleared; undefined where the state has no stop. */
    private readonly clearing = new Slot<string | undefined>();
    private readonly task = new Slot<Task>();
    readonly direct = new Direct();
    /** The last refusal of a command of this session. */
    refusal: Refusal | undefined;
    private refusedMs = Number.NEGATIVE_INFINITY;

    constructor(readonly identity: Identity) {
        this.maker = new AuthorityMaker(identity);
    }

    /** What the gate demands, once that was received. */
    get rules(): GateRules | undefined {
        return this.rulesKnown;
    }

    /** Whether commands of this session count. */
    isHolder(): boolean {
        return this.maker.isHolder();
    }

    get lease(): LeaseState {
        if (this.gate === undefined || this.rulesKnown === undefined) {
            return "unknown";
        }
        if (this.isHolder()) {
            return "held";
        }
        const { what } = this.leaseSlot;
        if (what === "take" || what === "preempt") {
            return this.isAsking() ? "asking" : "taking";
        }
        return this.maker.isHeldByAnother() ? "other" : "free";
    }

    get leaseProgress(): Progress {
        return this.leaseSlot.progress;
    }

    get clearProgress(): Progress {
        return this.clearing.progress;
    }

    get taskProgress(): Progress {
        return this.task.progress;
    }

    get stop(): StopState {
        const { stopping } = this;
        if (stopping !== undefined) {
            return stopping.isSent ? "sent" : "unsent";
        }
        return this.isStopConfirmed ? "confirmed" : "none";
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

    /** Whether another station asks for the lease that this one holds. */
    get isAskedFor(): boolean {
        return this.isHolder() && (this.gate?.asking ?? "") !== "";
    }

    /** Whether this session's rank lets it take the lease without asking. */
    get mayPreempt(): boolean {
        return this.lease === "other" && this.identity.rank > (this.gate?.rank ?? 0);
    }

    receiveToken(token: GateToken, now: Now): void {
        if (this.maker.receiveToken(token)) {
            this.tokenMs = now.ms;
            this.settleHolder();
        }
    }

    receiveRules(rules: GateRules): void {
        this.rulesKnown = rules;
    }

    /** `receivedUtime` is when it came to the station: what came before a request does not answer it. */
    receiveState(gate: Gate, receivedUtime: number): void {
        if (!this.maker.receiveState(gate)) {
            return;
        }
        this.gate = gate;
        const isOurs = gate.is_stopped && gate.stopped_by === this.identity.station;
        if (isOurs && this.stopping?.isSent && receivedUtime > this.stopping.since.utime) {
            this.stopping = undefined;
            this.isStopConfirmed = true;
        }
        this.isStopConfirmed &&= gate.is_stopped;
        this.settleClearing(gate, receivedUtime);
        if (this.leaseSlot.what === "deny" && this.leaseSlot.isSince(receivedUtime) && gate.asking === "") {
            this.leaseSlot.end("done");
        }
        this.settleHolder();
    }

    /** What the gate passed on to the helm. */
    receiveTask(task: Task): void {
        if (this.task.what?.id !== task.id) {
            return;
        }
        if (task.kind === Task.SETPOINT) {
            // It is kept, and so it is repeated.
            this.task.confirm();
        } else {
            this.task.end("done");
        }
    }

    /** True if it is about a command of this session. */
    receiveRefusal(refusal: Refusal, now: Now): boolean {
        if (!this.maker.isMine(refusal)) {
            return false;
        }
        this.refusal = refusal;
        this.refusedMs = now.ms;
        const command = commandNamed(refusal.command);
        const passes = PASSING.has(refusal.reason);
        if (command?.name === "clear") {
            this.clearing.refuse(refusal.by, passes);
        } else if (command?.effect === "task") {
            this.task.refuse(refusal.by, passes);
        } else if (command?.effect === "direct") {
            this.direct.refuse(refusal, passes);
        } else if (command?.effect === "authority" && this.leaseSlot.what === command.name) {
            this.leaseSlot.refuse(refusal.by, passes || refusal.reason === "asked");
            this.keepsLease &&= this.leaseSlot.progress !== "refused" || this.isHolder();
        }
        return true;
    }

    /** Requests something about the lease. */
    request(name: LeaseName, now: Now): Outgoing[] {
        const isHolder = this.isHolder();
        this.refusal = undefined;
        const isForHolder = name !== "take" && name !== "preempt";
        this.keepsLease = !isForHolder || (this.keepsLease && name !== "release");
        if (name === "release" || name === "consent") {
            this.direct.disengage("control was given up");
        }
        if (name === "release" ? !isHolder : !isForHolder && isHolder) {
            this.leaseSlot.settle("done");
            return [];
        }
        if (isForHolder && !isHolder) {
            this.leaseSlot.settle("lost");
            return [];
        }
        this.leaseSlot.begin(name, now, this.maker.sequence);
        return this.sendLease(now);
    }

    /** Stops the vehicle. It is repeated until the gate confirms it or a person gives it up. */
    pressStop(reason: string, now: Now): Outgoing[] {
        this.direct.disengage("the vehicle is stopped");
        this.clearing.end("replaced");
        this.task.end("replaced");
        this.isStopConfirmed = false;
        this.stopping = { since: now, reason, triedMs: now.ms, isSent: false };
        return [this.stopCommand(reason, now, false)];
    }

    /** Whether the last stop could be published. */
    stopPublished(isSent: boolean): void {
        if (this.stopping !== undefined) {
            this.stopping.isSent = isSent;
        }
    }

    /** Gives up a stop that no gate confirms. */
    dismissStop(): void {
        this.stopping = undefined;
    }

    /** Goes on with the stop of a session that ends: a log-in under another name does not give it up. */
    inheritStop(before: OperatorSession): void {
        this.stopping = before.stopping;
    }

    /** Ends the stop that the newest state shows. Nothing moves because of it. */
    clear(now: Now): Outgoing[] {
        this.dismissStop();
        if (!this.isHolder()) {
            this.clearing.settle("lost");
            return [];
        }
        this.refusal = undefined;
        this.clearing.begin(undefined, now, this.maker.sequence);
        return this.sendClear(now);
    }

    /** Gives the vehicle a task. Its `id` must not be 0. */
    give(task: Task, now: Now): Outgoing[] {
        this.direct.disengage("a task was given");
        if (!this.isHolder()) {
            this.task.settle("lost");
            return [];
        }
        this.refusal = undefined;
        this.task.begin(task, now, this.maker.sequence);
        return this.sendTask(now);
    }

    /** Repeats the task no more: heading and speed end by themselves then. */
    dropTask(): void {
        this.task.end("replaced");
    }

    /** Begins direct control: neutral input first. */
    engage(): void {
        this.task.end("replaced");
        this.direct.engage(this.whyNoDirect(), this.maker.sequence);
    }

    disengage(reason: string): void {
        this.direct.disengage(reason);
    }

    /**
     * What is due by now. `setpoint` has a value for each axis of the rules while a control is held; `away` is why no person
     * can be at the controls: the page is out of sight, has lost the focus, or shows nothing new. Empty if one can.
     */
    tick(setpoint: readonly number[] | undefined, away: string, now: Now): Outgoing[] {
        this.settleHolder();
        this.expire(now);
        return [
            ...this.sendStop(now),
            ...this.sendLease(now),
            ...this.renewal(now),
            ...this.sendClear(now),
            ...this.sendTask(now),
            ...this.sendDirect(setpoint, away, now),
        ];
    }

    private isAsking(): boolean {
        return this.gate?.asking === this.identity.station;
    }

    /** What follows from who holds the lease now. */
    private settleHolder(): void {
        const isHolder = this.isHolder();
        const { what } = this.leaseSlot;
        if (isHolder ? what === "take" || what === "preempt" : what === "release" || what === "consent") {
            this.leaseSlot.end("done");
        } else if (what === "deny" && !isHolder) {
            this.leaseSlot.end("lost");
        }
        if (this.wasHolder && !isHolder) {
            this.keepsLease &&= this.leaseSlot.isWaiting;
            this.clearing.end("lost");
            this.task.end("lost");
            this.direct.disengage("control is no longer yours");
        }
        this.wasHolder = isHolder;
    }

    private settleClearing(gate: Gate, receivedUtime: number): void {
        if (!this.clearing.isSince(receivedUtime) || !this.clearing.isSent) {
            return;
        }
        if (!gate.is_stopped) {
            this.clearing.end("done");
        } else if (this.clearing.what !== stopOf(gate)) {
            // Another stop has come: a person has to see it before it is cleared.
            this.clearing.end("replaced");
        }
    }

    /** Requests that waited for too long. */
    private expire(now: Now): void {
        const releaseForMs = this.rulesKnown ? msOf(this.rulesKnown.lease_us) + AGAIN_MS : REQUEST_FOR_MS;
        const forMs = this.leaseSlot.what === "release" ? releaseForMs : REQUEST_FOR_MS;
        if (!this.isAsking() && this.leaseSlot.expire(now, forMs)) {
            this.keepsLease &&= this.isHolder();
        }
        this.clearing.expire(now, REQUEST_FOR_MS);
        this.task.expire(now, REQUEST_FOR_MS);
    }

    private sendLease(now: Now): Outgoing[] {
        const { what } = this.leaseSlot;
        if (what === undefined || !this.leaseSlot.isDue(now, AGAIN_MS)) {
            return [];
        }
        const isForHolder = what !== "take" && what !== "preempt";
        const knowsGate = this.rulesKnown !== undefined && this.maker.hasToken;
        if (!isForHolder && (!knowsGate || this.isAsking())) {
            return [];
        }
        return [this.leaseRequest(what, now, this.leaseSlot.sent(now))];
    }

    /** Renewals go out beside all other commands: those may be lost or refused before they renew anything. */
    private renewal(now: Now): Outgoing[] {
        const { rulesKnown, renewedMs } = this;
        if (rulesKnown === undefined || !this.isHolder() || !this.keepsLease) {
            return [];
        }
        if (renewedMs !== undefined && now.ms - renewedMs < Math.floor(msOf(rulesKnown.lease_us) / RENEWALS)) {
            return [];
        }
        this.renewedMs = now.ms;
        return [this.leaseRequest("renew", now, true)];
    }

    private leaseRequest(name: LeaseName | "renew", now: Now, isRepeated: boolean): Outgoing {
        const command = rowOf(name);
        const { rank } = this.identity;
        const ask = command.ask ?? 0;
        const message = new LeaseRequest({ utime: BigInt(now.utime), by: this.maker.next(now.utime), ask, rank });
        return { command, message, isRepeated };
    }

    private sendStop(now: Now): Outgoing[] {
        const { stopping } = this;
        if (stopping === undefined) {
            return [];
        }
        const isNew = now.ms - stopping.since.ms <= STOP_OFTEN_FOR_MS;
        if (now.ms - stopping.triedMs < (isNew ? STOP_EVERY_MS : STOP_LATER_EVERY_MS)) {
            return [];
        }
        stopping.triedMs = now.ms;
        return [this.stopCommand(stopping.reason, now, true)];
    }

    private stopCommand(reason: string, now: Now, isRepeated: boolean): Outgoing {
        const by = this.maker.next(now.utime);
        const message = new StopCommand({ utime: BigInt(now.utime), by, ask: StopCommand.STOP, reason });
        return { command: rowOf("stop"), message, isRepeated };
    }

    private sendClear(now: Now): Outgoing[] {
        if (!this.clearing.isDue(now, AGAIN_MS)) {
            return [];
        }
        const by = this.maker.nextSeen(now.utime);
        if (by === undefined) {
            return [];
        }
        if (!this.clearing.isSent) {
            this.clearing.set(this.gate?.is_stopped ? stopOf(this.gate) : undefined);
        }
        const isRepeated = this.clearing.sent(now);
        const message = new StopCommand({ utime: BigInt(now.utime), by, ask: StopCommand.CLEAR, reason: "" });
        return [{ command: rowOf("clear"), message, isRepeated }];
    }

    private sendTask(now: Now): Outgoing[] {
        const { what, progress } = this.task;
        const { rulesKnown } = this;
        const isKept = progress === "done" && rulesKnown !== undefined;
        const everyMs = isKept ? Math.floor(msOf(rulesKnown.setpoint_us) / REPETITIONS) : AGAIN_MS;
        if (what === undefined || !this.task.isDue(now, everyMs)) {
            return [];
        }
        const isRepeated = this.task.sent(now);
        const message = new TaskCommand({ utime: BigInt(now.utime), by: this.maker.next(now.utime), task: what });
        return [{ command: rowOf("task"), message, isRepeated }];
    }

    /** Why direct control cannot begin; empty if it can. */
    private whyNoDirect(): string {
        if (this.rulesKnown === undefined) {
            return "the vehicle's rules were not received";
        }
        if (this.rulesKnown.axes.length === 0) {
            return "the vehicle cannot be driven directly";
        }
        return this.isHolder() ? "" : "take control first";
    }

    private sendDirect(setpoint: readonly number[] | undefined, away: string, now: Now): Outgoing[] {
        const { rulesKnown } = this;
        const values = this.direct.tick(setpoint, rulesKnown && this.around(rulesKnown, away, now), now.ms);
        if (rulesKnown === undefined || values === undefined) {
            return [];
        }
        const message = new DirectCommand({
            utime: BigInt(now.utime),
            by: this.maker.next(now.utime),
            actuation: rulesKnown.actuation,
            values: Float64Array.from(values),
        }).withLengths();
        return [{ command: rowOf("direct"), message, isRepeated: true }];
    }

    private around(rules: GateRules, away: string, now: Now): Surroundings {
        const maxAgeMs = msOf(rules.direct_max_age_us);
        return {
            rules,
            away,
            neutralForMs: msOf(rules.neutral_us) + NEUTRAL_MARGIN_MS,
            maxPauseMs: maxAgeMs,
            maxTokenAgeMs: maxAgeMs * MAX_TOKEN_AGES,
            tokenAgeMs: this.tokenMs === undefined ? undefined : now.ms - this.tokenMs,
            isStopped: this.gate?.is_stopped ?? true,
        };
    }
}

/** The key of a stop of a gate: two may be latched in the same microsecond. */
function stopOf(gate: Gate): string {
    return `${gate.since_utime} ${gate.stopped_by}`;
}

/** Whole milliseconds. */
function msOf(us: bigint): number {
    return Number(us / 1_000n);
}
