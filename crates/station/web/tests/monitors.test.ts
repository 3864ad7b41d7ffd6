// @vitest-environment happy-dom
import { describe, expect, it, vi } from "vitest";
import { Commander } from "../src/app/commander.js";
import { Acknowledge } from "../src/generated/bowline/acknowledge_t.js";
import { Alarm as AlarmMessage } from "../src/generated/bowline/alarm_t.js";
import { Alarms as AlarmsMessage } from "../src/generated/bowline/alarms_t.js";
import { Audit } from "../src/generated/bowline/audit_t.js";
import { Authority } from "../src/generated/bowline/authority_t.js";
import { Experiment } from "../src/generated/bowline/experiment_t.js";
import { Gate } from "../src/generated/bowline/gate_t.js";
import { LeaseRequest } from "../src/generated/bowline/lease_request_t.js";
import { ListedAlarm } from "../src/generated/bowline/listed_alarm_t.js";
import { PoseTransform } from "../src/generated/bowline/pose_transform_t.js";
import { PresenceComponent } from "../src/generated/bowline/presence_component_t.js";
import { PresencePort } from "../src/generated/bowline/presence_port_t.js";
import { Refusal } from "../src/generated/bowline/refusal_t.js";
import { Spectrum } from "../src/generated/bowline/spectrum_t.js";
import { StopCommand } from "../src/generated/bowline/stop_command_t.js";
import { Task } from "../src/generated/bowline/task_t.js";
import { TaskCommand } from "../src/generated/bowline/task_command_t.js";
import { Controls } from "../src/input/hands.js";
import { alarms } from "../src/panels/alarms.js";
import { Registry } from "../src/panels/registry.js";
import type { FromStation } from "../src/protocol/frames.js";
import { wantedPanels } from "../src/shell/layout.js";
import { Pace } from "../src/shell/pace.js";
import { readPlace, writePlace } from "../src/shell/place.js";
import { Journal } from "../src/store/journal.js";
import { noteSilence } from "../src/store/silence.js";
import { Store, VehicleView } from "../src/store/store.js";
import { Track } from "../src/store/track.js";
import { type Encodes, Voice } from "./voice.js";

/** A store that has received these, in their order. */
class Heard {
    readonly store = new Store(new Registry());
    readonly voice = new Voice(this.store);

    say(name: string, message: Encodes, utime = 0): this {
        this.voice.say(name, message, utime);
        return this;
    }
}

function experiment(name: string, channels: Readonly<Record<string, readonly string[]>>, host = "deck"): Experiment {
    const components = Object.entries(channels).map(([component, ports]) =>
        new PresenceComponent({
            name: component,
            ports: ports.map((channel) => new PresencePort({ name: "out", direction: PresencePort.WRITES, channel })),
        }).withLengths(),
    );
    return new Experiment({ robot: "harbour", host, name, about: `all of ${name}`, components }).withLengths();
}

function vessel(prefix: string, heard = new Heard()): Heard {
    return heard
        .say(`${prefix}gate.state`, new Gate())
        .say(`${prefix}pose`, new PoseTransform())
        .say(`${prefix}spectrometer.spectrum`, new Spectrum())
        .say(`${prefix}bowline.experiment`, experiment("vessel", { gate: ["gate.state"], estimator: ["pose"] }))
        .say(`${prefix}bowline.experiment`, experiment("chemistry", { nose: ["spectrometer.spectrum"] }));
}

function keys(store: Store, at: number, name: string): string[] {
    const vehicle = store.vehicles[at]!;
    const monitor = new VehicleView(store, vehicle).monitors().find((it) => it.name === name);
    return wantedPanels("operate", new VehicleView(store, vehicle, monitor), new Registry()).map((it) => it.kind.id);
}

describe("monitors", () => {
    it("are bound to an experiment, and show what it is made of", () => {
        const { store } = vessel("");
        expect(new VehicleView(store, store.vehicles[0]!).monitors().map((it) => it.name)).toEqual([
            "chemistry",
            "vessel",
        ]);
        expect(keys(store, 0, "chemistry")).toContain("spectrum");
        expect(keys(store, 0, "chemistry")).not.toContain("map");
        expect(keys(store, 0, "chemistry"), "no station commands it").not.toContain("teleop");
        expect(keys(store, 0, "vessel")).toEqual(expect.arrayContaining(["map", "vitals", "teleop"]));
        expect(keys(store, 0, "vessel")).not.toContain("spectrum");
    });

    it("are the same again for a second robot, with its own channels", () => {
        const { store } = vessel("tern.", vessel("heron."));
        expect(keys(store, 0, "chemistry")).toEqual(keys(store, 1, "chemistry"));
        const of = (at: number): string[] => [
            ...(new VehicleView(store, store.vehicles[at]!).monitors()[0]?.channels ?? []),
        ];
        expect(of(0)).toEqual(["heron.spectrometer.spectrum"]);
        expect(of(1)).toEqual(["tern.spectrometer.spectrum"]);
    });

    it("find robots that share one channel for what they offer", () => {
        const heard = new Heard().say("heron.gate.state", new Gate()).say("tern.gate.state", new Gate());
        heard.say("bowline.experiment", experiment("vessel", { gate: ["tern.gate.state"] }));
        const names = heard.store.vehicles.map((it) => new VehicleView(heard.store, it).monitors().length);
        expect(names).toEqual([0, 1]);
    });

    it("are merged from several hosts, and chosen anew only when they change", () => {
        const heard = vessel("");
        const { experiments } = heard.store.histories;
        const before = experiments.revision;
        heard.say("bowline.experiment", experiment("vessel", { gate: ["gate.state"], estimator: ["pose"] }));
        expect(experiments.revision, "repeated").toBe(before);
        heard.say("bowline.experiment", experiment("vessel", { camera: ["camera.image"] }, "mast"));
        expect(experiments.revision).toBe(before + 1);
        const monitor = new VehicleView(heard.store, heard.store.vehicles[0]!).monitors()[1]!;
        expect(monitor.components).toEqual(["gate", "estimator", "camera"]);
        expect([...monitor.channels]).toEqual(["gate.state", "pose", "camera.image"]);
    });
});

describe("the end of the address", () => {
    const before = { page: "operate", vehicle: undefined, monitor: "" } as const;

    it("has page, vehicle and monitor, and is read as it was written", () => {
        const place = { page: "sensors", vehicle: "heron/", monitor: "a & b" } as const;
        expect(readPlace(writePlace(place), before)).toEqual(place);
        expect(writePlace(before)).toBe("#operate");
    });

    it("leaves what it does not name as it was", () => {
        expect(readPlace("#nonsense", { ...before, vehicle: "tern." })).toEqual({ ...before, vehicle: "tern." });
        expect(readPlace("", before)).toEqual(before);
    });
});

describe("a vehicle that falls silent", () => {
    it("raises an alarm though another one is in front, and clears it when messages arrive again", () => {
        const heard = new Heard().say("heron.gate.state", new Gate()).say("tern.gate.state", new Gate());
        const { store } = heard;
        store.connection = "open";
        const at = (s: number): void => {
            store.apply({ kind: "status", status: { utime: s * 1e6 } }, s * 1e3);
            noteSilence(store, s * 1e3);
        };
        at(0.5);
        expect(store.histories.alarms.nNew).toBe(0);
        heard.say("heron.gate.state", new Gate(), 2e6);
        at(2);
        expect(store.histories.alarms.list().map((it) => [it.source, it.isActive])).toEqual([["tern", true]]);
        heard.say("tern.gate.state", new Gate(), 2.1e6);
        at(2.2);
        expect(store.histories.alarms.list().map((it) => it.isActive)).toEqual([false]);
    });
});

describe("messages of the past", () => {
    it("do not make a value look fresh for longer", () => {
        const heard = new Heard();
        const { store } = heard;
        store.apply({ kind: "status", status: { utime: 1_000e6 } }, 0);
        for (const s of [100, 400, 700, 1_000, 1_000.1, 1_000.2]) {
            heard.say("pose", new PoseTransform(), s * 1e6);
        }
        const channel = store.channel("pose")!;
        expect(channel.periodUs).toBeCloseTo(1e5);
        expect(channel.freshness(1_000.2e6 + 1e6)).toBe("stale");
        expect(store.histories.track("pose").length, "tracks have them").toBe(1);
    });

    it("leave a value that has come once live fresh for a second", () => {
        const heard = new Heard();
        heard.store.apply({ kind: "status", status: { utime: 1_000e6 } }, 0);
        for (const s of [100, 400, 700, 1_000]) {
            heard.say("pose", new PoseTransform(), s * 1e6);
        }
        expect(heard.store.channel("pose")?.freshness(1_000.9e6)).toBe("fresh");
        expect(heard.store.channel("pose")?.freshness(1_001.1e6)).toBe("stale");
    });
});

describe("the running log", () => {
    it("has what others command, once, and not what this page has entered itself", () => {
        const heard = new Heard().say("gate.state", new Gate());
        const { histories } = heard.store;
        histories.ownSession = 7n;
        const by = (session: bigint): Authority => new Authority({ station: `s${session}`, session });
        const task = new Task({ name: "basin", kind: Task.SURVEY, id: 1n });
        for (const session of [7n, 8n]) {
            heard.say("operator.task", new TaskCommand({ by: by(session), task }));
            heard.say("operator.lease", new LeaseRequest({ by: by(session), ask: LeaseRequest.TAKE }));
            heard.say("operator.lease", new LeaseRequest({ by: by(session), ask: LeaseRequest.TAKE }));
            heard.say("operator.lease", new LeaseRequest({ by: by(session), ask: LeaseRequest.RENEW }));
            heard.say("operator.stop", new StopCommand({ by: by(session), ask: StopCommand.STOP, reason: "fog" }));
            heard.say("operator.stop", new StopCommand({ by: by(session), ask: StopCommand.STOP, reason: "fog" }));
        }
        const commands = histories.journal.newest(20).filter((it) => it.kind === "command");
        expect(commands.map((it) => `${it.who} ${it.text}`)).toEqual([
            "s8 stop: fog",
            "s8 asks for the lease",
            "s8 task: basin",
        ]);
    });
});

describe("a simulation", () => {
    it("is known by the truth that it publishes, with or without a prefix", () => {
        expect(new Heard().say("pose", new PoseTransform()).store.isSimulated).toBe(false);
        expect(new Heard().say("truth.pose", new PoseTransform()).store.isSimulated).toBe(true);
        expect(new Heard().say("heron.truth.pose", new PoseTransform()).store.isSimulated).toBe(true);
    });
});

describe("the journal", () => {
    it("is in the order of time, also where the past comes after what is newer", () => {
        const journal = new Journal();
        for (const utime of [5, 9, 2, 7, 7]) {
            journal.add({ utime, kind: "change", channel: "", who: "", text: "" });
        }
        expect(journal.newest(9).map((it) => it.utime)).toEqual([9, 7, 7, 5, 2]);
    });
});

describe("what a station wrote down", () => {
    it("is in the running log, but for the bus's own messages", () => {
        const heard = new Heard().say("gate.state", new Gate());
        const say = (action: string, is_done: boolean): Heard =>
            heard.say("station.audit", new Audit({ station: "bridge/anna", action, detail: "of a thing", is_done }));
        say("login", true);
        say("publish", true);
        say("publish", false);
        const entries = heard.store.histories.journal.newest(2);
        expect(entries.map(({ kind, who, text }) => [kind, who, text])).toEqual([
            ["refusal", "bridge/anna", "publish of a thing"],
            ["command", "bridge/anna", "login of a thing"],
        ]);
    });
});

describe("alarms", () => {
    it("that are acknowledged all at once are each acknowledged by name, however many there are", async () => {
        const heard = new Heard();
        const { store } = heard;
        heard.voice.hello();
        heard.say("heron.gate.state", new Gate());
        const listed = Array.from({ length: 13 }, (_, i) => {
            const alarm = new AlarmMessage({ source: `pump${i}`, id: "lost", state: 1, since_utime: BigInt(i) });
            return new ListedAlarm({ alarm, is_refreshed: true });
        });
        heard.say("heron.alarms.list", new AlarmsMessage({ alarms: listed }).withLengths());
        for (let i = 0; i < 13; i++) {
            store.histories.alarms.raise("x", `${i}`, { priority: "alarm", source: `page${i}`, text: "broken" }, 0);
        }
        let [nNow, nMost] = [0, 0];
        const request = vi.fn(async () => {
            nMost = Math.max(nMost, ++nNow);
            await Promise.resolve();
            nNow -= 1;
            return { ok: true };
        });
        const publish = vi.fn((_channel: string, _bytes: Uint8Array) => true);
        const commander = new Commander(store, { publish, request });
        const view = new VehicleView(store, store.vehicles[0]!);
        const controls = new Controls();
        const shared = { store, view, commander, controls, layers: [] };
        const panel = alarms.make({ ...shared, channel: undefined, chooseMonitor: () => undefined });
        if (panel instanceof Promise) {
            throw new Error("expected a panel at once");
        }
        panel.render({ nowMs: 0, utime: 0, isForText: true });
        [...panel.body.querySelectorAll("button")].find((it) => it.textContent === "Acknowledge all")?.click();
        await vi.waitFor(() => expect([request.mock.calls.length, publish.mock.calls.length]).toEqual([13, 13]));
        expect(nMost, "the station takes eight at a time").toBeLessThanOrEqual(8);
        const sent = publish.mock.calls.map(([channel, bytes]) => ({ channel, ...Acknowledge.decode(bytes) }));
        expect(new Set(sent.map((it) => it.source)).size).toBe(13);
        expect(sent.find((it) => it.source === "pump0")).toMatchObject({
            channel: "heron.operator.acknowledge",
            by: { station: "bridge/anna" },
            since_utime: 0n,
        });
        expect(store.histories.alarms.nNew, "the list of the vehicle has who acknowledged").toBe(13);
    });
});

describe("a gamepad", () => {
    it("stops once for each press of its button", () => {
        let pressed = false;
        const buttons = [{ pressed: false }, { get pressed() { return pressed; } }]; // prettier-ignore
        vi.stubGlobal("navigator", {
            getGamepads: () => [{ connected: true, mapping: "standard", axes: [0, 0], buttons }],
        });
        const controls = new Controls();
        const press = (isDown: boolean): boolean => {
            pressed = isDown;
            return controls.hasPressedStop();
        };
        expect([press(false), press(true), press(true), press(false), press(true)]).toEqual([
            false,
            true,
            false,
            false,
            true,
        ]);
        vi.unstubAllGlobals();
    });
});

describe("the pace of drawing", () => {
    const drawnAt = (times: readonly number[]): number[] => {
        const pace = new Pace();
        return times.filter((it) => pace.isDue(it));
    };

    it("is that of the screen, when that is kept", () => {
        const times = Array.from({ length: 60 }, (_, i) => i * 16.7);
        expect(drawnAt(times)).toEqual(times);
    });

    it("leaves as much time to messages as slow pictures take", () => {
        // Pictures that take 200 ms; those that are left out take none.
        expect(drawnAt([0, 200, 400, 416, 500, 590, 601, 800, 816])).toEqual([0, 200, 601]);
    });

    it("never waits for long, however long pictures take", () => {
        expect(drawnAt([0, 5_000, 10_000, 10_100, 10_251])).toEqual([0, 5_000, 10_251]);
    });

    it("does not wait after a single slow picture, such as the first of a page", () => {
        expect(drawnAt([0, 400, 416, 433, 700, 716])).toEqual([0, 400, 416, 433, 700, 716]);
    });
});

describe("a track", () => {
    it("knows how far it was, however coarse its oldest part has become", () => {
        const track = new Track(64);
        for (let x = 0; x <= 1_000; x++) {
            track.push(x, 0);
        }
        expect(track.lengthM).toBe(1_000);
        expect(track.length).toBeLessThanOrEqual(64);
    });
});

describe("a second connection", () => {
    const hello = (utime: number, source: "live" | "replay" = "live"): FromStation => ({
        kind: "hello",
        hello: { version: 1, user: "", role: "operator", station: "s", source, utime, charts: [], panels: [], rank: 0 },
    });
    const pose = (x: number): PoseTransform =>
        new PoseTransform({ matrix: Float64Array.of(1, 0, 0, x, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1) });
    const refusal = new Refusal({ command: "take", reason: "denied", text: "no" });

    function past(heard: Heard): void {
        [1, 2, 3].forEach((s) => heard.say("pose", pose(s), s * 1e6));
        heard.say("gate.refusal", refusal, 2e6);
    }

    it("does not feed the past in again, but what came meanwhile", () => {
        const heard = new Heard();
        const { store } = heard;
        const { histories } = store;
        const heardAgain = vi.fn();
        store.apply(hello(4e6), 0);
        past(heard);
        store.listen(heardAgain);
        store.apply(hello(10e6), 6_000);
        heard.voice.announce();
        past(heard);
        expect(histories.track("pose").flat()).toEqual([1, 0, 2, 0, 3, 0]);
        expect(histories.journal.newest(9).length).toBe(1);
        expect(heardAgain).not.toHaveBeenCalled();
        heard.say("pose", pose(5), 8e6).say("pose", pose(6), 11e6);
        expect(histories.track("pose").flat()).toEqual([1, 0, 2, 0, 3, 0, 5, 0, 6, 0]);
    });

    it("begins anew where time went back, and in a replay", () => {
        for (const again of [hello(1.5e6), hello(20e6, "replay")]) {
            const heard = new Heard();
            heard.store.apply(hello(4e6), 0);
            past(heard);
            heard.store.apply(again, 6_000);
            heard.voice.announce();
            heard.say("pose", pose(7), 1.2e6);
            expect(heard.store.histories.track("pose").flat()).toEqual([7, 0]);
        }
    });
});
