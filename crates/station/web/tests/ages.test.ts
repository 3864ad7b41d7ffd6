// @vitest-environment happy-dom
import type Feature from "ol/Feature";
import type VectorLayer from "ol/layer/Vector";
import { describe, expect, it, vi } from "vitest";
import { Commander } from "../src/app/commander.js";
import { Contact } from "../src/generated/bowline/contact_t.js";
import { Experiment } from "../src/generated/bowline/experiment_t.js";
import { Gate } from "../src/generated/bowline/gate_t.js";
import { Guidance } from "../src/generated/bowline/guidance_t.js";
import { HeartbeatComponent } from "../src/generated/bowline/heartbeat_component_t.js";
import { Heartbeat } from "../src/generated/bowline/heartbeat_t.js";
import { Link } from "../src/generated/bowline/link_t.js";
import { Path } from "../src/generated/bowline/path_t.js";
import { PoseTransform } from "../src/generated/bowline/pose_transform_t.js";
import { PresenceComponent } from "../src/generated/bowline/presence_component_t.js";
import { PresencePort } from "../src/generated/bowline/presence_port_t.js";
import { Waypoint } from "../src/generated/bowline/waypoint_t.js";
import { Controls } from "../src/input/hands.js";
import { lanes } from "../src/map/lanes.js";
import { experiment } from "../src/panels/experiment.js";
import { link } from "../src/panels/link.js";
import { map } from "../src/panels/map.js";
import { type Context, type Panel, type PanelKind, worstOf } from "../src/panels/panel.js";
import { simulation } from "../src/panels/simulation.js";
import { truth } from "../src/panels/truth.js";
import { LAYERS } from "../src/map/layers.js";
import { Registry } from "../src/panels/registry.js";
import type { Hello, Reply } from "../src/protocol/frames.js";
import { wantedPanels } from "../src/shell/layout.js";
import { Readout } from "../src/shell/readout.js";
import { Store, VehicleView } from "../src/store/store.js";
import { type Encodes, Voice } from "./voice.js";

/** A page that receives these channels at a time, seconds. */
class Page {
    readonly store = new Store(new Registry());
    readonly request = vi.fn((): Promise<Reply> => Promise.resolve({ ok: true }));
    private readonly voice = new Voice(this.store);
    private readonly commander = new Commander(this.store, { publish: () => true, request: this.request });

    constructor(role: Hello["role"] = "operator", source: Hello["source"] = "live") {
        this.voice.hello({ role, source });
        this.store.apply({ kind: "status", status: { utime: 0 } }, performance.now());
    }

    say(name: string, message: Encodes, s = 0): this {
        this.voice.say(name, message, s * 1e6);
        return this;
    }

    get view(): VehicleView {
        return new VehicleView(this.store, this.store.vehicles[0]!);
    }

    panel(kind: PanelKind): Panel {
        const { store, view, commander } = this;
        const context: Context = {
            store,
            view,
            commander,
            controls: new Controls(),
            channel: undefined,
            layers: LAYERS,
            chooseMonitor: () => undefined,
        };
        return kind.make(context) as Panel;
    }
}

const at = (s: number) => ({ nowMs: s * 1e3, utime: s * 1e6, isForText: true });

/** Lets answers arrive. */
const settle = () => new Promise((resolve) => setTimeout(resolve));

describe("the age in a panel's head", () => {
    const page = new Page().say("fast", new Gate(), 9.9).say("slow", new Gate(), 4).say("slower", new Gate(), 2);
    const [fast, slow, slower] = ["fast", "slow", "slower"].map((it) => page.store.channel(it));

    it("is that of what is longest overdue, of all that the panel shows", () => {
        expect(worstOf([fast, undefined, slow, slower], 10e6)?.name).toBe("slower");
    });

    it("is that of the first where nothing is overdue", () => {
        expect(worstOf([undefined, fast], 10e6)?.name).toBe("fast");
        expect(worstOf([slower, fast], 2.1e6)?.name).toBe("slower");
        expect(worstOf([], 10e6)).toBeUndefined();
    });

    it("of a map goes by plans and legs too, as far as they are drawn", () => {
        const leg = new Guidance({ kind: Guidance.LEG });
        const page = new Page()
            .say("gate.state", new Gate())
            .say("pose", new PoseTransform())
            .say("helm.plan", new Path())
            .say("helm.guidance", leg);
        const panel = page.panel(map);
        const names = (): (string | undefined)[] => panel.sources().flatMap((it) => it?.name ?? []);
        expect(names()).toEqual(["pose", "helm.plan", "helm.guidance"]);
        page.say("helm.guidance", new Guidance({ kind: Guidance.REST }), 1);
        expect(names()).toEqual(["pose", "helm.plan"]);
        panel.destroy?.();
    });
});

describe("what is old", () => {
    it("is drawn as doubtful where it is a plan", () => {
        const page = new Page().say("gate.state", new Gate());
        for (const s of [1, 2]) {
            const waypoints = [0, 1].map((x) => new Waypoint({ position: Float32Array.of(x, x) }));
            page.say("helm.plan", new Path({ waypoints, num_waypoints: 2 }), s);
        }
        const layer = lanes.make({ store: page.store, view: page.view, side: "belief" });
        const feature = (): Feature => (layer.drawn as VectorLayer).getSource()!.getFeatures()[0] as Feature;
        const style = (): unknown => {
            const made = (feature().getStyleFunction()?.(feature(), 1) ?? []) as {
                getStroke(): { getLineDash(): unknown };
            };
            return made.getStroke().getLineDash();
        };
        layer.render(at(2.1));
        const fresh = style();
        layer.render(at(9));
        expect(style()).not.toEqual(fresh);
        expect(feature().getGeometry(), "the line stays").toBeDefined();
    });

    it("is marked beside the truth, each fact by its own channel", () => {
        const page = new Page()
            .say("gate.state", new Gate())
            .say("pose", new PoseTransform(), 5)
            .say("truth.pose", new PoseTransform(), 5)
            .say("truth.contact", new Contact(), 1);
        const panel = page.panel(truth);
        panel.render(at(5));
        const fact = panel.body.querySelector("dd");
        expect(fact?.textContent).toContain("touches nothing now");
        expect(fact?.getAttribute("data-fresh")).toBe("stale");
        expect(panel.body.querySelector(".headline")?.getAttribute("data-fresh")).toBeNull();
        page.say("truth.contact", new Contact(), 6.5);
        panel.render(at(6.5));
        expect(panel.body.querySelector("dd"), "it is not made anew").toBe(fact);
        expect(fact?.getAttribute("data-fresh")).toBe("fresh");
        expect(panel.body.querySelector(".headline")?.getAttribute("data-fresh")).toBe("stale");
    });

    it("is not taken for good health: who missed three heartbeats is silent", () => {
        const components = [new HeartbeatComponent({ name: "nose", health: HeartbeatComponent.GOOD })];
        const beat = new Heartbeat({ robot: "harbour", period_us: 200_000, components }).withLengths();
        const ports = [new PresencePort({ name: "out", direction: PresencePort.WRITES, channel: "pose" })];
        const parts = [new PresenceComponent({ name: "nose", ports }).withLengths()];
        const offered = new Experiment({ robot: "harbour", name: "chemistry", components: parts }).withLengths();
        const page = new Page()
            .say("gate.state", new Gate())
            .say("pose", new PoseTransform())
            .say("bowline.experiment", offered)
            .say("bowline.heartbeat", beat, 1);
        const panel = page.panel(experiment);
        const health = (s: number): string | null | undefined => {
            panel.render(at(s));
            return panel.body.querySelector(".parts li")?.getAttribute("data-health");
        };
        expect([health(1.5), health(1.7)]).toEqual(["good", "silent"]);
        expect(panel.body.querySelector(".parts")?.textContent).toBe("nose (silent)");
        page.say("bowline.heartbeat", beat, 2);
        expect(health(2)).toBe("good");
    });

    it("has its age beside its name, also where it may still hold", () => {
        const page = new Page().say("a", new Gate(), 0).say("a", new Gate(), 5).say("a", new Gate(), 10);
        const readout = new Readout("Depth", "m");
        const show = (s: number): string | null => {
            readout.show("7", page.store.channel("a"), s * 1e6);
            return readout.element.querySelector(".label")!.textContent;
        };
        expect(show(10.5)).toBe("Depth");
        expect(show(13)).toBe("Depth 3.0 s ago");
        expect(readout.element.getAttribute("data-fresh")).toBe("fresh");
        expect(show(20), "the panel's head shows the age").toBe("Depth");
        expect(readout.element.getAttribute("data-fresh")).toBe("stale");
    });
});

describe("the simulation's panel", () => {
    const answer = { n_steps: 100, step_ns: 10_000_000, paused: false, seed: 1, faults: [] };
    const simulated = (page: Page): Page => page.say("gate.state", new Gate()).say("truth.pose", new PoseTransform());
    const disabled = (panel: Panel): boolean[] =>
        [...panel.body.querySelectorAll("button, select")].map((it) => (it as HTMLButtonElement).disabled);

    it("is not shown as running once the simulator stops answering", async () => {
        const page = simulated(new Page());
        page.request.mockResolvedValue({ ok: true, result: answer } as never);
        const panel = page.panel(simulation);
        const headline = panel.body.querySelector(".headline")!;
        panel.render(at(2));
        await settle();
        panel.render(at(2.1));
        expect(headline.textContent).toMatch(/^Runs: 1\.0 s/);
        page.request.mockResolvedValue({ ok: false, error: "no answer" } as never);
        for (const s of [3.2, 4.3, 5.4]) {
            panel.render(at(s));
            await settle();
        }
        panel.render(at(5.5));
        expect(headline.textContent).toMatch(/^Ran: 1\.0 s .*\(stale: no answer\)$/);
    });

    it("is only where a simulator is received", () => {
        const kinds = (page: Page): string[] =>
            wantedPanels("simulation", page.view, new Registry()).map((it) => it.kind.id);
        expect(kinds(new Page().say("gate.state", new Gate()))).not.toContain("simulation");
        expect(kinds(simulated(new Page()))).toContain("simulation");
    });

    it.each<[Hello["role"], Hello["source"], boolean]>([
        ["operator", "live", false],
        ["viewer", "live", true],
        ["operator", "replay", true],
    ])("is disabled for viewers and in a replay: %s, %s: %s", (role, source, isDisabled) => {
        const panel = simulated(new Page(role, source)).panel(simulation);
        panel.render(at(1));
        expect(new Set(disabled(panel))).toEqual(new Set([isDisabled]));
    });
});

describe("a panel of which nothing changes", () => {
    it("keeps its elements", () => {
        const page = new Page().say("gate.state", new Gate()).say("bowline.link", new Link({ name: "a" }), 1);
        const panel = page.panel(link);
        panel.render(at(1));
        const headline = panel.body.querySelector(".headline");
        expect(headline).not.toBeNull();
        panel.render(at(1.2));
        expect(panel.body.querySelector(".headline")).toBe(headline);
        panel.render(at(9));
        expect(panel.body.querySelector(".headline")?.textContent).toContain("(stale)");
    });
});
