import { describe, expect, it } from "vitest";
import { Gate } from "../src/generated/bowline/gate_t.js";
import { PoseTransform } from "../src/generated/bowline/pose_transform_t.js";
import { Sounding } from "../src/generated/bowline/sounding_t.js";
import { Alarm as AlarmMessage } from "../src/generated/bowline/alarm_t.js";
import { Alarms as AlarmsMessage } from "../src/generated/bowline/alarms_t.js";
import { ListedAlarm } from "../src/generated/bowline/listed_alarm_t.js";
import { Registry } from "../src/panels/registry.js";
import { FrameError, publishFrame, readFrame, requestFrame, subscribeFrame } from "../src/protocol/frames.js";
import { ageOf } from "../src/shell/card.js";
import { Alarms } from "../src/store/alarms.js";
import { staleAfterS } from "../src/store/channel.js";
import { StationClock } from "../src/store/clock.js";
import { Series } from "../src/store/series.js";
import { Store, VehicleView } from "../src/store/store.js";
import { Track } from "../src/store/track.js";
import { Trips } from "../src/store/trips.js";
import { isOf } from "../src/store/vehicles.js";
import { type Encodes, Voice } from "./voice.js";

class Feed {
    readonly store = new Store(new Registry());
    readonly voice = new Voice(this.store);

    constructor() {
        this.voice.hello();
    }

    say(name: string, message: Encodes, ms: number): this {
        this.voice.say(name, message, ms * 1_000, ms);
        return this;
    }

    status(ms: number, rate = 1): this {
        this.store.apply({ kind: "status", status: { utime: ms * 1_000, rate } }, ms);
        return this;
    }
}

describe("freshness", () => {
    it("shows a value of 20 Hz as stale within a second, though the page receives nothing any more", () => {
        const feed = new Feed();
        for (let ms = 0; ms <= 1_000; ms += 50) {
            feed.say("sounder.depth", new Sounding({ depth_m: 3 }), ms).status(ms);
        }
        const { store } = feed;
        const channel = store.channel("sounder.depth")!;
        expect(channel.freshness(store.now(1_100))).toBe("fresh");
        expect(channel.freshness(store.now(1_000 + 999))).toBe("stale");
    });

    it.each([
        [undefined, 1],
        [20_000, 0.5],
        [200_000, 0.6],
        [400_000, 1],
        [700_000, 1],
        [1_000_000, 1.6],
        [3_600_000_000, 10.6],
    ])("a period of %s us makes stale after %s s", (periodUs, expected) => {
        expect(staleAfterS(periodUs)).toBeCloseTo(expected, 5);
    });

    it("is not taken for rarer because of an outage", () => {
        const feed = new Feed();
        for (let ms = 0; ms <= 2_000; ms += 100) {
            feed.say("sounder.depth", new Sounding(), ms).status(ms);
        }
        for (let ms = 62_000; ms <= 62_300; ms += 100) {
            feed.say("sounder.depth", new Sounding(), ms).status(ms);
        }
        const { store } = feed;
        expect(store.channel("sounder.depth")!.periodUs).toBe(100_000);
        expect(store.channel("sounder.depth")!.freshness(store.now(62_300 + 600))).toBe("stale");
    });

    it("is as often there as there is news, not as often as several speak in one breath", () => {
        const feed = new Feed();
        for (let ms = 0; ms <= 5_000; ms += 1_000) {
            [0, 0.3, 0.7].forEach((later) => feed.say("bowline.experiment", new Sounding(), ms + later));
            feed.status(ms);
        }
        const channel = feed.store.channel("bowline.experiment")!;
        expect(ageOf(channel, feed.store.now(5_400))).toBe("1.0 Hz");
        expect(channel.freshness(feed.store.now(5_999))).toBe("fresh");
        expect(channel.freshness(feed.store.now(6_800))).toBe("stale");
    });

    it("shows the age of everything that has not come anew for a second, also of what comes rarely", () => {
        const feed = new Feed();
        [0, 4_000, 8_000].forEach((ms) => feed.say("sounder.depth", new Sounding(), ms).status(ms));
        const channel = feed.store.channel("sounder.depth")!;
        const at = (ms: number): unknown[] => {
            const utime = feed.store.now(ms);
            return [channel.freshness(utime), channel.oldS(utime), ageOf(channel, utime)];
        };
        expect(at(8_900)).toEqual(["fresh", undefined, "0.3 Hz"]);
        expect(at(10_000)).toEqual(["fresh", 2, "2.0 s old"]);
        expect(at(13_000)).toEqual(["stale", 5, "stale 5.0 s"]);
    });

    it("the page is cut off a second after the last status", () => {
        const { store } = new Feed().status(5_000);
        expect(store.isCutOff(5_900)).toBe(false);
        expect(store.isCutOff(6_100)).toBe(true);
        store.connection = "closed";
        expect(store.isCutOff(5_001)).toBe(true);
    });

    it("time stands still in a replay that does, and ages with it", () => {
        const { store } = new Feed().say("sounder.depth", new Sounding(), 1_000).status(1_000, 0);
        expect(store.channel("sounder.depth")!.freshness(store.now(60_000))).toBe("fresh");
    });
});

describe("the station's clock", () => {
    /** Statuses five times a second, each so long under way; what the clock shows at the end of it. */
    function run(clock: StationClock, fromMs: number, toMs: number, delayMs: number): number {
        for (let ms = fromMs; ms < toMs; ms += 200) {
            clock.set(ms * 1_000, 1, ms + delayMs);
        }
        return clock.now(toMs)! / 1_000;
    }

    it("is that of the status that was under way for the shortest time", () => {
        const clock = new StationClock();
        expect(run(clock, 0, 5_000, 20)).toBeCloseTo(4_980);
        expect(run(clock, 5_000, 20_000, 2_000), "a slow connection makes nothing fresh").toBeCloseTo(19_980);
    });

    it("never steps back while statuses become slower", () => {
        const clock = new StationClock();
        run(clock, 0, 1_000, 20);
        let before = 0;
        for (let ms = 1_000; ms < 200_000; ms += 200) {
            clock.set(ms * 1_000, 1, ms + 900);
            const now = clock.now(ms + 900)!;
            expect(now).toBeGreaterThan(before);
            before = now;
        }
    });

    it("follows a station whose clock is set, forward at once and back in the end", () => {
        const clock = new StationClock();
        run(clock, 0, 1_000, 0);
        clock.set(3_600e6, 1, 1_000);
        expect(clock.now(1_000)).toBe(3_600e6);
        for (let ms = 1_200; ms < 70_000; ms += 200) {
            clock.set(ms * 1_000, 1, ms);
        }
        expect(clock.now(70_000)).toBeCloseTo(70e6, -6);
    });
});

describe("the way to the station and back", () => {
    it("is as long as the last answer took, or as the oldest ping has waited", () => {
        const trips = new Trips();
        trips.sent(1, 0);
        expect(trips.now(500)).toBeUndefined();
        trips.answered(1, 40);
        expect(trips.now(500)).toBe(40);
        trips.sent(2, 1_000);
        trips.sent(3, 2_000);
        expect(trips.now(2_900)).toBe(1_900);
        trips.answered(2, 3_000);
        expect([trips.now(3_000), trips.now(4_500)]).toEqual([2_000, 2_500]);
        trips.clear();
        expect(trips.now(9_000)).toBeUndefined();
    });

    it("cuts the page off when it takes longer than a second", () => {
        const { store } = new Feed().status(5_000);
        store.roundTripMs = 900;
        expect(store.isCutOff(5_100)).toBe(false);
        store.roundTripMs = 1_100;
        expect(store.isCutOff(5_100)).toBe(true);
    });
});

describe("the store", () => {
    it("keeps what it knows when the station comes back under other numbers", () => {
        const feed = new Feed().say("sounder.depth", new Sounding({ depth_m: 3 }), 0);
        const { store } = feed;
        feed.voice.hello({}, 2_000);
        store.apply({ kind: "channel", id: 9, fingerprint: Sounding.FINGERPRINT, name: "sounder.depth" }, 2_000);
        const bytes = new Sounding({ depth_m: 4 }).encode();
        store.apply({ kind: "message", id: 9, utime: 2_000_000, nSkipped: 3, bytes }, 2_000);
        const channel = store.channel("sounder.depth")!;
        expect([channel.as(Sounding)?.depth_m, channel.nMessages, channel.nSkipped]).toEqual([4, 2, 3]);
        expect(store.channels().length).toBe(1);
    });

    it("forgets when time goes back", () => {
        const feed = new Feed().say("pose", pose(1, 2), 0).say("pose", pose(5, 2), 10);
        expect(feed.store.histories.track("pose").length).toBe(2);
        feed.store.apply({ kind: "reset", utime: 0, why: "sought" }, 20);
        expect(feed.store.histories.track("pose").length).toBe(0);
        expect(feed.store.channel("pose")!.value()).toBeUndefined();
    });

    it("counts a message that makes no sense, and shows why, and goes on", () => {
        const { store } = new Feed();
        store.apply({ kind: "channel", id: 0, fingerprint: Sounding.FINGERPRINT, name: "sounder.depth" }, 0);
        store.apply(
            { kind: "message", id: 0, utime: 0, nSkipped: 0, bytes: new Sounding().encode().subarray(0, 12) },
            0,
        );
        expect(store.channel("sounder.depth")!.error).toMatch(/expected 8 bytes/);
        store.apply({ kind: "message", id: 7, utime: 0, nSkipped: 0, bytes: new Uint8Array(8) }, 0);
        expect(store.nFaults).toBe(1);
    });

    it("gives no value to a reader of another type", () => {
        const { store } = new Feed().say("sounder.depth", new Sounding(), 0);
        expect(store.channel("sounder.depth")!.as(Gate)).toBeUndefined();
    });

    it("finds vehicles by their gates, and their channels by prefix", () => {
        const feed = new Feed()
            .say("gate.state", new Gate({ name: "harbour" }), 0)
            .say("heron.gate.state", new Gate({ name: "harbour" }), 0)
            .say("heron.pose", pose(0, 0), 0)
            .say("pose", pose(0, 0), 0);
        const { store } = feed;
        expect(store.vehicles).toEqual([
            { prefix: "", name: "harbour", hasGate: true },
            { prefix: "heron.", name: "heron", hasGate: true },
        ]);
        const names = store.vehicles.map((vehicle) => store.channelsOf(vehicle).map((channel) => channel.name));
        expect(names).toEqual([
            ["gate.state", "pose"],
            ["heron.gate.state", "heron.pose"],
        ]);
        const view = new VehicleView(store, store.vehicles[1]!);
        expect(view.find(PoseTransform, "pose")?.name).toBe("heron.pose");
        expect(isOf("heron.pose", store.vehicles[0]!, store.vehicles)).toBe(false);
    });
});

describe("alarms", () => {
    const BILGE = { priority: "alarm", source: "bilge", text: "water" } as const;

    it("stay until they are over and acknowledged", () => {
        const alarms = new Alarms();
        alarms.raise("c", "a", BILGE, 1);
        expect(alarms.nNew).toBe(1);
        alarms.acknowledge("c a");
        expect([alarms.nNew, alarms.list().length]).toEqual([0, 1]);
        alarms.clear("c", "a");
        expect(alarms.list()).toEqual([]);
        alarms.raise("c", "a", BILGE, 2);
        alarms.clear("c", "a");
        expect(alarms.list().map((it) => [it.isActive, it.isAcknowledged])).toEqual([[false, false]]);
        alarms.raise("c", "a", BILGE, 3);
        expect(alarms.list().map((it) => it.sinceUtime)).toEqual([3]);
    });

    it("are those of the vehicle's list, with who knows of them, and go with it", () => {
        const feed = new Feed();
        const { alarms } = feed.store.histories;
        const alarm = new AlarmMessage({ source: "sonar", id: "lost", cause: "gave up", severity: 2, state: 1 });
        const list = (...listed: ListedAlarm[]): AlarmsMessage => new AlarmsMessage({ alarms: listed }).withLengths();
        feed.say("alarms.list", list(new ListedAlarm({ alarm, is_refreshed: true })), 0);
        expect(alarms.list()).toMatchObject([{ text: "gave up", priority: "warning", isAcknowledged: false }]);
        feed.say("alarms.list", list(new ListedAlarm({ alarm, acknowledged_by: "bridge/ben" })), 10);
        expect(alarms.list()).toMatchObject([
            { acknowledgedBy: "bridge/ben", isAcknowledged: true, isRefreshed: false },
        ]);
        alarms.raise("page", "own", BILGE, 1);
        feed.say("alarms.list", list(), 20);
        expect(alarms.list().map((it) => it.source)).toEqual(["bilge"]);
    });

    it("do not move in time because a list took longer to arrive", () => {
        const feed = new Feed();
        const alarm = new AlarmMessage({ source: "sonar", since_utime: 65_000_000n, state: 1 });
        const list = (utime: bigint): AlarmsMessage =>
            new AlarmsMessage({ utime, alarms: [new ListedAlarm({ alarm })] }).withLengths();
        feed.say("alarms.list", list(70_000_000n), 9_000);
        expect(feed.store.histories.alarms.list()[0]?.sinceUtime).toBe(4_000_000);
        feed.say("alarms.list", list(71_000_000n), 10_300);
        expect(feed.store.histories.alarms.list()[0]?.sinceUtime).toBe(4_000_000);
    });

    it("that get worse are new again", () => {
        const alarms = new Alarms();
        alarms.raise("c", "a", { ...BILGE, priority: "caution" }, 1);
        alarms.acknowledge("c a");
        alarms.raise("c", "a", { ...BILGE, priority: "caution", text: "some more" }, 2);
        expect([alarms.nNew, alarms.get("c a")?.text]).toEqual([0, "some more"]);
        alarms.raise("c", "a", BILGE, 3);
        expect([alarms.nNew, alarms.get("c a")?.priority]).toEqual([1, "alarm"]);
    });

    it("that are acknowledged give way first, then those that are over; others are counted", () => {
        const alarms = new Alarms();
        for (let i = 0; i < 200; i++) {
            alarms.raise("c", `${i}`, { ...BILGE, priority: i === 7 ? "caution" : "alarm" }, i);
        }
        alarms.acknowledge("c 150");
        alarms.clear("c", "100");
        alarms.raise("c", "x", BILGE, 200);
        expect([alarms.get("c 150"), alarms.nDropped]).toEqual([undefined, 0]);
        alarms.raise("c", "y", BILGE, 201);
        expect([alarms.get("c 100"), alarms.nDropped]).toEqual([undefined, 0]);
        alarms.raise("c", "z", BILGE, 202);
        expect([alarms.get("c 7"), alarms.nDropped]).toEqual([undefined, 1]);
    });

    it("are bounded", () => {
        const alarms = new Alarms();
        for (let i = 0; i < 1_000; i++) {
            alarms.raise("c", `${i}`, BILGE, i);
        }
        expect(alarms.list().length).toBeLessThanOrEqual(200);
        expect(alarms.get("c 999")).toBeDefined();
    });
});

describe("memory", () => {
    it("keeps a day of a track within bounds, from its beginning to its end", () => {
        const track = new Track();
        for (let i = 0; i < 24 * 3_600 * 5; i++) {
            track.push(i * 0.2, 50 * Math.sin(i / 500));
        }
        expect(track.length).toBeLessThanOrEqual(track.capacity);
        const flat = track.flat();
        expect(flat.slice(0, 2)).toEqual([0, 0]);
        expect(flat.at(-2)).toBeCloseTo((24 * 3_600 * 5 - 1) * 0.2, 3);
        expect(track.tolerance).toBeLessThan(100);
        const xs = flat.filter((_, i) => i % 2 === 0);
        expect(xs.every((x, i) => i === 0 || x >= (xs[i - 1] ?? 0))).toBe(true);
    });

    it("does not fill a track with a vehicle that stands, or with what is no place", () => {
        const track = new Track();
        for (let i = 0; i < 1_000; i++) {
            track.push(1 + 0.01 * (i % 2), 1);
            track.push(Number.NaN, 1);
        }
        expect(track.length).toBe(1);
    });

    it("keeps a day of a series within bounds, newest as measured, oldest coarse", () => {
        const series = new Series(1_024);
        for (let i = 0; i < 86_400; i++) {
            series.push(i, i);
        }
        const { times, values } = series.since(Number.NEGATIVE_INFINITY);
        expect(times.length).toBeLessThanOrEqual(1_024);
        expect(times[0]).toBe(0);
        expect([...values.slice(-100)]).toEqual(Array.from({ length: 100 }, (_, i) => 86_300 + i));
        expect(times.every((time, i) => i === 0 || time > (times[i - 1] ?? 0))).toBe(true);
        expect(series.since(86_390).times.length).toBe(10);
    });
});

describe("frames", () => {
    const frame = (kind: number, ...parts: (number[] | string)[]): ArrayBuffer =>
        Uint8Array.from([
            kind,
            ...parts.flatMap((part) => (typeof part === "string" ? [...new TextEncoder().encode(part)] : part)),
        ]).buffer;

    it("are read as PROTOCOL.md has them", () => {
        expect(readFrame(frame(2, [0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 9], "pose"))).toEqual({
            kind: "channel",
            id: 7,
            fingerprint: 9n,
            name: "pose",
        });
        const message = readFrame(frame(4, [0, 0, 0, 7, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 2, 1, 2, 3, 4, 5, 6, 7, 8]));
        expect(message).toMatchObject({ kind: "message", id: 7, utime: 65_536, nSkipped: 2 });
        expect(readFrame(frame(5, '{"utime":5}'))).toEqual({ kind: "status", status: { utime: 5 } });
        expect(readFrame(frame(7, [0, 0, 0, 3]))).toEqual({ kind: "pong", id: 3 });
    });

    it.each([
        [frame(9, [0])],
        [new ArrayBuffer(0)],
        [frame(2, [0, 0])],
        [frame(5, "{")],
        [frame(5, "[]")],
        [frame(5, '{"utime":"x"}')],
        [frame(1, '{"role":"king"}')],
        [frame(4, [0, 0, 0, 7, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 2, 1])],
    ])("that make no sense are refused: %#", (bytes) => {
        expect(() => readFrame(bytes)).toThrow(FrameError);
    });

    it("to the station are as PROTOCOL.md has them", () => {
        const publish = publishFrame("operator.stop", Uint8Array.of(1, 2));
        expect([publish[0], publish[1], publish.length]).toEqual([0x12, 13, 17]);
        expect(() => publishFrame("x".repeat(64), new Uint8Array(0))).toThrow(FrameError);
        const request = requestFrame(258, { what: "player", action: "pause" });
        expect([...request.slice(0, 5)]).toEqual([0x13, 0, 0, 1, 2]);
        expect(JSON.parse(new TextDecoder().decode(request.slice(5)))).toEqual({ what: "player", action: "pause" });
        expect(subscribeFrame([])[0]).toBe(0x11);
    });
});

function pose(x: number, y: number): PoseTransform {
    const matrix = Float64Array.of(1, 0, 0, x, 0, 1, 0, y, 0, 0, 1, 0, 0, 0, 0, 1);
    return new PoseTransform({ matrix });
}
