import { describe, expect, it, vi } from "vitest";
import { Commander } from "../src/app/commander.js";
import { Gate } from "../src/generated/bowline/gate_t.js";
import { GateToken } from "../src/generated/bowline/gate_token_t.js";
import { LeaseRequest } from "../src/generated/bowline/lease_request_t.js";
import { StopCommand } from "../src/generated/bowline/stop_command_t.js";
import { Registry } from "../src/panels/registry.js";
import type { Hello, Reply } from "../src/protocol/frames.js";
import * as tasks from "../src/session/tasks.js";
import { Store } from "../src/store/store.js";
import { type Encodes, rulesOf, Voice } from "./voice.js";

/** A page with one or more vehicles, and what it published. */
class Page {
    readonly store = new Store(new Registry());
    readonly sent: { readonly channel: string; readonly bytes: Uint8Array; readonly isUrgent: boolean }[] = [];
    isConnected = true;
    reply: Reply = { ok: false, error: "not allowed" };
    readonly commander = new Commander(this.store, {
        publish: (channel, bytes, isUrgent) => {
            if (this.isConnected) {
                this.sent.push({ channel, bytes, isUrgent });
            }
            return this.isConnected;
        },
        request: async (): Promise<Reply> => this.reply,
    });
    private readonly voice = new Voice(this.store);

    constructor(hello: Partial<Hello> = {}, prefixes: readonly string[] = [""]) {
        this.voice.hello(hello, performance.now());
        for (const prefix of prefixes) {
            this.say(`${prefix}gate.state`, new Gate({ name: "harbour", state: Gate.IDLE }));
            this.say(`${prefix}gate.rules`, rulesOf("thrust"));
            this.say(`${prefix}gate.token`, new GateToken({ token: 1n }));
        }
    }

    say(name: string, message: Encodes): void {
        const nowMs = performance.now();
        this.voice.say(name, message, this.store.now(nowMs)!, nowMs);
    }

    /** The gate of a vehicle gives the lease to the station that asked for it last. */
    grant(prefix = ""): void {
        const asked = this.sent.filter((it) => it.channel === `${prefix}operator.lease`).at(-1);
        const { by } = LeaseRequest.decode(asked!.bytes);
        this.say(
            `${prefix}gate.state`,
            new Gate({ holder: by.station, session: by.session, epoch: 1n, state: Gate.IDLE }),
        );
        this.say(`${prefix}gate.token`, new GateToken({ token: 2n, session: by.session, epoch: 1n }));
    }

    channels(): string[] {
        return this.sent.map((it) => it.channel);
    }
}

describe("any user of the page", () => {
    it("commands as an operator, under the name that the station gave", () => {
        const page = new Page();
        const [vehicle] = page.store.vehicles;
        page.commander.take(vehicle!);
        expect(LeaseRequest.decode(page.sent[0]!.bytes).by.station).toBe("bridge/anna");
        page.grant();
        page.commander.giveTask(vehicle!, tasks.pause(), "pause");
        expect(page.channels()).toEqual(["operator.lease", "operator.task"]);
    });

    it("gives up what it holds, and nothing else, when it logs out", () => {
        const page = new Page({}, ["heron.", "tern."]);
        const [heron] = page.store.vehicles;
        page.commander.take(heron!);
        page.grant("heron.");
        page.sent.length = 0;
        page.commander.releaseAll();
        expect(page.channels()).toEqual(["heron.operator.lease"]);
        expect(LeaseRequest.decode(page.sent[0]!.bytes).ask).toBe(LeaseRequest.RELEASE);
    });

    it("cannot command as a viewer, but can stop", () => {
        const page = new Page({ role: "viewer" });
        const [vehicle] = page.store.vehicles;
        page.commander.take(vehicle!);
        page.commander.preempt(vehicle!);
        page.commander.clear(vehicle!);
        page.commander.giveTask(vehicle!, tasks.goTo([1, 2]), "");
        page.commander.engage(vehicle!, true);
        page.commander.tick(vehicle, { ahead: 1, left: 0 }, "");
        expect(page.sent).toEqual([]);
        page.commander.stop(vehicle!, "key Esc");
        expect(page.channels()).toEqual(["operator.stop"]);
        expect(StopCommand.decode(page.sent[0]!.bytes).ask).toBe(StopCommand.STOP);
    });

    it("can do nothing in a replay", () => {
        const page = new Page({ source: "replay" });
        const [vehicle] = page.store.vehicles;
        page.commander.take(vehicle!);
        page.commander.stop(vehicle!, "key Esc");
        page.commander.tick(vehicle, { ahead: 1, left: 0 }, "");
        expect(page.sent).toEqual([]);
    });

    it("commands the vehicle in front and no other", () => {
        const page = new Page({}, ["heron.", "tern."]);
        const [heron, tern] = page.store.vehicles;
        page.commander.take(heron!);
        page.grant("heron.");
        page.commander.tick(heron, undefined, "");
        page.commander.engage(heron!, true);
        page.commander.tick(heron, undefined, "");
        expect(page.channels()).toContain("heron.operator.direct");
        page.commander.tick(tern, { ahead: 1, left: 0 }, "");
        expect(page.commander.bridge(heron!)?.session.direct.reason).toBe("another vehicle is in front");
        expect(page.channels().some((name) => name.startsWith("tern."))).toBe(false);
    });

    it("reads in the journal what was asked, and what did not get out", async () => {
        const page = new Page();
        const [vehicle] = page.store.vehicles;
        page.commander.stop(vehicle!, "key Esc");
        page.isConnected = false;
        page.commander.stop(vehicle!, "key Esc");
        await page.commander.request({ what: "player", action: "play" }, "player: play");
        const kinds = page.store.histories.journal.newest(10).map((it) => it.kind);
        expect(kinds).toEqual(["refusal", "command", "refusal", "command", "change"]);
    });

    it("can only stop while the page is cut off", () => {
        const page = new Page();
        const [vehicle] = page.store.vehicles;
        page.store.roundTripMs = 1_500;
        expect([page.commander.isOperator, page.commander.mayCommand, page.commander.mayStop]).toEqual([
            true,
            false,
            true,
        ]);
        page.commander.take(vehicle!);
        page.commander.stop(vehicle!, "key Esc");
        expect(page.sent.map(({ channel, isUrgent }) => [channel, isUrgent])).toEqual([["operator.stop", true]]);
        expect(page.commander.bridge(vehicle!)?.session.lease, "nothing goes out later").toBe("free");
    });

    it("drives nothing while the page is cut off, and shows why", () => {
        const page = new Page();
        const [vehicle] = page.store.vehicles;
        page.commander.take(vehicle!);
        page.grant();
        page.commander.tick(vehicle, undefined, "");
        page.commander.engage(vehicle!, true);
        page.store.roundTripMs = 1_500;
        page.commander.tick(vehicle, undefined, "");
        const { direct } = page.commander.bridge(vehicle!)!.session;
        expect([direct.state, direct.reason]).toEqual(["off", "the station is not received"]);
    });

    it("shows whether a stop went out, and raises an alarm when it is not confirmed", () => {
        vi.useFakeTimers({ toFake: ["performance"] });
        const page = new Page();
        const [vehicle] = page.store.vehicles;
        const { session } = page.commander.bridge(vehicle!)!;
        const tick = (ms: number): void => {
            vi.advanceTimersByTime(ms);
            page.commander.tick(vehicle, undefined, "");
        };
        page.isConnected = false;
        page.commander.stop(vehicle!, "key Esc");
        expect(session.stop).toBe("unsent");
        page.isConnected = true;
        tick(200);
        expect(session.stop).toBe("sent");
        tick(3_000);
        const alarms = (): unknown[] =>
            page.store.histories.alarms.list().map(({ text, isActive }) => [text, isActive]);
        expect(alarms()).toEqual([["a stop is not confirmed", true]]);
        page.say("gate.state", new Gate({ is_stopped: true, stopped_by: "bridge/anna" }));
        tick(10);
        expect(session.stop).toBe("confirmed");
        expect(alarms()).toEqual([["a stop is not confirmed", false]]);
        vi.useRealTimers();
    });

    it("goes on with a stop under another name", () => {
        const page = new Page();
        const [vehicle] = page.store.vehicles;
        page.isConnected = false;
        page.commander.stop(vehicle!, "key Esc");
        page.store.apply({ kind: "hello", hello: { ...page.store.hello!, station: "bridge/ben" } }, performance.now());
        expect(page.commander.bridge(vehicle!)?.session.stop).toBe("unsent");
    });

    it("has an alarm acknowledged only once the station knows, and only as it was seen", async () => {
        const page = new Page();
        const { alarms } = page.store.histories;
        alarms.raise("x", "a", { priority: "caution", source: "a", text: "" }, 1);
        await page.commander.acknowledge(alarms.get("x a")!);
        expect(alarms.nNew, "the station refused").toBe(1);
        page.reply = { ok: true };
        const acknowledged = page.commander.acknowledge(alarms.get("x a")!);
        alarms.raise("x", "a", { priority: "alarm", source: "a", text: "" }, 1);
        await acknowledged;
        expect(alarms.nNew, "it got worse meanwhile").toBe(1);
        await page.commander.acknowledge(alarms.get("x a")!);
        expect(alarms.nNew).toBe(0);
    });
});
