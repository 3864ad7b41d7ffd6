// @vitest-environment happy-dom
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Controls } from "../src/input/hands.js";

const AHEAD = { ahead: 1, left: 0 };
let controls: Controls;
let hasFocus = true;

beforeEach(() => {
    hasFocus = true;
    vi.spyOn(document, "hasFocus").mockImplementation(() => hasFocus);
    controls = new Controls();
    controls.isEngaged = true;
});

afterEach(() => vi.restoreAllMocks());

function key(type: "keydown" | "keyup", code: string, more: KeyboardEventInit = {}): void {
    document.body.dispatchEvent(new KeyboardEvent(type, { code, key: code, bubbles: true, ...more }));
}

describe("keys", () => {
    it("drive while they are down", () => {
        key("keydown", "KeyW");
        expect(controls.hands()).toEqual(AHEAD);
        key("keyup", "KeyW");
        expect(controls.hands()).toBeUndefined();
    });

    it.each(["contextmenu", "dragstart", "blur"])(
        "are let go of by %s, since their release is not reported",
        (type) => {
            key("keydown", "KeyW");
            (type === "blur" ? window : document.body).dispatchEvent(new Event(type, { bubbles: true }));
            expect(controls.hands()).toBeUndefined();
            key("keydown", "KeyW", { repeat: true });
            expect(controls.hands(), "a key that only repeats did not go down here").toBeUndefined();
            key("keydown", "KeyW");
            expect(controls.hands()).toEqual(AHEAD);
        },
    );

    it.each(["Meta", "Alt", "Control"])("are let go of when %s goes down", (name) => {
        key("keydown", "KeyW");
        key("keydown", `${name}Left`, { key: name });
        expect(controls.hands()).toBeUndefined();
    });
});

describe("a page that is not in front", () => {
    it("has no hands on it, not even on a gamepad", () => {
        const pad = { connected: true, mapping: "standard", axes: [0, -1], buttons: [] };
        vi.stubGlobal("navigator", { getGamepads: () => [null, pad] });
        expect(controls.hands()).toEqual(AHEAD);
        hasFocus = false;
        expect(controls.hands()).toBeUndefined();
        expect(controls.away()).toBe("another window was in front");
        vi.unstubAllGlobals();
    });

    it("was left, though it has the focus again by now", () => {
        expect(controls.away()).toBe("");
        window.dispatchEvent(new Event("blur"));
        expect([controls.away(), controls.away()]).toEqual(["another window was in front", ""]);
    });
});

describe("a gamepad", () => {
    it("of an unknown layout does not count", () => {
        const pad = { connected: true, mapping: "", axes: [0, -1], buttons: [{}, { pressed: true }] };
        vi.stubGlobal("navigator", { getGamepads: () => [pad] });
        expect([controls.hands(), controls.gamepad(), controls.hasPressedStop()]).toEqual([
            undefined,
            undefined,
            false,
        ]);
        vi.unstubAllGlobals();
    });
});
