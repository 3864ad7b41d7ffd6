import { describe, expect, it } from "vitest";
import { Gate } from "../src/generated/bowline/gate_t.js";
import { GateToken } from "../src/generated/bowline/gate_token_t.js";
import { LeaseRequest } from "../src/generated/bowline/lease_request_t.js";
import { Refusal } from "../src/generated/bowline/refusal_t.js";
import { Authority } from "../src/generated/bowline/authority_t.js";
import { StopCommand } from "../src/generated/bowline/stop_command_t.js";
import { TaskCommand } from "../src/generated/bowline/task_command_t.js";
import { Task } from "../src/generated/bowline/task_t.js";
import { DirectCommand } from "../src/generated/bowline/direct_command_t.js";
import { drawSession } from "../src/session/authority.js";
import { COMMANDS, mayBeSentBy } from "../src/session/commands.js";
import { type Hands, setpointOf } from "../src/session/hands.js";
import { type Now, OperatorSession, type Outgoing } from "../src/session/operator.js";
import * as tasks from "../src/session/tasks.js";
import { rulesOf } from "./voice.js";

const ME = { station: "bridge/anna", session: 77n, rank: 1 };
const at = (ms: number): Now => ({ ms, utime: 1_000_000 + ms * 1_000 });

/** A session that knows the rules of a gate; messages of the gate have later and later times. */
class Station extends OperatorSession {
    private utime = 0n;

    constructor() {
        super(ME);
        this.receiveRules(rulesOf("thrust"));
    }

    hearToken(init: Partial<GateToken>, ms: number): void {
        this.receiveToken(new GateToken({ ...init, utime: ++this.utime }), at(ms));
    }

    hear(init: Partial<Gate>, utime = 0): void {
        this.receiveState(new Gate({ ...init, utime: ++this.utime }), utime);
    }

    idle(ms: number): Outgoing[] {
        return this.tick(undefined, "", at(ms));
    }
}

const MINE = { holder: ME.station, session: 77n, epoch: 3n, state: Gate.IDLE };

function held(): Station {
    const session = new Station();
    session.hearToken({ token: 5n }, 0);
    session.hear({ holder: "" });
    session.request("take", at(0));
    session.hearToken({ token: 5n, epoch: 3n, session: 77n }, 0);
    session.hear(MINE);
    return session;
}

const leaseAsks = (due: Outgoing[]): number[] =>
    due
        .filter((it) => it.command.channel === "operator.lease")
        .map((it) => LeaseRequest.decode(it.message.encode()).ask);

describe("a session", () => {
    it("has a number that is drawn, positive and not drawn twice", () => {
        const drawn = Array.from({ length: 100 }, drawSession);
        expect(new Set(drawn).size).toBe(100);
        expect(drawn.every((number) => number > 0n)).toBe(true);
    });

    it("asks again for the lease until the gate answers, and gives up in the end", () => {
        const session = new Station();
        session.hearToken({}, 0);
        session.hear({ holder: "" });
        expect(session.lease).toBe("free");
        expect(leaseAsks(session.request("take", at(0)))).toEqual([LeaseRequest.TAKE]);
        expect(session.lease).toBe("taking");
        expect(leaseAsks(session.idle(100))).toEqual([]);
        expect(leaseAsks(session.idle(500))).toEqual([LeaseRequest.TAKE]);
        expect(leaseAsks(session.idle(10_000))).toEqual([]);
        expect(session.lease).toBe("free");
    });

    it("renews a lease that it holds, and sends nothing under one that it lost", () => {
        const session = held();
        const renewals = [0, 100, 250, 400, 500, 750].flatMap((ms) => leaseAsks(session.idle(ms)));
        expect(renewals).toEqual([2, 2, 2, 2].map(() => LeaseRequest.RENEW));
        session.hear({ holder: "other", session: 1n, epoch: 4n });
        expect(session.lease).toBe("other");
        expect(session.idle(1_500)).toEqual([]);
    });

    it("does not take a lease up again by itself after another had it", () => {
        const session = held();
        session.hear({ holder: "other", session: 1n, epoch: 4n });
        session.hear({ holder: "", epoch: 4n });
        const sent = [0, 500, 1_000, 5_000].flatMap((ms) => session.idle(ms));
        expect(sent).toEqual([]);
    });

    it("brings the newest token, the lease's epoch and a number that grows", () => {
        const session = held();
        const first = TaskCommand.decode(session.give(tasks.pause(), at(0))[0]!.message.encode());
        session.hearToken({ token: 9n, epoch: 3n, session: 77n }, 10);
        const second = TaskCommand.decode(session.give(tasks.pause(), at(20))[0]!.message.encode());
        expect([first.by.token, first.by.epoch, first.by.session, first.by.station]).toEqual([5n, 3n, 77n, ME.station]);
        expect(second.by.token).toBe(9n);
        expect(second.by.sequence).toBeGreaterThan(first.by.sequence);
    });

    /** A session whose commands get out. */
    function pressed(): Station {
        const session = new Station();
        session.hear({ holder: "other", session: 1n, epoch: 4n });
        const first = StopCommand.decode(session.pressStop("a person in the water", at(0))[0]!.message.encode());
        expect([first.ask, first.reason]).toEqual([StopCommand.STOP, "a person in the water"]);
        expect(session.stop).toBe("unsent");
        session.stopPublished(true);
        return session;
    }

    it("repeats a stop until the gate confirms it", () => {
        const session = pressed();
        expect(session.stop).toBe("sent");
        expect(session.idle(50)).toEqual([]);
        expect(session.idle(100).length).toBe(1);
        session.hear({ is_stopped: true, stopped_by: "deck" }, at(140).utime);
        expect(session.stop, "a stop of another station may be cleared by now").toBe("sent");
        session.hear({ is_stopped: true, stopped_by: ME.station }, at(150).utime);
        expect(session.stop).toBe("confirmed");
        expect(session.idle(200)).toEqual([]);
        session.hear({ is_stopped: false }, at(300).utime);
        expect(session.stop).toBe("none");
    });

    it("takes no gate for a confirmation that was received before the stop was pressed", () => {
        const session = pressed();
        session.hear({ is_stopped: true, stopped_by: ME.station }, at(-10_000).utime);
        expect(session.stop).toBe("sent");
        session.hear({ is_stopped: true, stopped_by: ME.station }, at(10).utime);
        expect(session.stop).toBe("confirmed");
    });

    it("reports that a stop was not sent, and confirms none that was not", () => {
        const session = pressed();
        session.stopPublished(false);
        expect(session.stop).toBe("unsent");
        session.hear({ is_stopped: true, stopped_by: ME.station }, at(10).utime);
        expect(session.stop).toBe("unsent");
    });

    it("repeats an unconfirmed stop once a second until a user cancels it", () => {
        const session = pressed();
        const sent = (fromMs: number, toMs: number): number => {
            let n = 0;
            for (let ms = fromMs; ms < toMs; ms += 10) {
                n += session.idle(ms).length;
            }
            return n;
        };
        expect(sent(0, 5_000)).toBe(49);
        expect(sent(60_000, 70_000)).toBe(10);
        expect([session.isStopUnconfirmed(1_900), session.isStopUnconfirmed(2_100)]).toEqual([false, true]);
        session.dismissStop();
        expect([session.stop, sent(80_000, 90_000)]).toEqual(["none", 0]);
    });

    it("knows who asks it for the lease, and answers", () => {
        const session = held();
        session.hear({ ...MINE, asking: "deck/ben" });
        expect(session.isAskedFor).toBe(true);
        expect(leaseAsks(session.request("consent", at(0)))).toEqual([LeaseRequest.CONSENT]);
        expect(leaseAsks(session.request("deny", at(0)))).toEqual([LeaseRequest.DENY]);
    });

    it("may preempt only a lower rank", () => {
        const session = new Station();
        session.hearToken({ session: 1n, epoch: 1n }, 0);
        session.hear({ holder: "a", session: 1n, epoch: 1n, rank: 1 });
        expect(session.mayPreempt).toBe(false);
        session.hear({ holder: "a", session: 1n, epoch: 1n, rank: 0 });
        expect(session.mayPreempt).toBe(true);
        expect(leaseAsks(session.request("preempt", at(0)))).toEqual([LeaseRequest.PREEMPT]);
    });

    it("listens only to its own refusals", () => {
        const session = new Station();
        session.hearToken({ session: 1n, epoch: 1n }, 0);
        session.hear({ holder: "a", session: 1n, epoch: 1n });
        const [{ message }] = session.request("take", at(0)) as [Outgoing];
        const { sequence } = message.by;
        const refusal = (session: bigint, station: string): Refusal =>
            new Refusal({ by: new Authority({ session, station, sequence }), command: "take", reason: "denied" });
        for (const others of [refusal(1n, ME.station), refusal(77n, "bridge/ben")]) {
            expect(session.receiveRefusal(others, at(0))).toBe(false);
            expect(session.lease).toBe("taking");
        }
        expect(session.receiveRefusal(refusal(77n, ME.station), at(0))).toBe(true);
        expect(session.lease).toBe("other");
    });
});

describe("direct control", () => {
    const AHEAD: Hands = { ahead: 1, left: 0 };

    interface Run {
        readonly hands?: Hands | undefined;
        readonly away?: string;
        readonly isStopped?: boolean;
    }

    class Bench {
        readonly session = held();
        ms = 0;

        constructor(actuation = "thrust") {
            this.session.receiveRules(rulesOf(actuation));
            this.session.idle(0);
        }

        /** Runs for a while with a tick every 10 ms and tokens 20 times a second. */
        run(forMs: number, { hands, away = "", isStopped = false }: Run = {}): Outgoing[] {
            const sent: Outgoing[] = [];
            this.session.hear({ ...MINE, is_stopped: isStopped });
            for (const end = this.ms + forMs; this.ms < end; this.ms += 10) {
                if (this.ms % 50 === 0) {
                    this.token(BigInt(this.ms + 1));
                }
                sent.push(...this.tick(hands, away));
            }
            return sent;
        }

        token(token: bigint): void {
            this.session.hearToken({ token, epoch: 3n, session: 77n }, this.ms);
        }

        /** Direct commands: renewals are no part of this. */
        tick(hands: Hands | undefined, away = ""): Outgoing[] {
            const setpoint = hands && setpointOf(hands, 0.5, this.session.rules!);
            const due = this.session.tick(setpoint, away, at(this.ms));
            return due.filter((it) => it.command.effect === "direct");
        }

        get control(): OperatorSession["direct"] {
            return this.session.direct;
        }
    }

    const ratios = (due: Outgoing[]): number[] => due.map((it) => DirectCommand.decode(it.message.encode()).values[0]!);

    it("sends nothing unless it is engaged, and is not engaged without the lease", () => {
        const bench = new Bench();
        expect(bench.run(500, { hands: AHEAD })).toEqual([]);
        bench.session.hear({ holder: "", epoch: 3n });
        bench.session.engage();
        expect([bench.control.state, bench.control.reason]).toEqual(["off", "take control first"]);
    });

    it("shows neutral input first, and a stick that is already pushed moves nothing", () => {
        const bench = new Bench();
        bench.session.engage();
        expect(new Set(ratios(bench.run(1_000, { hands: AHEAD })))).toEqual(new Set([0]));
        expect(bench.control.state).toBe("arming");
        bench.run(500);
        expect(bench.control.state).toBe("ready");
    });

    it("sends 30 times a second while a control is held, and then zero for a moment, and then nothing", () => {
        const bench = new Bench();
        bench.session.engage();
        bench.run(600);
        const driven = ratios(bench.run(2_000, { hands: AHEAD }));
        expect(driven.length / 2).toBeGreaterThanOrEqual(29.5);
        expect(driven.length / 2).toBeLessThanOrEqual(30.5);
        expect(new Set(driven)).toEqual(new Set([0.5]));
        const trailing = ratios(bench.run(1_000));
        expect(trailing.length).toBeGreaterThan(3);
        expect(new Set(trailing)).toEqual(new Set([0]));
        expect(bench.run(1_000)).toEqual([]);
    });

    it.each([
        ["the page is out of sight", { away: "the page was out of sight" }, "the page was out of sight"],
        ["the vehicle is stopped", { isStopped: true }, "the vehicle is stopped"],
    ])("is silent at once when %s, and does not go on by itself", (_, run, reason) => {
        const bench = new Bench();
        bench.session.engage();
        bench.run(600);
        expect(bench.run(100, { hands: AHEAD }).length).toBeGreaterThan(0);
        expect(bench.run(500, { hands: AHEAD, ...run })).toEqual([]);
        expect(bench.control.reason).toBe(reason);
        expect(bench.run(500, { hands: AHEAD })).toEqual([]);
    });

    it("does not go on after the page was held up, with keys still down and fresh tokens", () => {
        const bench = new Bench();
        bench.session.engage();
        bench.run(600);
        expect(bench.run(100, { hands: AHEAD }).length).toBeGreaterThan(0);
        bench.ms += 400;
        bench.token(1n);
        expect(bench.run(500, { hands: AHEAD })).toEqual([]);
        expect(bench.control.reason).toBe("commands were held up");
    });

    it("is silent when tokens stay away", () => {
        const bench = new Bench();
        bench.session.engage();
        bench.run(600);
        for (const end = bench.ms + 700; bench.ms < end; bench.ms += 10) {
            bench.tick(AHEAD);
        }
        expect(bench.tick(AHEAD)).toEqual([]);
        expect(bench.control.reason).toBe("the vehicle does not answer");
    });

    it("shows neutral input again when the gate wants that", () => {
        const bench = new Bench();
        bench.session.engage();
        bench.run(600);
        const { by } = bench.run(50, { hands: AHEAD })[0]!.message;
        bench.session.receiveRefusal(new Refusal({ by, command: "direct", reason: "neutral" }), at(bench.ms));
        expect(new Set(ratios(bench.run(200, { hands: AHEAD })))).toEqual(new Set([0]));
    });

    it("commands wheels on the ground by speed and angle, within the limits that the gate publishes", () => {
        const bench = new Bench("velocity");
        bench.session.engage();
        bench.run(600);
        const [sent] = bench.run(50, { hands: { ahead: -1, left: 0.5 } });
        const { actuation, values } = DirectCommand.decode(sent!.message.encode());
        expect([actuation, ...values]).toEqual(["velocity", -0.75, 0.2]);
    });

    it("commands fins and a propeller, which no file of the page names, by the axes of the gate's rules", () => {
        const bench = new Bench("fins");
        bench.session.engage();
        bench.run(600);
        const [sent] = bench.run(50, { hands: { ahead: 1, left: -1 } });
        const { actuation, values } = DirectCommand.decode(sent!.message.encode());
        expect([actuation, ...values]).toEqual(["fins", 0.5, -0.4, 0]);
    });

    it.each([
        [{ ahead: 1, left: 0 }, [1, 1]],
        [{ ahead: 0, left: 1 }, [-0.5, 0.5]],
        [{ ahead: 1, left: 1 }, [0, 1]],
        [{ ahead: -1, left: -1 }, [0, -1]],
        [{ ahead: Number.NaN, left: 7 }, [-0.5, 0.5]],
    ])("keeps the turn where both thrusters are at their most: %j", (hands, [port, starboard]) => {
        expect(setpointOf(hands, 1, rulesOf("thrust"))).toEqual([port, starboard]);
    });
});

describe("tasks", () => {
    it("leave to the vehicle what the operator does not set", () => {
        const task = Task.decode(
            tasks
                .survey(
                    [
                        [0, 0],
                        [10, 0],
                        [10, 10],
                    ],
                    Number.NaN,
                )
                .encode(),
        );
        expect([task.kind, task.placing, task.n_points]).toEqual([Task.SURVEY, Task.REPLACE, 3]);
        expect([task.heading_rad, task.speed_mps, task.lane_spacing_m]).toEqual([Number.NaN, Number.NaN, Number.NaN]);
        expect(tasks.goTo([1, 2]).id).not.toBe(tasks.goTo([1, 2]).id);
    });
});

describe("the table of commands", () => {
    it("lets a viewer stop, and send nothing else", () => {
        const open = COMMANDS.filter((it) => mayBeSentBy("viewer", it)).map((it) => it.name);
        expect(open).toEqual(["stop"]);
        expect(COMMANDS.every((it) => mayBeSentBy("operator", it))).toBe(true);
        const needNothing = COMMANDS.filter((it) => it.needs.length === 0).map((it) => it.name);
        expect(needNothing, "a gate demands something of all but a stop").toEqual(["stop", "acknowledge"]);
        expect(COMMANDS.filter((it) => it.answered_on !== "gate.state").map((it) => it.name)).toEqual(["acknowledge"]);
    });
});
