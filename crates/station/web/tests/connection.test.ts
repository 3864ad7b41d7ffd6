// @vitest-environment happy-dom
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Connection } from "../src/app/connection.js";
import { Line } from "../src/app/line.js";
import { Registry } from "../src/panels/registry.js";
import { Store } from "../src/store/store.js";

/** A socket that does what the test asks. */
class FakeSocket {
    static readonly OPEN = 1;
    static all: FakeSocket[] = [];
    readyState = 0;
    bufferedAmount = 0;
    readonly sent: Uint8Array[] = [];
    onopen: (() => void) | null = null;
    onmessage: ((event: { data: ArrayBuffer }) => void) | null = null;
    onclose: (() => void) | null = null;

    constructor() {
        FakeSocket.all.push(this);
    }

    send(frame: Uint8Array): void {
        this.sent.push(frame);
    }

    close(): void {
        this.readyState = 2;
    }

    open(): void {
        this.readyState = FakeSocket.OPEN;
        this.onopen?.();
    }

    end(): void {
        this.readyState = 3;
        this.onclose?.();
    }

    say(kind: number, ...rest: (number[] | string)[]): void {
        const bytes = rest.flatMap((it) => (typeof it === "string" ? [...new TextEncoder().encode(it)] : it));
        this.onmessage?.({ data: Uint8Array.from([kind, ...bytes]).buffer });
    }

    hello(): void {
        const hello = { version: 1, role: "operator", source: "live", utime: 0 };
        this.say(1, JSON.stringify(hello));
    }

    status(utime: number): void {
        this.say(5, JSON.stringify({ utime }));
    }

    kinds(): number[] {
        return this.sent.map((it) => it[0] ?? 0);
    }
}

let store: Store;
let connection: Connection;
let preparing: Promise<void> | undefined;
let onRefused: ReturnType<typeof vi.fn<() => void>>;

/** The page's timer, every 10 ms. */
function run(forMs: number): void {
    for (let ms = 0; ms < forMs; ms += 10) {
        vi.advanceTimersByTime(10);
        connection.tick(performance.now());
    }
}

const newest = (): FakeSocket => FakeSocket.all.at(-1)!;

beforeEach(() => {
    vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout"] });
    FakeSocket.all = [];
    vi.stubGlobal("WebSocket", FakeSocket);
    vi.stubGlobal("fetch", async () => ({ status: 200 }));
    const registry = new Registry();
    store = new Store(registry);
    onRefused = vi.fn();
    preparing = undefined;
    connection = new Connection(store, { prepare: () => preparing, wishes: () => registry.wishes }, onRefused);
});

afterEach(() => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
});

describe("a line", () => {
    it("that was open before its first listener has kept its messages, with their times", () => {
        const line = new Line();
        newest().open();
        const heardMs = performance.now();
        newest().status(5e6);
        vi.advanceTimersByTime(400);
        connection.open(line);
        expect(FakeSocket.all.length).toBe(1);
        expect(store.connection).toBe("open");
        expect(store.now(heardMs)).toBe(5e6);
    });

    it("drops commands where too much waits, and never a stop", () => {
        connection.open();
        newest().open();
        newest().bufferedAmount = 100_000;
        expect(connection.publish("operator.task", new Uint8Array(8), false)).toBe(false);
        expect(connection.publish("operator.stop", new Uint8Array(8), true)).toBe(true);
        newest().end();
        expect(connection.publish("operator.stop", new Uint8Array(8), true)).toBe(false);
    });
});

describe("a connection", () => {
    it("is opened again once when it is lost, and receives no more of the old one", async () => {
        connection.open();
        const [first] = FakeSocket.all;
        first!.open();
        first!.end();
        expect(store.connection).toBe("closed");
        run(150);
        expect(FakeSocket.all.length).toBe(2);
        first!.status(7e6);
        expect(store.status).toBeUndefined();
        newest().open();
        first!.end();
        expect(store.connection).toBe("open");
        await vi.advanceTimersByTimeAsync(5_000);
        expect(FakeSocket.all.length).toBe(2);
    });

    it("that is silent for three seconds is opened again, without a close", () => {
        connection.open();
        newest().open();
        for (let i = 0; i < 5; i++) {
            run(1_000);
            newest().status(i);
        }
        expect(FakeSocket.all.length).toBe(1);
        run(3_100);
        expect(FakeSocket.all.length).toBe(2);
        expect(store.connection).toBe("connecting");
    });

    it("is not taken for silent by a page that was held up itself", () => {
        connection.open();
        newest().open();
        run(100);
        vi.advanceTimersByTime(60_000);
        connection.tick(performance.now());
        expect(FakeSocket.all.length).toBe(1);
    });

    it("knows all pings that are under way, and is late when they are", () => {
        connection.open();
        newest().open();
        const pings = (): number[][] =>
            newest()
                .sent.filter((it) => it[0] === 0x17)
                .map((it) => [...it.slice(1)]);
        run(100);
        newest().say(7, pings()[0]!);
        expect(store.roundTripMs).toBeLessThan(100);
        for (let i = 0; i < 25; i++) {
            run(100);
            newest().status(i);
        }
        expect(store.roundTripMs).toBeGreaterThan(1_400);
        expect(store.isLate).toBe(true);
        newest().say(7, pings()[1]!);
        newest().say(7, pings()[2]!);
        expect(store.roundTripMs).toBeLessThan(1_000);
    });

    it("asks for a log-in once, however late it learns that one is needed, and leaves no connection behind", async () => {
        let answer: (response: { status: number }) => void = () => undefined;
        vi.stubGlobal("fetch", () => new Promise((resolve) => (answer = resolve)));
        connection.open();
        newest().end();
        const answerFirst = answer;
        run(150);
        expect(FakeSocket.all.length, "the next attempt is under way").toBe(2);
        answerFirst({ status: 401 });
        await vi.advanceTimersByTimeAsync(0);
        expect([onRefused.mock.calls.length, store.connection]).toEqual([1, "refused"]);
        await vi.advanceTimersByTimeAsync(10_000);
        expect(FakeSocket.all.length).toBe(2);
        connection.open();
        newest().open();
        FakeSocket.all[1]!.end();
        expect(store.connection).toBe("open");
    });

    it("asks for messages once it knows the station, and what the page needs of that station is there", async () => {
        connection.open();
        newest().open();
        expect(newest().kinds()).toEqual([]);
        newest().hello();
        expect(newest().kinds()).toEqual([0x11]);
        let ready: () => void = () => undefined;
        preparing = new Promise((resolve) => (ready = resolve));
        newest().end();
        run(150);
        const second = newest();
        second.open();
        second.hello();
        expect(second.kinds()).toEqual([]);
        second.end();
        run(300);
        newest().open();
        newest().hello();
        ready();
        await vi.advanceTimersByTimeAsync(0);
        expect(second.kinds(), "a line that is over is asked nothing").toEqual([]);
        expect(
            newest()
                .kinds()
                .filter((it) => it === 0x11).length,
        ).toBe(1);
        connection.renew();
        expect(
            newest()
                .kinds()
                .filter((it) => it === 0x11).length,
        ).toBe(2);
    });

    it("ends what was asked for when it is lost", async () => {
        connection.open();
        newest().open();
        const reply = connection.request({ what: "player", action: "play" });
        newest().end();
        expect(await reply).toEqual({ ok: false, error: "the connection to the station was lost" });
    });

    it("counts what makes no sense, and goes on", () => {
        connection.open();
        newest().open();
        newest().say(99);
        newest().status(5);
        expect([store.nFaults, store.status?.utime]).toEqual([1, 5]);
    });
});
