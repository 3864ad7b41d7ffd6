/**
 * What a person does, on its way to the vehicles: one session and one direct control for each vehicle that has a gate.
 *
 * Panels call this and nothing else; it hands commands to the publisher, and enters them in the journal. The time is
 * passed in.
 */

import { Acknowledge } from "../generated/bowline/acknowledge_t.js";
import { Authority } from "../generated/bowline/authority_t.js";
import { Gate } from "../generated/bowline/gate_t.js";
import { GateRules } from "../generated/bowline/gate_rules_t.js";
import { GateToken } from "../generated/bowline/gate_token_t.js";
import type { ListedAlarm } from "../generated/bowline/listed_alarm_t.js";
import { Refusal } from "../generated/bowline/refusal_t.js";
import { Task } from "../generated/bowline/task_t.js";
import type { Reply, Request } from "../protocol/frames.js";
import { drawSession } from "../session/authority.js";
import { COMMANDS, mayBeSentBy, rowOf } from "../session/commands.js";
import { type Hands, setpointOf } from "../session/hands.js";
import { type LeaseName, type Now, OperatorSession, type Outgoing } from "../session/operator.js";
import { describe } from "../session/words.js";
import type { Alarm } from "../store/alarms.js";
import type { Channel } from "../store/channel.js";
import type { Store } from "../store/store.js";
import type { Vehicle } from "../store/vehicles.js";

/** Where commands go to. */
export interface Outlet {
    /** Publishes at once, or not at all: false. What is urgent goes out whatever else waits. */
    publish(channel: string, message: Uint8Array, isUrgent: boolean): boolean;
    request(request: Request): Promise<Reply>;
}

/** What a person has in hand with one vehicle. */
export interface Bridge {
    readonly session: OperatorSession;
    /** The share of the gate's limits that full deflection gives, more than 0 to 1. */
    limit: number;
    /** What the task that waits for the gate is called. */
    task: string;
}

/** The types of a gate's messages that its session receives. */
const GATE_TYPES = [Gate, GateToken, GateRules, Refusal, Task];
/** At first, half of what the gate accepts. */
const FIRST_LIMIT = 0.5;

export class Commander {
    private readonly bridges = new Map<string, Bridge>();
    /** One number for this page's life: a page that is loaded anew is another session. */
    private readonly sessionId = drawSession();

    constructor(
        private readonly store: Store,
        private readonly outlet: Outlet,
    ) {
        store.histories.ownSession = this.sessionId;
        store.listen((channel, nowMs) => this.hear(channel, nowMs));
    }

    /** Whether this person may command at all. */
    get isOperator(): boolean {
        const { hello, isReplay } = this.store;
        return hello !== undefined && !isReplay && COMMANDS.every((it) => mayBeSentBy(hello.role, it));
    }

    /** Whether this person may command now: a page without fresh data may not. */
    get mayCommand(): boolean {
        return this.isOperator && !this.store.isCutOff(performance.now());
    }

    /** Whether this person may stop: every account that is logged in may. */
    get mayStop(): boolean {
        return this.store.hello !== undefined && !this.store.isReplay;
    }

    /** The session with a vehicle. */
    bridge(vehicle: Vehicle): Bridge | undefined {
        const { hello } = this.store;
        if (hello === undefined) {
            return undefined;
        }
        const known = this.bridges.get(vehicle.prefix);
        if (known !== undefined && known.session.identity.station === hello.station) {
            return known;
        }
        const session = new OperatorSession({ station: hello.station, session: this.sessionId, rank: hello.rank });
        if (known !== undefined) {
            session.inheritStop(known.session);
        }
        const bridge = { session, limit: FIRST_LIMIT, task: "" };
        this.bridges.set(vehicle.prefix, bridge);
        return bridge;
    }

    take(vehicle: Vehicle): void {
        this.requestLease(vehicle, "take");
    }

    preempt(vehicle: Vehicle): void {
        this.requestLease(vehicle, "preempt");
    }

    release(vehicle: Vehicle): void {
        this.requestLease(vehicle, "release");
    }

    /** Gives up everything that is held: a page that is left on purpose is not a lost operator. */
    releaseAll(): void {
        const held = this.store.vehicles.filter((it) => this.bridges.get(it.prefix)?.session.isHolder() ?? false);
        held.forEach((it) => this.release(it));
    }

    consent(vehicle: Vehicle): void {
        this.requestLease(vehicle, "consent");
    }

    deny(vehicle: Vehicle): void {
        this.requestLease(vehicle, "deny");
    }

    clear(vehicle: Vehicle): void {
        this.command(vehicle, (session, now) => session.clear(now));
    }

    giveTask(vehicle: Vehicle, task: Task, text: string): void {
        const bridge = this.bridge(vehicle);
        if (bridge !== undefined) {
            bridge.task = text;
        }
        this.command(vehicle, (session, now) => session.give(task, now));
    }

    /** Stops a vehicle. The first thing that this page must be able to do. */
    stop(vehicle: Vehicle, reason: string): void {
        const bridge = this.bridge(vehicle);
        if (bridge !== undefined && this.mayStop) {
            this.send(vehicle, bridge.session.pressStop(reason, this.now()));
        }
    }

    /** Gives up on a stop that is not confirmed. */
    dismissStop(vehicle: Vehicle): void {
        this.bridge(vehicle)?.session.dismissStop();
        this.note("command", `gives up the stop of ${vehicle.name}, which was not confirmed`);
    }

    /**
     * Acknowledges an alarm under the name of this person: at the vehicle whose list it is in, which shows it then; an alarm
     * of this page at the station, for the audit log.
     */
    async acknowledge(alarm: Alarm): Promise<Reply> {
        const { key, source, text, priority, sinceUtime, listed, channel } = alarm;
        if (listed !== undefined) {
            return this.acknowledgeListed(channel, listed);
        }
        const request = { what: "acknowledge", alarm: key, since_utime: String(sinceUtime) } as const;
        const reply = await this.request(request, `acknowledges: ${source} ${text}`);
        if (reply.ok) {
            this.store.histories.alarms.acknowledge(key, { priority, sinceUtime });
        }
        return reply;
    }

    private acknowledgeListed(list: string, { alarm }: ListedAlarm): Reply {
        const { robot, host, source, id, since_utime, severity, cause } = alarm;
        const text = `acknowledges: ${source}: ${cause}`;
        const station = this.store.hello?.station ?? "";
        const by = new Authority({ station, session: this.sessionId });
        const utime = BigInt(this.now().utime);
        const message = new Acknowledge({ utime, by, robot, host, source, id, since_utime, severity });
        const row = rowOf("acknowledge");
        const channel = list.slice(0, list.length - row.answered_on.length) + row.channel;
        const ok = this.isOperator && this.outlet.publish(channel, message.encode(), false);
        // What was sent is entered in the running log when it comes back from the bus.
        if (!ok) {
            this.note("refusal", `${text}: not sent`);
        }
        return ok ? { ok } : { ok, error: "not sent" };
    }

    /** Begins or ends driving by hand. */
    engage(vehicle: Vehicle, isWanted: boolean): void {
        const bridge = this.bridge(vehicle);
        if (bridge === undefined || !this.mayCommand) {
            return;
        }
        if (isWanted) {
            bridge.session.engage();
        } else {
            bridge.session.disengage("");
        }
    }

    /** Asks the station how something is: nothing changes by it, so nothing is entered in the journal. */
    ask(request: Request): Promise<Reply> {
        return this.outlet.request(request);
    }

    /** Asks the station for something, and enters it in the journal. */
    async request(request: Request, text: string): Promise<Reply> {
        this.note("command", text);
        const reply = await this.outlet.request(request);
        if (!reply.ok) {
            this.note("refusal", `${text}: ${reply.error ?? "refused"}`);
        }
        return reply;
    }

    /** Sends what is due. `hands` are those on the vehicle that is in front; `away` is why no person can be at the controls. */
    tick(front: Vehicle | undefined, hands: Hands | undefined, away: string): void {
        if (!this.mayStop) {
            return;
        }
        const now = this.now();
        const reason = this.store.isCutOff(now.ms) ? "the station is not received" : away;
        for (const vehicle of this.store.vehicles) {
            const bridge = this.bridges.get(vehicle.prefix);
            if (bridge === undefined) {
                continue;
            }
            const isFront = vehicle.prefix === front?.prefix;
            if (!isFront) {
                bridge.session.disengage("another vehicle is in front");
            }
            const { rules } = bridge.session;
            const isHeld = isFront && hands !== undefined && rules !== undefined;
            const setpoint = isHeld ? setpointOf(hands, bridge.limit, rules) : undefined;
            const before = bridge.session.taskProgress;
            this.send(vehicle, bridge.session.tick(setpoint, reason, now));
            if (before === "waiting" && bridge.session.taskProgress === "expired") {
                this.note("refusal", `${bridge.task}: the vehicle has not confirmed it`);
            }
            this.followStop(vehicle, bridge, now);
        }
    }

    /** A stop that is not confirmed must not be overlooked, whichever vehicle is in front. */
    private followStop({ prefix, name }: Vehicle, { session }: Bridge, now: Now): void {
        const what = { priority: "alarm", source: name, text: "a stop is not confirmed" } as const;
        const isWrong = session.isStopUnconfirmed(now.ms);
        this.store.histories.alarms.follow(`${prefix}gate.state`, "stop", isWrong, what, now.utime);
    }

    private hear(channel: Channel, nowMs: number): void {
        if (!GATE_TYPES.some((type) => channel.is(type))) {
            return;
        }
        for (const vehicle of this.store.vehicles) {
            const name = channel.name.slice(vehicle.prefix.length);
            if (!channel.name.startsWith(vehicle.prefix) || !name.startsWith("gate.")) {
                continue;
            }
            const bridge = this.bridge(vehicle);
            if (bridge !== undefined) {
                this.receive(bridge, channel, nowMs);
            }
        }
    }

    private receive({ session }: Bridge, channel: Channel, nowMs: number): void {
        const now = this.nowAt(nowMs);
        const gate = channel.as(Gate);
        if (gate !== undefined) {
            session.receiveState(gate, channel.utime ?? 0);
        }
        const token = channel.as(GateToken);
        if (token !== undefined) {
            session.receiveToken(token, now);
        }
        const rules = channel.as(GateRules);
        if (rules !== undefined) {
            session.receiveRules(rules);
        }
        const refusal = channel.as(Refusal);
        if (refusal !== undefined) {
            session.receiveRefusal(refusal, now);
        }
        const task = channel.as(Task);
        if (task !== undefined) {
            session.receiveTask(task);
        }
    }

    private requestLease(vehicle: Vehicle, name: LeaseName): void {
        this.command(vehicle, (session, now) => session.request(name, now));
    }

    private command(vehicle: Vehicle, make: (session: OperatorSession, now: Now) => Outgoing[]): void {
        const bridge = this.bridge(vehicle);
        if (bridge === undefined || !this.isOperator) {
            return;
        }
        if (this.mayCommand) {
            this.send(vehicle, make(bridge.session, this.now()));
        } else {
            this.note("refusal", "not sent: the page is cut off");
        }
    }

    private send(vehicle: Vehicle, due: readonly Outgoing[]): void {
        for (const { command, message, isRepeated } of due) {
            const isStop = command.effect === "stop";
            const isSent = this.outlet.publish(vehicle.prefix + command.channel, message.encode(), isStop);
            const bridge = this.bridge(vehicle);
            if (isStop) {
                bridge?.session.stopPublished(isSent);
            }
            if (!isRepeated) {
                const asking = this.store.channel(`${vehicle.prefix}gate.state`)?.as(Gate)?.asking ?? "";
                const text = command.effect === "task" ? (bridge?.task ?? "") : describe(command.name, message, asking);
                this.note(
                    isSent ? "command" : "refusal",
                    isSent ? text : `${text}: not sent, the station is not connected`,
                );
            }
        }
    }

    private note(kind: "command" | "refusal", text: string): void {
        const utime = this.now().utime;
        this.store.histories.journal.add({
            utime,
            kind,
            channel: "",
            who: this.store.hello?.station ?? "this page",
            text,
        });
    }

    private now(): Now {
        return this.nowAt(performance.now());
    }

    private nowAt(ms: number): Now {
        return { ms, utime: Math.round(this.store.now(ms) ?? Date.now() * 1_000) };
    }
}
