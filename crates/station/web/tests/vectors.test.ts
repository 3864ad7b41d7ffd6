/** The operator's side, held to the vectors that the Rust machine is held to. `crates/operator/vectors` has their format. */

import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { Authority } from "../src/generated/bowline/authority_t.js";
import { GateAxis } from "../src/generated/bowline/gate_axis_t.js";
import { GateRules } from "../src/generated/bowline/gate_rules_t.js";
import { Gate } from "../src/generated/bowline/gate_t.js";
import { GateToken } from "../src/generated/bowline/gate_token_t.js";
import { Refusal } from "../src/generated/bowline/refusal_t.js";
import { Task } from "../src/generated/bowline/task_t.js";
import { type LeaseName, type Now, OperatorSession, type Outgoing } from "../src/session/operator.js";

type Members = Readonly<Record<string, unknown>>;

interface Step extends Members {
    readonly at: number;
    readonly sends?: readonly (string | Members)[] | Readonly<Record<string, number>>;
    readonly values?: readonly (readonly number[])[];
    readonly is?: Members;
}

interface File {
    readonly identity: { readonly station: string; readonly session: number; readonly rank: number };
    readonly rules: Members;
    readonly vectors: readonly { readonly name: string; readonly steps: readonly Step[] }[];
}

const STATION_UTIME = 1_000_000_000;
const VEHICLE_UTIME = 5_000_000_000;

const fileOf = (name: string): File =>
    JSON.parse(readFileSync(new URL(`../../../operator/vectors/${name}.json`, import.meta.url), "utf8")) as File;

const nowAt = (ms: number): Now => ({ ms, utime: STATION_UTIME + ms * 1_000 });

/** A session, and what the steps of a vector do to it. */
class Bench {
    readonly session: OperatorSession;
    private token = { token: 0, session: 0, epoch: 0 };
    private sequence = 0n;

    constructor(private readonly file: File) {
        const { station, session, rank } = file.identity;
        this.session = new OperatorSession({ station, session: BigInt(session), rank });
    }

    /** What an event sends. */
    happen(step: Step): Outgoing[] {
        const now = nowAt(step.at);
        const [event = "", of] = Object.entries(step).find(([key]) => key in this.events) ?? [];
        const sent = this.events[event]?.(of as Members, now) ?? [];
        this.sequence = sent.at(-1)?.message.by.sequence ?? this.sequence;
        return sent;
    }

    private readonly events: Readonly<Record<string, (of: Members, now: Now) => Outgoing[] | void>> = {
        token: (of, now) => this.hearToken(of, now),
        state: (of, now) => this.hearState(of, now),
        rules: (of) => this.session.receiveRules(this.rules(of)),
        refusal: (of, now) => this.hearRefusal(of, now),
        passed_on: ({ id, kind }) =>
            this.session.receiveTask(new Task({ id: BigInt(id as number), kind: kind as number })),
        request: (of, now) => this.session.request(of as unknown as LeaseName, now),
        press_stop: (of, now) => this.session.pressStop(of as unknown as string, now),
        published: (of) => this.session.stopPublished(of as unknown as boolean),
        dismiss_stop: () => this.session.dismissStop(),
        clear: (_, now) => this.session.clear(now),
        give: ({ id, kind }, now) =>
            this.session.give(new Task({ id: BigInt(id as number), kind: kind as number }), now),
        drop_task: () => this.session.dropTask(),
        engage: () => this.session.engage(),
        disengage: (of) => this.session.disengage(of as unknown as string),
        tick: ({ setpoint, away = "" }, now) =>
            this.session.tick(setpoint as number[] | undefined, away as string, now),
        run: (of, now) => this.run(of, now),
    };

    private hearToken(of: Members, now: Now): void {
        const { token = 0, session = 0, epoch = 0, vehicle_ms = now.ms } = of as Record<string, number>;
        this.token = { token, session, epoch };
        const utime = BigInt(VEHICLE_UTIME + vehicle_ms * 1_000);
        const [number, holder, lease] = [BigInt(token), BigInt(session), BigInt(epoch)];
        this.session.receiveToken(new GateToken({ utime, token: number, session: holder, epoch: lease }), now);
    }

    private hearState(of: Members, { ms }: Now): void {
        const {
            session = 0,
            epoch = 0,
            vehicle_ms = ms,
            received_ms = ms,
            since_ms = 0,
        } = of as Record<string, number>;
        const { holder = "", asking = "", is_stopped = false, stopped_by = "" } = of as Partial<Gate>;
        const gate = new Gate({ holder, asking, is_stopped, stopped_by });
        gate.utime = BigInt(VEHICLE_UTIME + vehicle_ms * 1_000);
        gate.since_utime = BigInt(VEHICLE_UTIME + since_ms * 1_000);
        gate.session = BigInt(session);
        gate.epoch = BigInt(epoch);
        this.session.receiveState(gate, STATION_UTIME + received_ms * 1_000);
    }

    private hearRefusal(of: Members, now: Now): void {
        const { command = "", reason = "", text = "" } = of as Partial<Refusal>;
        const { station, session } = { ...this.file.identity, ...of };
        const sequence = this.sequence + BigInt((of.offset as number | undefined) ?? 0);
        const by = new Authority({ station, session: BigInt(session), sequence });
        this.session.receiveRefusal(new Refusal({ command, reason, text, by }), now);
    }

    private run(of: Members, { ms: from }: Now): Outgoing[] {
        const { until = 0, every = 10, tokens_every = 0 } = of as Record<string, number>;
        const sent: Outgoing[] = [];
        for (let ms = from; ms < until; ms += every) {
            if (tokens_every > 0 && ms % tokens_every === 0) {
                this.hearToken({ ...this.token, token: this.token.token + 1 }, nowAt(ms));
            }
            sent.push(...this.session.tick(of.setpoint as number[] | undefined, "", nowAt(ms)));
        }
        return sent;
    }

    private rules(of: Members): GateRules {
        const { axes, ...rest } = { ...this.file.rules, ...of } as { axes: Partial<GateAxis>[] } & Members;
        const numbers = Object.entries(rest).map(([key, it]) => [key, typeof it === "number" ? BigInt(it) : it]);
        return new GateRules({
            ...Object.fromEntries(numbers),
            axes: axes.map((it) => new GateAxis(it)),
        }).withLengths();
    }

    /** How it stands, under the names that vectors have. */
    standing(): Members {
        const { session } = this;
        return {
            lease: session.lease,
            stop: session.stop,
            direct: session.direct.state,
            reason: session.direct.reason,
            holder: session.isHolder(),
            request: session.leaseProgress,
            clear: session.clearProgress,
            task: session.taskProgress,
        };
    }
}

/** A command under the names that vectors have. */
function membersOf({ command, message, isRepeated }: Outgoing): Members {
    const { by, ...rest } = message as unknown as { by: Authority } & Record<string, unknown>;
    return {
        command: command.name,
        epoch: Number(by.epoch),
        token: Number(by.token),
        sequence: (Number(by.sequence) - STATION_UTIME) / 1_000,
        repeated: isRepeated,
        rank: rest.rank,
        reason: rest.reason,
        id: command.name === "task" ? Number((rest.task as Task).id) : undefined,
        actuation: rest.actuation,
        values: command.effect === "direct" ? Array.from(rest.values as Float64Array) : undefined,
    };
}

function check(bench: Bench, step: Step): void {
    const sent = bench.happen(step).map(membersOf);
    if ("run" in step) {
        const counts: Record<string, number> = {};
        sent.forEach((it) => (counts[String(it.command)] = (counts[String(it.command)] ?? 0) + 1));
        expect(counts).toEqual(step.sends ?? {});
        const all = sent.flatMap((it) => (it.values === undefined ? [] : [JSON.stringify(it.values)]));
        expect(step.values === undefined ? [] : [...new Set(all)]).toEqual(
            (step.values ?? []).map((it) => JSON.stringify(it)),
        );
    } else {
        const expected = ((step.sends ?? []) as (string | Members)[]).map((it) =>
            typeof it === "string" ? { command: it } : it,
        );
        expect(sent.map((it) => it.command)).toEqual(expected.map((it) => it.command));
        expect(sent).toMatchObject(expected);
    }
    expect(bench.standing()).toMatchObject(step.is ?? {});
}

describe.each(["specified", "explored"])("%s vectors", (name) => {
    const file = fileOf(name);
    it.each(file.vectors)("$name", ({ steps }) => {
        const bench = new Bench(file);
        steps.forEach((step, at) => {
            try {
                check(bench, step);
            } catch (error) {
                throw new Error(`step ${at} at ${step.at} ms: ${(error as Error).message}`, { cause: error });
            }
        });
    });
});
