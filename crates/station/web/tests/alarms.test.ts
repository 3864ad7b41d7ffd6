// @vitest-environment happy-dom
import { beforeEach, describe, expect, it } from "vitest";
import { Commander } from "../src/app/commander.js";
import { Gate } from "../src/generated/bowline/gate_t.js";
import { Controls } from "../src/input/hands.js";
import { alarms } from "../src/panels/alarms.js";
import type { Panel } from "../src/panels/panel.js";
import { LAYERS } from "../src/map/layers.js";
import { Registry } from "../src/panels/registry.js";
import type { Priority } from "../src/store/alarms.js";
import { Store, VehicleView } from "../src/store/store.js";

describe("the list of alarms", () => {
    let store: Store;
    let panel: Panel;
    const raise = (id: string, priority: Priority = "alarm", text = "broken", s = 0): void =>
        store.histories.alarms.follow("x", id, true, { priority, source: id, text }, s * 1e6);
    const render = (s = 0): void => panel.render({ nowMs: s * 1e3, utime: s * 1e6, isForText: true });
    const rows = (): Element[] => [...panel.body.querySelectorAll("li")];
    const names = (): (string | null | undefined)[] => rows().map((it) => it.querySelector("strong")?.textContent);
    const spoken = (): string | null | undefined => panel.body.querySelector("[aria-live]")?.textContent;
    /** Lets answers of the station arrive. */
    const settle = () => new Promise((resolve) => setTimeout(resolve));
    const ack = (at: number): HTMLButtonElement => rows()[at]!.querySelector("button")!;

    beforeEach(() => {
        store = new Store(new Registry());
        const bytes = new Gate().encode();
        store.apply({ kind: "channel", id: 0, fingerprint: Gate.FINGERPRINT, name: "gate.state" }, 0);
        store.apply({ kind: "message", id: 0, utime: 0, nSkipped: 0, bytes }, 0);
        const outlet = { publish: () => true, request: () => Promise.resolve({ ok: true }) };
        panel = alarms.make({
            store,
            view: new VehicleView(store, store.vehicles[0]!),
            commander: new Commander(store, outlet),
            controls: new Controls(),
            channel: undefined,
            layers: LAYERS,
            chooseMonitor: () => undefined,
        }) as Panel;
        document.body.replaceChildren(panel.body);
    });

    it("speaks of each once, and never of ages", () => {
        raise("motor");
        render(1);
        expect(spoken()).toBe("alarm: motor broken");
        const before = panel.body.querySelector("[aria-live]")?.firstChild;
        render(2);
        raise("motor", "alarm", "still broken", 3);
        render(3);
        expect(panel.body.querySelector("[aria-live]")?.firstChild).toBe(before);
        expect(panel.body.querySelector("[aria-live] time, [aria-live] li")).toBeNull();
        expect(panel.body.querySelector("li [aria-hidden]")?.textContent).toContain("3.0 s");
        raise("pump", "caution", "warm", 4);
        render(4);
        expect(spoken()).toBe("caution: pump warm");
    });

    it("counts what would take too long to announce", () => {
        for (const id of ["a", "b", "c", "d", "e"]) {
            raise(id);
        }
        render();
        expect(spoken()).toMatch(/and 2 more$/);
    });

    it("keeps rows, focus and buttons while others come, change and go", async () => {
        raise("motor", "warning");
        render();
        const [row] = rows();
        ack(0).focus();
        const focused = document.activeElement;
        raise("pump", "alarm", "broken", 1);
        raise("sounder", "caution", "broken", 1);
        raise("motor", "warning", "very broken", 1);
        render(1);
        expect(names()).toEqual(["pump", "motor", "sounder"]);
        expect(rows()[1]).toBe(row);
        expect(row?.textContent).toContain("very broken");
        expect(document.activeElement).toBe(focused);
        ack(0).click();
        await settle();
        render(1);
        expect(names()).toEqual(["motor", "sounder", "pump"]);
        expect(document.activeElement).toBe(focused);
        store.histories.alarms.clear("x", "pump");
        render(2);
        expect(names()).toEqual(["motor", "sounder"]);
        expect(document.activeElement).toBe(focused);
    });

    it("hands the focus on when the button that had it is done with", async () => {
        raise("motor");
        raise("pump", "warning");
        render();
        ack(0).focus();
        ack(0).click();
        await settle();
        render();
        expect(document.activeElement).toBe(ack(0));
        expect(names()[0]).toBe("pump");
    });
});
