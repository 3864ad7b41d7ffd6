// @vitest-environment happy-dom
import { describe, expect, it, vi } from "vitest";
import type VectorLayer from "ol/layer/Vector";
import { Gate } from "../src/generated/bowline/gate_t.js";
import { Sounding } from "../src/generated/bowline/sounding_t.js";
import type { Layer } from "../src/map/layer.js";
import { additionOf } from "../src/panels/module.js";
import { Modules } from "../src/panels/modules.js";
import type { Context, Panel } from "../src/panels/panel.js";
import type { Reading } from "../src/panels/reading.js";
import { Registry } from "../src/panels/registry.js";
import type { Hello } from "../src/protocol/frames.js";
import { Card } from "../src/shell/card.js";
import { wantedPanels } from "../src/shell/layout.js";
import { Store, VehicleView } from "../src/store/store.js";
import { type Encodes, Voice } from "./voice.js";

const AT = (s: number) => ({ nowMs: s * 1e3, utime: s * 1e6, isForText: true });

/** A page with a module that exports this. */
class Page {
    readonly registry = new Registry();
    readonly store = new Store(this.registry);
    private readonly voice = new Voice(this.store);

    constructor(exported: unknown, file = "tide.js") {
        this.registry.add(additionOf(file, exported));
        this.say("gate.state", new Gate({ name: "heron" }));
    }

    say(name: string, message: Encodes, s = 0): this {
        this.voice.say(name, message, s * 1e6);
        return this;
    }

    get view(): VehicleView {
        return new VehicleView(this.store, this.store.vehicles[0]!);
    }

    ids(page: "operate" | "sensors"): string[] {
        return wantedPanels(page, this.view, this.registry).map((it) => it.kind.id);
    }

    async panel(id: string): Promise<Panel> {
        const { store, view } = this;
        const kind = this.registry.kinds.find((it) => it.id === id)!;
        return kind.make({ store, view, channel: undefined } as unknown as Context);
    }

    /** The panel in its card, after it was drawn once. */
    async card(id: string): Promise<Card> {
        const { store, view } = this;
        const kind = this.registry.kinds.find((it) => it.id === id)!;
        const making = Promise.resolve(kind.make({ store, view, channel: undefined } as unknown as Context));
        const card = new Card(id, kind, "", making, (error) => store.fault(error));
        await making.catch(() => undefined);
        await Promise.resolve();
        card.render(AT(1));
        return card;
    }

    layer(id: string): Layer {
        const { store, view } = this;
        return this.registry.layers.find((it) => it.id === id)!.make({ store, view, side: "belief" });
    }
}

/** A panel's row that shows the depth. */
const TIDE = {
    id: "tide",
    title: "Tide",
    types: [{ type: "bowline.sounding_t", past: 200, series: { depth_m: (it: Sounding) => it.depth_m } }],
    places: { operate: "side" },
    make(bowline: Reading) {
        const body = document.createElement("p");
        return {
            body,
            render() {
                const [channel] = bowline.channels("bowline.sounding_t");
                const depth = (channel?.message as Sounding | undefined)?.depth_m;
                body.textContent = `${bowline.vehicle} ${channel?.name} ${depth} ${channel?.freshness} ${channel?.series("depth_m").values}`;
            },
        };
    },
};

describe("a panel of a module", () => {
    it("is shown where its types are, and reads them with their freshness and past", async () => {
        const page = new Page({ api: 1, panels: [TIDE] });
        expect(page.ids("operate")).not.toContain("tide-tide");
        page.say("sounder.depth", new Sounding({ depth_m: 4 }), 1).say(
            "sounder.depth",
            new Sounding({ depth_m: 5 }),
            2,
        );
        expect(page.ids("operate")).toContain("tide-tide");
        const panel = await page.panel("tide-tide");
        panel.render(AT(2.5));
        const text = (): string => panel.body.shadowRoot?.textContent ?? "";
        expect(text()).toBe("heron sounder.depth 5 fresh 4,5");
        panel.render(AT(60));
        expect(text()).toContain("stale");
        expect(panel.sources().map((it) => it?.name)).toEqual(["sounder.depth"]);
    });

    it("has what it wants asked of the station, and takes nothing from the others", () => {
        const before = new Registry().wishes;
        const { registry } = new Page({
            api: 1,
            panels: [{ ...TIDE, types: [{ type: "demo.battery_t", maxHz: 2, past: 9 }, "bowline.pose_transform_t"] }],
        });
        const added = registry.wishes.filter((it) => !before.some((known) => known.type === it.type));
        expect(added).toEqual([{ pattern: ".*", type: "demo.battery_t", max_hz: 2, past: 9 }]);
        expect(registry.wishes).toEqual(expect.arrayContaining(before));
        expect(registry.wishes.at(-1)).toEqual({ pattern: ".*", max_hz: 10 });
    });

    it("sees copies: what it does to a message reaches no other panel, and nothing leads to the page", async () => {
        let reading: Reading | undefined;
        const make = (it: Reading) => {
            reading = it;
            return { body: document.createElement("p"), render: () => undefined };
        };
        const page = new Page({ api: 1, panels: [{ ...TIDE, types: ["bowline.gate_t"], make }] });
        await page.panel("tide-tide");
        const [channel] = reading!.channels();
        Object.assign(channel!.message as Gate, { is_stopped: true, name: "other" });
        expect(page.store.channel("gate.state")?.as(Gate)).toMatchObject({ is_stopped: false, name: "heron" });
        expect(Object.isFrozen(reading) && Object.isFrozen(channel)).toBe(true);
        expect(Object.keys(reading!).sort()).toEqual(["api", "channels", "vehicle"]);
        expect(Object.keys(channel!).sort()).toEqual([
            "ageS",
            "freshness",
            "message",
            "name",
            "rateHz",
            "series",
            "type",
        ]);
    });

    it.each([
        ["another version", { api: 2, panels: [TIDE] }, /expected version 1 .* found 2 in tide\.js/],
        ["no version", { panels: [TIDE] }, /expected version 1 .* found none in tide\.js/],
        ["a row without make", { api: 1, panels: [{ ...TIDE, make: undefined }] }, /expected a function make/],
        ["a row without id", { api: 1, panels: [{ ...TIDE, id: "A b" }] }, /expected an id/],
        ["types that are none", { api: 1, panels: [{ ...TIDE, types: [7] }] }, /expected an object as a type/],
        [
            "too much past",
            { api: 1, panels: [{ ...TIDE, types: [{ type: "a.b", past: 1e9 }] }] },
            /past from 0 to 1000/,
        ],
    ])("that has %s shows so in its place", async (_, exported, why) => {
        const page = new Page(exported);
        expect(page.ids("operate")).toContain("failed-tide-0");
        const card = await page.card("failed-tide-0");
        expect(card.element.querySelector("h2")?.textContent).toBe("Tide");
        expect(card.element.querySelector(".refused")?.textContent).toMatch(why);
    });

    it.each([
        ["nothing", undefined],
        ["a number", 7],
        ["panels that are none", { api: 1, panels: 7 }],
        ["too many panels", { api: 1, panels: Array.from({ length: 17 }, () => TIDE) }],
        ["an unknown place", { api: 1, panels: [{ ...TIDE, places: { operate: "ceiling" } }] }],
    ])("of a module that exports %s is one that shows so", async (_, exported) => {
        const page = new Page(exported);
        expect(page.ids("sensors")).toContain("failed-tide-0");
        const card = await page.card("failed-tide-0");
        expect(card.element.querySelector(".refused")?.textContent).toMatch(/expected/);
    });

    it("that throws is marked as failed, and tried again", async () => {
        let isBroken = true;
        const render = vi.fn(() => {
            if (isBroken) {
                throw new Error("no water");
            }
        });
        const make = () => ({ body: document.createElement("p"), render });
        const page = new Page({ api: 1, panels: [{ ...TIDE, make }] });
        const card = await page.card("tide-tide");
        const failure = card.element.querySelector<HTMLElement>(".refused")!;
        expect([failure.hidden, failure.textContent]).toEqual([false, "this panel failed: no water"]);
        isBroken = false;
        card.render(AT(2));
        expect(failure.hidden).toBe(true);
    });

    it("that keeps the page from being drawn is drawn no more", async () => {
        vi.useFakeTimers({ toFake: ["performance"] });
        const render = vi.fn(() => void vi.advanceTimersByTime(150));
        const make = () => ({ body: document.createElement("p"), render });
        const page = new Page({ api: 1, panels: [{ ...TIDE, make }] });
        const panel = await page.panel("tide-tide");
        [1, 2, 3].forEach((s) => panel.render(AT(s)));
        expect(() => panel.render(AT(4))).toThrow(/longer than 100 ms/);
        expect(render).toHaveBeenCalledTimes(3);
        vi.useRealTimers();
    });
});

describe("a layer of a module", () => {
    const draw = (bowline: Reading): unknown[] =>
        bowline.channels().map((it) => ({ points: [[1, 2]], text: `${(it.message as Sounding).depth_m} m` }));
    const row = { id: "depths", title: "Depths", types: ["bowline.sounding_t"], draw };
    const featuresOf = (layer: Layer): number => (layer.drawn as VectorLayer).getSource()!.getFeatures().length;

    it("is drawn anew when a message came", () => {
        const drawn = vi.fn(draw);
        const page = new Page({ api: 1, layers: [{ ...row, draw: drawn }] });
        const layer = page.layer("tide-depths");
        layer.render(AT(1));
        expect(featuresOf(layer)).toBe(0);
        page.say("sounder.depth", new Sounding({ depth_m: 4 }), 1);
        [1.1, 1.2, 1.3].forEach((s) => layer.render(AT(s)));
        expect([featuresOf(layer), drawn.mock.calls.length]).toEqual([1, 2]);
    });

    it.each([
        [
            "throws",
            () => {
                throw new Error("no water");
            },
            "no water",
        ],
        [
            "draws what is no shape",
            () => [
                {
                    line: [
                        [0, Number.NaN],
                        [1, 1],
                    ],
                },
            ],
            "expected corners",
        ],
        ["draws too much", () => Array.from({ length: 2_000 }, () => ({ points: [[0, 0]] })), "at most 1000"],
    ])("that %s shows so on the map, and the others are drawn", (_, draw, why) => {
        const page = new Page({ api: 1, layers: [{ ...row, draw }] }).say("sounder.depth", new Sounding(), 1);
        const layer = page.layer("tide-depths");
        layer.render(AT(1));
        expect(layer.note?.()).toContain("The layer Depths failed");
        expect(layer.note?.()).toContain(why);
        expect(featuresOf(layer)).toBe(0);
    });
});

describe("modules", () => {
    const hello = (panels: string[]): Hello => ({ panels }) as unknown as Hello;

    it("are loaded once, and what cannot be loaded is shown", async () => {
        const registry = new Registry();
        const onFault = vi.fn();
        const fetched = vi.fn(async (address: string) => {
            if (address.endsWith("broken.js")) {
                throw new SyntaxError("unexpected token");
            }
            return { default: { api: 1, panels: [TIDE] } };
        });
        const modules = new Modules(registry, onFault, vi.fn(), fetched);
        expect(modules.prepare(hello([]))).toBeUndefined();
        await modules.prepare(hello(["panels/tide.js", "panels/broken.js"]));
        expect(registry.kinds.map((it) => it.id)).toEqual(expect.arrayContaining(["tide-tide", "failed-broken-0"]));
        expect(onFault.mock.calls.flat().map(String)).toEqual(["Error: cannot load broken.js: unexpected token"]);
        expect(modules.prepare(hello(["panels/tide.js"]))).toBeUndefined();
        expect(fetched).toHaveBeenCalledTimes(2);
    });

    it("are not waited for longer than a moment, and notify when they have come", async () => {
        vi.useFakeTimers();
        const registry = new Registry();
        let come: (module: { default: unknown }) => void = () => undefined;
        const onLate = vi.fn();
        const modules = new Modules(registry, vi.fn(), onLate, () => new Promise((resolve) => (come = resolve)));
        const prepared = modules.prepare(hello(["panels/tide.js"]))!;
        await vi.advanceTimersByTimeAsync(1_000);
        await prepared;
        expect(onLate).not.toHaveBeenCalled();
        come({ default: { api: 1, panels: [TIDE] } });
        await vi.advanceTimersByTimeAsync(0);
        expect(onLate).toHaveBeenCalledTimes(1);
        expect(registry.kinds.some((it) => it.id === "tide-tide")).toBe(true);
        vi.useRealTimers();
    });
});

describe("what the page wants of the station", () => {
    it("comes from the rows of its panels and layers", () => {
        const rows = new Registry().wishes.map((it) => [it.type, it.max_hz, it.past ?? 0]);
        expect(rows.at(-1)).toEqual([undefined, 10, 0]);
        expect(Object.fromEntries(rows.slice(0, -1).map(([type, ...rest]) => [type, rest]))).toEqual({
            "bowline.gate_token_t": [25, 0],
            "bowline.map_t": [1, 0],
            "bowline.multibeam_t": [30, 100],
            "bowline.pose_transform_t": [30, 1_000],
            "bowline.sounding_t": [10, 500],
            "bowline.spectrum_t": [10, 500],
            "bowline.refusal_t": [0, 50],
            "bowline.acknowledge_t": [0, 50],
            "bowline.alarms_t": [0, 0],
            "bowline.audit_t": [0, 50],
            "bowline.experiment_t": [0, 0],
            "bowline.heartbeat_t": [0, 0],
            "bowline.lease_request_t": [0, 0],
            "bowline.stop_command_t": [0, 20],
            "bowline.task_command_t": [0, 50],
            "bowline.task_t": [0, 0],
        });
    });
});
