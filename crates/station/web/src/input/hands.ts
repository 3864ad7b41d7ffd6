/**
 * A person's hands: keyboard, stick on the screen, gamepad. Whichever is held; the gamepad first, then the stick.
 *
 * Undefined means that nobody holds anything. Keys count only while the page has the focus and no field takes text, and
 * are forgotten when the focus goes: a key that is let go elsewhere is never seen.
 */

import type { Hands } from "../session/drive.js";

const KEYS: Readonly<Record<string, Hands>> = {
    KeyW: { ahead: 1, left: 0 },
    KeyS: { ahead: -1, left: 0 },
    KeyA: { ahead: 0, left: 1 },
    KeyD: { ahead: 0, left: -1 },
    ArrowUp: { ahead: 1, left: 0 },
    ArrowDown: { ahead: -1, left: 0 },
    ArrowLeft: { ahead: 0, left: 1 },
    ArrowRight: { ahead: 0, left: -1 },
};

const DEAD_ZONE = 0.12;
/** The right one of the four, B or circle, in the standard mapping. */
const STOP_BUTTON = 1;

/** What keys that are down say together; undefined if none counts. */
export function handsOfKeys(keys: Iterable<string>): Hands | undefined {
    let [ahead, left, n] = [0, 0, 0];
    for (const key of keys) {
        const hands = KEYS[key];
        if (hands !== undefined) {
            ahead += hands.ahead;
            left += hands.left;
            n += 1;
        }
    }
    return n === 0 ? undefined : { ahead: Math.sign(ahead), left: Math.sign(left) };
}

/** What a gamepad's left stick says; undefined if it is at rest. */
export function handsOfGamepad(axes: readonly number[]): Hands | undefined {
    const [x = 0, y = 0] = axes;
    if (Math.hypot(x, y) < DEAD_ZONE) {
        return undefined;
    }
    // Adding 0 turns -0 into 0.
    return { ahead: shape(-y) + 0, left: shape(-x) + 0 };
}

/** From the edge of the dead zone on, without a jump. */
function shape(axis: number): number {
    const beyond = Math.max(0, Math.abs(axis) - DEAD_ZONE) / (1 - DEAD_ZONE);
    return Math.sign(axis) * Math.min(1, beyond);
}

function takesText(target: EventTarget | null): boolean {
    return (
        target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
    );
}

/** All controls of this page. */
export class Controls {
    private readonly down = new Set<string>();
    private isStopDown = false;
    /** What the stick on the screen says; undefined while nobody touches it. */
    stick: Hands | undefined;
    /** Whether keys drive: only while somebody has engaged, so that arrows go on scrolling otherwise. */
    isEngaged = false;
    /** What was held last, for people. */
    device = "";

    constructor() {
        window.addEventListener("keydown", (event) => this.keyDown(event));
        window.addEventListener("keyup", (event) => this.down.delete(event.code));
        window.addEventListener("blur", () => this.letGo());
        document.addEventListener("visibilitychange", () => this.letGo());
    }

    /** What is held now. */
    hands(): Hands | undefined {
        const pad = this.gamepad();
        const hands = (pad && handsOfGamepad(pad.axes)) ?? this.stick ?? handsOfKeys(this.down);
        if (hands !== undefined) {
            this.device = pad && handsOfGamepad(pad.axes) ? "gamepad" : this.stick ? "stick" : "keyboard";
        }
        return hands;
    }

    /** The first gamepad that is there. */
    gamepad(): Gamepad | undefined {
        return navigator.getGamepads?.().find((it) => it !== null && it.connected) ?? undefined;
    }

    /** Whether the gamepad's stop went down since this was last asked. */
    hasPressedStop(): boolean {
        const wasDown = this.isStopDown;
        this.isStopDown = this.gamepad()?.buttons[STOP_BUTTON]?.pressed ?? false;
        return this.isStopDown && !wasDown;
    }

    private keyDown(event: KeyboardEvent): void {
        if (!this.isEngaged || takesText(event.target) || event.ctrlKey || event.metaKey || event.altKey) {
            return;
        }
        if (event.code in KEYS) {
            this.down.add(event.code);
            event.preventDefault();
        }
    }

    private letGo(): void {
        this.down.clear();
        this.stick = undefined;
    }
}
