// @vitest-environment happy-dom
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Commander } from "../src/app/commander.js";
import { Authority } from "../src/generated/bowline/authority_t.js";
import { Gate } from "../src/generated/bowline/gate_t.js";
import { Imu } from "../src/generated/bowline/imu_t.js";
import { Refusal } from "../src/generated/bowline/refusal_t.js";
import { StopCommand } from "../src/generated/bowline/stop_command_t.js";
import { Registry } from "../src/panels/registry.js";
import type { Hello } from "../src/protocol/frames.js";
import type { Panel, PanelKind, Picture } from "../src/panels/panel.js";
import { AuthorityBar } from "../src/shell/authority.js";
import { Banners } from "../src/shell/banners.js";
import { Card } from "../src/shell/card.js";
import { el } from "../src/shell/dom.js";
import { brief } from "../src/shell/fields.js";
import { clockTime, day, isoTime } from "../src/shell/format.js";
import { Guard } from "../src/shell/guard.js";
import { leftOut, wantedPanels } from "../src/shell/layout.js";
import { Login, logOut } from "../src/shell/login.js";
import { frontOf, type Place } from "../src/shell/place.js";
import { PlayerBar } from "../src/shell/player.js";
import { StopButton } from "../src/shell/stop.js";
import { type Choices, TopBar } from "../src/shell/topbar.js";
import { Store, VehicleView } from "../src/store/store.js";
import type { Vehicle } from "../src/store/vehicles.js";
import { type Encodes, rulesOf, Voice } from "./voice.js";

/** A page with vehicles, and a clock that the test sets. */
class Bench {
    readonly store = new Store(new Registry());
    readonly sent: string[] = [];
    /** What of it are stops. */
    readonly stops: { readonly channel: string; readonly stop: StopCommand }[] = [];
    isConnected = true;
    readonly commander = new Commander(this.store, {
        publish: (channel, bytes) => {
            if (this.isConnected) {
                this.sent.push(channel);
                if (channel.endsWith("operator.stop")) {
                    this.stops.push({ channel, stop: StopCommand.decode(bytes) });
                }
            }
            return this.isConnected;
        },
        request: () => Promise.resolve({ ok: true }),
    });
    private readonly voice = new Voice(this.store);
    view: VehicleView | undefined;

    constructor(prefixes: readonly string[] = [""], hello: Partial<Hello> = {}) {
        this.voice.hello({ user: "", ...hello });
        for (const prefix of prefixes) {
            this.say(`${prefix}gate.state`, new Gate({ name: "harbour", state: Gate.IDLE }));
            this.say(`${prefix}gate.rules`, rulesOf("thrust"));
        }
        const [first] = this.store.vehicles;
        this.view = first && new VehicleView(this.store, first);
    }

    say(name: string, message: Encodes): void {
        const nowMs = performance.now();
        this.voice.say(name, message, nowMs * 1_000, nowMs);
    }

    /** Time goes on; the station's statuses come. */
    pass(ms: number): void {
        vi.advanceTimersByTime(ms);
        const nowMs = performance.now();
        this.store.apply({ kind: "status", status: { utime: nowMs * 1_000 } }, nowMs);
        this.commander.tick(this.view?.vehicle, undefined, "");
    }

    picture(): Picture {
        const nowMs = performance.now();
        return { nowMs, utime: this.store.now(nowMs), isForText: true };
    }
}

beforeEach(() => {
    vi.useFakeTimers({ toFake: ["performance"] });
    vi.stubGlobal(
        "IntersectionObserver",
        class {
            observe(): void {}
            disconnect(): void {}
        },
    );
});

afterEach(() => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
    document.body.replaceChildren();
});

describe("times that no calendar has", () => {
    it.each([8.65e18, 253_402_300_800_000_000, -9e18, Number.NaN, Number.POSITIVE_INFINITY, undefined])(
        "%s are dashes",
        (utime) => {
            expect([clockTime(utime), day(utime), isoTime(utime)]).toEqual(["--:--:--", "", undefined]);
        },
    );

    it("are shown as the numbers that they are", () => {
        expect(brief(9_223_372_036_854_775_807n, "utime")).toBe("9223372036854775807");
        expect(brief(1_000_000n, "utime")).toBe("1000000 (00:00:01.000)");
    });
});

describe("one part that fails", () => {
    it("does not keep the others from being drawn, and is reported once", () => {
        const faults: unknown[] = [];
        const guard = new Guard((error) => faults.push(error));
        let isBroken = true;
        const drawn: string[] = [];
        const draw = (): void => {
            guard.run("top", () => {
                if (isBroken) {
                    throw new Error("no such day");
                }
            });
            guard.run("stop", () => drawn.push("stop"));
        };
        draw();
        draw();
        expect([drawn.length, faults.length, guard.text]).toEqual([2, 1, "top: no such day"]);
        isBroken = false;
        draw();
        expect(guard.text).toBe("");
    });

    it("is a card that shows so, and that is tried again", () => {
        let isBroken = true;
        const faults: unknown[] = [];
        const panel: Panel = {
            body: el("p", {}, "12 m"),
            sources: () => [],
            render: () => {
                if (isBroken) {
                    throw new RangeError("Invalid time value");
                }
            },
        };
        const card = new Card("x", { id: "x", title: "X" } as PanelKind, "", panel, (error) => faults.push(error));
        expect(card.element.textContent, "there at once").toContain("12 m");
        const picture = { nowMs: 0, utime: 0, isForText: true };
        card.render(picture);
        card.render(picture);
        const failure = card.element.querySelector<HTMLElement>(".refused")!;
        expect(failure.textContent).toBe("this panel failed: Invalid time value");
        expect([failure.hidden, card.element.dataset.fresh, faults.length]).toEqual([false, "stale", 1]);
        isBroken = false;
        card.render(picture);
        expect([failure.hidden, card.element.dataset.fresh]).toEqual([true, "own"]);
    });
});

describe("the vehicle in front", () => {
    const vehicle = (prefix: string): Vehicle => ({ prefix, name: prefix || "robot", hasGate: true });
    const place = (of: string | undefined): Place => ({ page: "operate", vehicle: of, monitor: "" });

    it("is the one that was chosen, and no other in its place", () => {
        const [auk, heron] = [vehicle("auk."), vehicle("heron.")];
        expect(frontOf(place(undefined), [heron])).toBe(heron);
        expect(frontOf(place("heron."), [auk, heron])).toBe(heron);
        expect(frontOf(place("heron."), [auk])).toBeUndefined();
        expect(frontOf(place(""), [auk]), "one without a prefix was chosen too").toBeUndefined();
    });

    it("is named where it is stopped and commanded, if there is another", () => {
        const texts = (bench: Bench): string[] => {
            const stop = new StopButton(bench.store, bench.commander, () => bench.view);
            const bar = new AuthorityBar(bench.store, bench.commander, () => bench.view);
            stop.render(bench.picture());
            bar.render(bench.picture());
            return [stop.element.textContent, bar.element.querySelector(".facts .label")!.textContent];
        };
        expect(texts(new Bench())).toEqual(["STOPEsc", "In control"]);
        expect(texts(new Bench(["heron.", "tern."]))).toEqual(["STOPheron · Esc", "In control of heron"]);
    });

    it("is shown as absent, and the others can be chosen", () => {
        const bench = new Bench(["heron."]);
        const banners = new Banners(bench.store, () => "auk");
        banners.render(bench.picture());
        expect(banners.element.querySelector<HTMLElement>(".absent")!.textContent).toContain(
            "No messages from vehicle auk",
        );
        const top = new TopBar(bench.store, { prefix: "auk.", monitors: [] } as unknown as Choices);
        top.render(bench.picture());
        expect(top.element.querySelector<HTMLElement>(".vehicles")!.hidden).toBe(false);
    });
});

describe("the stop", () => {
    function stopOf(bench: Bench): { readonly stop: StopButton; readonly face: () => string[] } {
        const stop = new StopButton(bench.store, bench.commander, () => bench.view);
        const face = (): string[] => {
            stop.render(bench.picture());
            return [...stop.element.children].map((it) => it.textContent);
        };
        return { stop, face };
    }

    it("shows that it was not sent, sent, and confirmed, and no more than it knows", () => {
        const bench = new Bench();
        const { stop, face } = stopOf(bench);
        bench.isConnected = false;
        stop.press("key Esc");
        expect(face()).toEqual(["NOT SENT", "no connection"]);
        bench.isConnected = true;
        bench.pass(200);
        expect(face()).toEqual(["STOP SENT", "not confirmed yet"]);
        bench.pass(20_000);
        expect(face()).toEqual(["STOP SENT", "not confirmed yet for 20 s"]);
        expect(stop.announced.textContent, "what counts is not read aloud").toBe("STOP SENT, not confirmed yet");
        bench.say("gate.state", new Gate({ is_stopped: true, stopped_by: "deck" }));
        expect(face(), "by another station, that may be about to clear it").toEqual([
            "STOP SENT",
            "not confirmed yet for 20 s",
        ]);
        bench.say("gate.state", new Gate({ is_stopped: true, stopped_by: "bridge/anna" }));
        expect(face()).toEqual(["STOPPED", "latched"]);
    });

    it("does not show a vehicle as stopped whose messages have ended", () => {
        const bench = new Bench();
        const { face } = stopOf(bench);
        bench.say("gate.state", new Gate({ is_stopped: true }));
        expect(face()).toEqual(["STOPPED", "latched"]);
        bench.pass(5_000);
        expect(face()).toEqual(["STOP", "was stopped, no message for 5.0 s"]);
    });

    it("acts on Esc, unless that closes a menu or clears what is searched for", () => {
        const bench = new Bench();
        stopOf(bench);
        const press = (target: Element): number => {
            document.body.append(target);
            const before = bench.sent.length;
            target.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true, cancelable: true }));
            return bench.sent.length - before;
        };
        const menu = el("div", { onkeydown: (event: Event) => event.preventDefault() });
        const search = el("input", { type: "search" });
        const field = el("input", { type: "number" });
        [search, field].forEach((it) => (it.value = "7"));
        expect([press(menu), press(search), press(field), press(el("div"))]).toEqual([0, 0, 1, 1]);
        search.value = "";
        expect(press(search), "nothing is cleared").toBe(1);
    });

    it("stops the vehicle in front by Esc, and every vehicle by Shift Esc, with its reason", () => {
        const bench = new Bench(["auk.", "heron.", "tern."]);
        stopOf(bench);
        bench.view = new VehicleView(
            bench.store,
            bench.store.vehicles.find((it) => it.prefix === "heron.")!,
        );
        const press = (shiftKey: boolean): unknown[] => {
            bench.sent.length = 0;
            bench.stops.length = 0;
            window.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", shiftKey }));
            expect(bench.sent.length, "nothing but stops").toBe(bench.stops.length);
            return bench.stops.map(({ channel, stop }) => [channel, stop.ask, stop.reason]);
        };
        expect(press(false)).toEqual([["heron.operator.stop", StopCommand.STOP, "key Esc"]]);
        const forAll = (name: string): unknown[] => [
            `${name}.operator.stop`,
            StopCommand.STOP,
            "keys Shift Esc, for all vehicles",
        ];
        expect(press(true).sort()).toEqual(["auk", "heron", "tern"].map(forAll));
        bench.view = undefined;
        expect(press(false), "none is in front").toEqual([]);
        expect(press(true).sort(), "whichever is in front").toEqual(["auk", "heron", "tern"].map(forAll));
    });

    it("for all is confirmed by each gate for its own vehicle, and repeated to the others", () => {
        const bench = new Bench(["heron.", "tern."]);
        const { stop, face } = stopOf(bench);
        const [heron, tern] = bench.store.vehicles.map((it) => new VehicleView(bench.store, it));
        stop.press("keys Shift Esc, for all vehicles", true);
        bench.pass(100);
        bench.say("heron.gate.state", new Gate({ is_stopped: true, stopped_by: "bridge/anna" }));
        bench.view = heron;
        expect(face()).toEqual(["STOPPED", "heron · latched"]);
        bench.view = tern;
        expect(face()).toEqual(["STOP SENT", "tern · not confirmed yet"]);
        bench.stops.length = 0;
        bench.pass(100);
        expect(bench.stops.map((it) => it.channel)).toEqual(["tern.operator.stop"]);
        bench.say("tern.gate.state", new Gate({ is_stopped: true, stopped_by: "bridge/anna" }));
        expect(face()).toEqual(["STOPPED", "tern · latched"]);
    });

    it("can be cancelled where no gate confirms it", () => {
        const bench = new Bench();
        const { stop, face } = stopOf(bench);
        const bar = new AuthorityBar(bench.store, bench.commander, () => bench.view);
        const dismiss = [...bar.element.querySelectorAll("button")].find(
            (it) => it.textContent === "Give up the stop",
        )!;
        bar.render(bench.picture());
        expect(dismiss.hidden).toBe(true);
        stop.press("key Esc");
        bench.pass(3_000);
        bar.render(bench.picture());
        expect(dismiss.hidden).toBe(false);
        dismiss.click();
        expect(face()).toEqual(["STOP", "Esc"]);
    });
});

describe("the authority", () => {
    it("asks the holder of the lease, and takes no focus from a text field", () => {
        const bench = new Bench();
        const bar = new AuthorityBar(bench.store, bench.commander, () => bench.view);
        document.body.append(bar.element);
        const { session } = bench.commander.bridge(bench.view!.vehicle)!;
        const gate = { holder: "bridge/anna", session: session.identity.session, epoch: 1n, state: Gate.IDLE };
        const asked = bar.element.querySelector<HTMLElement>("[role=alertdialog]")!;
        const ask = (asking: string): void => {
            bench.say("gate.state", new Gate({ ...gate, asking }));
            bar.render(bench.picture());
        };
        ask("deck/ben");
        expect(asked.hidden).toBe(false);
        expect(document.activeElement).toBe(asked);
        expect(bar.element.querySelector("#asked-text")!.textContent).toBe("deck/ben asks for control");
        ask("");
        const field = el("input");
        document.body.append(field);
        field.focus();
        ask("deck/ben");
        expect(document.activeElement).toBe(field);
    });

    it("shows the age of a refusal, and forgets it", () => {
        const bench = new Bench();
        const bar = new AuthorityBar(bench.store, bench.commander, () => bench.view);
        const { session } = bench.commander.bridge(bench.view!.vehicle)!;
        const { station, session: number } = session.identity;
        const by = new Authority({ station, session: number });
        bench.say("gate.refusal", new Refusal({ by, command: "task", reason: "stopped" }));
        const texts = (): unknown[] => {
            bar.render(bench.picture());
            const refusal = bar.element.querySelector(".refusal")!;
            return [refusal.textContent, refusal.nextElementSibling!.textContent];
        };
        bench.pass(3_000);
        expect(texts()).toEqual(["refused: stopped", "3.0 s ago"]);
        bench.pass(30_000);
        expect(texts()).toEqual(["", ""]);
    });

    it("lets nothing be asked while the page is cut off", () => {
        const bench = new Bench();
        const bar = new AuthorityBar(bench.store, bench.commander, () => bench.view);
        const take = [...bar.element.querySelectorAll("button")].find((it) => it.textContent === "Take control")!;
        bar.render(bench.picture());
        expect([take.hidden, take.disabled]).toEqual([false, false]);
        bench.store.roundTripMs = 2_000;
        bar.render(bench.picture());
        expect([take.hidden, take.disabled]).toEqual([false, true]);
    });
});

describe("banners", () => {
    it("show an error once, and count beside it", () => {
        const { store } = new Bench();
        const banners = new Banners(store, () => "");
        const at = (nowMs: number): unknown[] => {
            banners.render({ nowMs, utime: 0, isForText: true });
            const banner = banners.element.querySelector<HTMLElement>(".cut-off")!;
            return [banner.hidden, banner.querySelector("[role=alert]")!.textContent, banner.lastChild!.textContent];
        };
        expect(at(500)[0]).toBe(true);
        const [, said, count] = at(1_500);
        expect(said).toMatch(/^CUT OFF/);
        const [, saidLater, countLater] = at(2_500);
        expect(saidLater).toBe(said);
        expect(countLater).not.toBe(count);
        store.apply({ kind: "status", status: { utime: 0 } }, 3_000);
        store.roundTripMs = 1_700;
        expect(at(3_100).slice(1)).toEqual([expect.stringMatching(/^LATE/), "1.7 s"]);
    });

    it("report that nothing is drawn until it is again, and not only once", () => {
        const { store } = new Bench();
        const banners = new Banners(store, () => "");
        const frozen = banners.element.querySelector<HTMLElement>(".frozen")!;
        banners.showFrozen(1_200, 5_000);
        expect([frozen.hidden, frozen.textContent]).toEqual([false, expect.stringMatching(/^FROZEN/)]);
        banners.render({ nowMs: 5_100, utime: 0, isForText: true });
        expect(frozen.hidden, "a page that draws once in a while does not flicker").toBe(false);
        banners.render({ nowMs: 7_100, utime: 0, isForText: true });
        expect(frozen.hidden).toBe(true);
    });

    it("ask for another page where the station speaks another version", () => {
        const bench = new Bench([""], { version: 2 });
        const banners = new Banners(bench.store, () => "");
        banners.render(bench.picture());
        expect(banners.element.querySelector<HTMLElement>(".version")!.textContent).toContain("Load the page again");
    });
});

describe("logging in and out", () => {
    it("is not got around by Esc", () => {
        const login = new Login(() => undefined);
        document.body.append(login.element);
        login.open();
        const cancel = new Event("cancel", { cancelable: true });
        login.element.dispatchEvent(cancel);
        expect(cancel.defaultPrevented).toBe(true);
        login.element.close();
        expect(login.element.open, "a browser that insists").toBe(true);
    });

    it("can be undone by its user, and by no other", async () => {
        const choices = { logOut: vi.fn(), monitors: [] } as unknown as Choices;
        const button = (user: string): HTMLButtonElement => {
            const bench = new Bench([""], { user });
            const top = new TopBar(bench.store, choices);
            top.render(bench.picture());
            return top.element.querySelector<HTMLButtonElement>(".logout")!;
        };
        expect(button("").hidden).toBe(true);
        expect(button("anna").hidden).toBe(false);
        button("anna").click();
        expect(choices.logOut).toHaveBeenCalledOnce();
        const fetch = vi.fn(async () => ({ ok: true }));
        vi.stubGlobal("fetch", fetch);
        expect(await logOut()).toBe(true);
        expect(fetch).toHaveBeenCalledWith("logout", { method: "POST" });
        vi.stubGlobal("fetch", () => Promise.reject(new Error("not there")));
        expect(await logOut()).toBe(false);
    });
});

describe("the player of a log", () => {
    const bars = (role: Hello["role"]): PlayerBar => {
        const bench = new Bench([""], { role, source: "replay" });
        const player = { log: "a.log", state: "playing", rate: 1, utime: 5, first_utime: 0, last_utime: 10 } as const;
        const status = { utime: 5, player: { ...player, is_looping: false, bookmarks: [] } };
        bench.store.apply({ kind: "status", status }, performance.now());
        const bar = new PlayerBar(bench.store, bench.commander);
        bar.render(bench.picture());
        return bar;
    };
    const isDisabled = (it: Element): boolean => (it as HTMLButtonElement).disabled;

    it("is played by operators, and shows viewers that it is not theirs", () => {
        const [operator, viewer] = [bars("operator").element, bars("viewer").element];
        const controls = (bar: HTMLElement): Element[] => [...bar.querySelectorAll("button, input, select")];
        expect(controls(operator).length).toBeGreaterThan(6);
        expect(controls(operator).some(isDisabled)).toBe(false);
        expect(controls(viewer).every(isDisabled)).toBe(true);
        expect(operator.querySelector<HTMLElement>(".hint")!.hidden).toBe(true);
        expect(viewer.querySelector<HTMLElement>(".hint")!.hidden).toBe(false);
    });
});

describe("the connection's tooltip", () => {
    it("has what the station lost, and what made no sense here", () => {
        const bench = new Bench();
        const counts = { "messages lost on the bus": 7 };
        bench.store.apply({ kind: "status", status: { utime: 0, counts } }, performance.now());
        bench.store.fault(new Error("expected a kind"));
        const top = new TopBar(bench.store, { monitors: [] } as unknown as Choices);
        top.render(bench.picture());
        const title = top.element.querySelector(".health")!.getAttribute("title");
        expect(title).toContain("messages lost on the bus: 7");
        expect(title).toContain("expected a kind");
    });
});

describe("channels that no panel is made for", () => {
    it("are shown from the newest on, without what twins are fed with, and the rest is counted", () => {
        const bench = new Bench();
        bench.say("sim.imu", new Imu());
        for (let i = 0; i < 12; i++) {
            bench.say(`a${String(i).padStart(2, "0")}`, new Imu());
        }
        bench.say("zz.new", new Imu());
        const raw = wantedPanels("sensors", bench.view!, new Registry()).filter((it) => it.kind.id === "raw");
        expect(raw.map((it) => it.channel?.name).slice(0, 3)).toEqual(["zz.new", "a11", "a10"]);
        expect(raw.length).toBe(8);
        expect([...leftOut("sensors", bench.view!, new Registry())]).toEqual([["grid", 5]]);
    });
});
