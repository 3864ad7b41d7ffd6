/**
 * A person's hands: keyboard, stick on the screen, gamepad. Whichever is held; the gamepad first, then the stick.
 *
 * Undefined means that no control is held. All of them count only while the page is in sight and has the focus, keys only
 * where no field takes text; what is held is forgotten when anything else takes the keyboard: a key that is let go elsewhere
 * is never seen.
 */

import type { Hands } from "../session/hands.js";

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

/** Shift is none of them: it changes no other key's coming up. */
const MODIFIERS: ReadonlySet<string> = new Set(["Alt", "AltGraph", "Control", "Meta", "OS", "ContextMenu"]);

const DEAD_ZONE = 0.12;
/** The right one of the four, B or circle, in the standard mapping. */
const STOP_BUTTON = 1;

/** The direction of the keys that are down; undefined if none counts. */
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

/** The position of a gamepad's left stick; undefined if it is at rest. */
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
    private wasLeft = false;
    /** The position of the stick on the screen; undefined while it is not touched. */
    stick: Hands | undefined;
    /** Whether keys drive: only while driving is engaged, so that arrows go on scrolling otherwise. */
    isEngaged = false;

    constructor() {
        window.addEventListener("keydown", (event) => this.keyDown(event));
        window.addEventListener("keyup", (event) => this.down.delete(event.code));
        window.addEventListener("blur", () => this.leave());
        document.addEventListener("visibilitychange", () => this.leave());
        // While a menu or a drag has the keyboard, no event reports that a key comes up.
        for (const taken of ["contextmenu", "dragstart"]) {
            window.addEventListener(taken, () => this.letGo(), { capture: true });
        }
    }

    /** What is held now. */
    hands(): Hands | undefined {
        if (!isInFront()) {
            return undefined;
        }
        const pad = this.gamepad();
        return (pad && handsOfGamepad(pad.axes)) ?? this.stick ?? handsOfKeys(this.down);
    }

    /** Why no person can be at the controls, now or since the last call; empty if one can. */
    away(): string {
        const wasLeft = this.wasLeft;
        this.wasLeft = false;
        if (document.visibilityState !== "visible") {
            return "the page was out of sight";
        }
        return wasLeft || !isInFront() ? "another window was in front" : "";
    }

    /** The first gamepad that is there and has the standard layout. */
    gamepad(): Gamepad | undefined {
        const isOne = (it: Gamepad | null): boolean => it !== null && it.connected && it.mapping === "standard";
        return navigator.getGamepads?.().find(isOne) ?? undefined;
    }

    /** Whether the gamepad's stop went down since this was last asked. */
    hasPressedStop(): boolean {
        const wasDown = this.isStopDown;
        this.isStopDown = this.gamepad()?.buttons[STOP_BUTTON]?.pressed ?? false;
        return this.isStopDown && !wasDown;
    }

    private keyDown(event: KeyboardEvent): void {
        if (MODIFIERS.has(event.key)) {
            // Some systems report nothing of the other keys while one of these is down.
            this.letGo();
            return;
        }
        if (!this.isEngaged || takesText(event.target) || event.ctrlKey || event.metaKey || event.altKey) {
            return;
        }
        if (event.code in KEYS) {
            // A key that repeats and did not go down here went down elsewhere, or was let go of by us.
            if (!event.repeat) {
                this.down.add(event.code);
            }
            event.preventDefault();
        }
    }

    private leave(): void {
        this.wasLeft = true;
        this.letGo();
    }

    private letGo(): void {
        this.down.clear();
        this.stick = undefined;
    }
}

/** Whether this is the page in sight that has the focus. */
function isInFront(): boolean {
    return document.visibilityState === "visible" && document.hasFocus();
}
