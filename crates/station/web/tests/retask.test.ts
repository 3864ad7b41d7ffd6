// @vitest-environment happy-dom
import type OlMap from "ol/Map.js";
import { describe, expect, it, vi } from "vitest";
import { Gate } from "../src/generated/bowline/gate_t.js";
import { PoseTransform } from "../src/generated/bowline/pose_transform_t.js";
import { Task } from "../src/generated/bowline/task_t.js";
import { Controls } from "../src/input/hands.js";
import { LAYERS } from "../src/map/layers.js";
import { map } from "../src/panels/map.js";
import type { Context, Panel } from "../src/panels/panel.js";
import { Registry } from "../src/panels/registry.js";
import { Store, VehicleView } from "../src/store/store.js";

/** A map, and what was asked on it. */
function mapOf(isHolder: boolean): { panel: Panel; target: HTMLElement; giveTask: ReturnType<typeof vi.fn> } {
    const store = new Store(new Registry());
    [new Gate(), new PoseTransform()].forEach((message, id) => {
        const bytes = message.encode();
        const fingerprint = new DataView(bytes.buffer).getBigUint64(0);
        store.apply({ kind: "channel", id, fingerprint, name: ["gate.state", "pose"][id]! }, 0);
        store.apply({ kind: "message", id, utime: 0, nSkipped: 0, bytes }, 0);
    });
    const giveTask = vi.fn();
    const commander = { mayCommand: true, bridge: () => ({ session: { isHolder: () => isHolder } }), giveTask };
    const view = new VehicleView(store, store.vehicles[0]!);
    const context = { store, view, commander, controls: new Controls(), channel: undefined, layers: LAYERS };
    const panel = map.make(context as unknown as Context) as Panel;
    document.body.replaceChildren(panel.body);
    // What a browser would report of its layout, and draw.
    const { map: drawn } = panel as unknown as { map: OlMap };
    Object.assign(drawn, { renderFrame_: () => undefined, getPixelFromCoordinate: () => [0, 0] });
    drawn.setSize([400, 300]);
    return { panel, target: panel.body.querySelector<HTMLElement>(".map-target")!, giveTask };
}

const enter = (target: HTMLElement): boolean =>
    target.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true }));
const named = (panel: Panel, name: string): HTMLButtonElement =>
    [...panel.body.querySelectorAll("button")].find((it) => it.textContent === name)!;

describe("asking on the map by keyboard", () => {
    it("opens the menu of the place in the middle, and gives the focus back", () => {
        const { panel, target, giveTask } = mapOf(true);
        target.focus();
        enter(target);
        expect(panel.body.querySelector<HTMLElement>(".retask")?.hidden).toBe(false);
        expect(panel.body.querySelector(".retask .where")?.textContent).toBe("0.0 m east, 0.0 m north");
        expect(document.activeElement).toBe(named(panel, "Go here"));
        named(panel, "Go here").click();
        expect((giveTask.mock.calls[0]?.[1] as Task).kind).toBe(Task.ROUTE);
        expect(document.activeElement).toBe(target);
        panel.destroy?.();
    });

    it("draws an area corner by corner", () => {
        const { panel, target, giveTask } = mapOf(true);
        const view = (panel as unknown as { sight: { view: { setCenter(at: number[]): void } } }).sight.view;
        enter(target);
        named(panel, "Survey an area from here").click();
        for (const corner of [
            [10, 0],
            [10, 20],
        ]) {
            view.setCenter(corner);
            enter(target);
        }
        named(panel, "Survey it").click();
        const task = giveTask.mock.calls[0]?.[1] as Task;
        expect(task.kind).toBe(Task.SURVEY);
        expect(task.points_m.map((it) => [...it])).toEqual([
            [0, 0],
            [10, 0],
            [10, 20],
        ]);
        panel.destroy?.();
    });

    it("closes the menu and the sketch on Esc, and stops only when neither is open", () => {
        const { panel, target } = mapOf(true);
        const press = (): boolean => {
            const key = new KeyboardEvent("keydown", { key: "Escape", bubbles: true, cancelable: true });
            target.dispatchEvent(key);
            return key.defaultPrevented;
        };
        const menu = panel.body.querySelector<HTMLElement>(".retask")!;
        expect(press()).toBe(false);
        enter(target);
        expect([press(), menu.hidden]).toEqual([true, true]);
        enter(target);
        named(panel, "Survey an area from here").click();
        expect([press(), panel.body.querySelector<HTMLElement>(".area-bar")?.hidden]).toEqual([true, true]);
        expect(press()).toBe(false);
        enter(target);
        document.body.replaceChildren();
        expect(press()).toBe(false);
        panel.destroy?.();
    });

    it("shows at least fifty metres as the whole of a vehicle alone", () => {
        const { panel } = mapOf(true);
        const { map: drawn } = panel as unknown as { map: OlMap };
        panel.render({ nowMs: 0, utime: 0, isForText: false });
        named(panel, "Whole").click();
        const [x0 = 0, y0 = 0, x1 = 0, y1 = 0] = drawn.getView().calculateExtent([400, 300]);
        expect(Math.min(x1 - x0, y1 - y0)).toBeGreaterThanOrEqual(50);
        panel.destroy?.();
    });

    it("offers nothing to a station that does not hold the lease", () => {
        const { panel, target } = mapOf(false);
        enter(target);
        expect(named(panel, "Go here").disabled).toBe(true);
        expect(panel.body.querySelector(".retask .hint")?.textContent).toBe("Take control first.");
        panel.destroy?.();
    });
});
