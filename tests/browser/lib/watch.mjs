// Runs in the page before its own scripts, and reports what cannot be read from its elements: what is drawn on canvases, when
// messages came, and when the page was held up. It changes nothing that the page does.

import { PATIENCE_MS } from "./patience.mjs";

/** For `addInitScript`: whatever it needs is within it. */
export function watch() {
    /** What was drawn last in each panel, by colour: when, how often, and whether its place was on the canvas. */
    globalThis.drawn = new Map();
    /** How many cells of the ground were painted last: pictures that are laid over the map are painted out of sight. */
    globalThis.nCells = 0;
    /** When the last message of each channel came, by the page's clock. */
    globalThis.heardMs = new Map();
    /** Times without a turn of the page's timers, a picture of the screen, or a token of a gate, that were long. */
    globalThis.gaps = [];
    /** Clicks of which the map does not know yet whether they are the first half of a double click. */
    globalThis.nUndecided = 0;

    const LONG_MS = 200;
    const DECIDES_AFTER_MS = 250;
    const { prototype } = CanvasRenderingContext2D;
    for (const kind of ["stroke", "fill"]) {
        const real = prototype[kind];
        prototype[kind] = function (...args) {
            const panel = this.canvas.closest?.("[data-panel]")?.dataset.panel;
            const color = kind === "fill" ? this.fillStyle : this.strokeStyle;
            if (panel !== undefined && typeof color === "string") {
                const isDashed = kind === "stroke" && this.getLineDash().length > 0;
                const key = `${panel} ${kind} ${color}${isDashed ? " dashed" : ""}`;
                const { e, f } = this.getTransform();
                const isOn = e >= 0 && f >= 0 && e <= this.canvas.width && f <= this.canvas.height;
                const n = (globalThis.drawn.get(key)?.n ?? 0) + 1;
                globalThis.drawn.set(key, { ms: performance.now(), n, isOn });
            }
            return real.apply(this, args);
        };
    }

    for (const { prototype } of [CanvasRenderingContext2D, OffscreenCanvasRenderingContext2D]) {
        const real = prototype.putImageData;
        prototype.putImageData = function (image, ...args) {
            if (!this.canvas.isConnected && image.height > 1) {
                globalThis.nCells = new Uint32Array(image.data.buffer).reduce((n, it) => n + (it >>> 24 && 1), 0);
            }
            return real.call(this, image, ...args);
        };
    }

    let drawnMs = performance.now();
    const draw = () => {
        const now = performance.now();
        note("picture", now - drawnMs, now);
        drawnMs = now;
        requestAnimationFrame(draw);
    };
    requestAnimationFrame(draw);

    let tickedMs = performance.now();
    setInterval(() => {
        const now = performance.now();
        note("page", now - tickedMs, now);
        tickedMs = now;
    }, 20);

    function note(what, ms, atMs) {
        if (ms > LONG_MS) {
            globalThis.gaps.push({ what, ms, atMs });
            globalThis.gaps.splice(0, globalThis.gaps.length - 100);
        }
    }

    const names = new Map();
    const Real = globalThis.WebSocket;
    globalThis.WebSocket = class extends Real {
        constructor(...args) {
            super(...args);
            this.addEventListener("message", ({ data }) => take(data));
        }
    };

    /** Frames as crates/station/web/PROTOCOL.md has them. */
    function take(data) {
        const view = new DataView(data);
        if (view.getUint8(0) === 2) {
            names.set(view.getUint32(1), new TextDecoder().decode(new Uint8Array(data, 13)));
        } else if (view.getUint8(0) === 4) {
            const [name, now] = [names.get(view.getUint32(1)) ?? "", performance.now()];
            if (name.endsWith("gate.token")) {
                note("token", now - (globalThis.heardMs.get(name) ?? now), now);
            }
            globalThis.heardMs.set(name, now);
        }
    }

    // The map waits so long after a click for another one: until then it has not decided.
    const undecided = new Set();
    const [setReal, clearReal] = [globalThis.setTimeout, globalThis.clearTimeout];
    globalThis.setTimeout = (run, ms, ...args) => {
        if (ms !== DECIDES_AFTER_MS || typeof run !== "function") {
            return setReal(run, ms, ...args);
        }
        const id = setReal(() => {
            decide(id);
            run(...args);
        }, ms);
        undecided.add(id);
        globalThis.nUndecided = undecided.size;
        return id;
    };
    globalThis.clearTimeout = (id) => {
        decide(id);
        clearReal(id);
    };

    function decide(id) {
        undecided.delete(id);
        globalThis.nUndecided = undecided.size;
    }
}

/** Waits until all of these are drawn anew in a panel: kind, colour of the theme, and "dashed" where it is. */
export async function isDrawn(page, panel, marks) {
    const missing = (since) =>
        page.evaluate(
            ([panel, marks, since]) => {
                const context = document.createElement("canvas").getContext("2d");
                return marks
                    .filter(([kind, name, look]) => {
                        // As a canvas spells it.
                        context.fillStyle = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
                        const key = `${panel} ${kind} ${context.fillStyle}${look === "dashed" ? " dashed" : ""}`;
                        const it = globalThis.drawn.get(key);
                        return it === undefined || !it.isOn || it.ms < since;
                    })
                    .map((it) => it.join(" "));
            },
            [panel, marks, since],
        );
    const since = await page.evaluate(() => performance.now());
    await poll(
        async () => {
            const found = await missing(since);
            return found.length === 0 ? undefined : found;
        },
        page,
        (found) => `expected on ${panel}, and not drawn: ${found.join("; ")}`,
    );
}

/** Asks again with each picture of the page, until nothing is amiss. */
async function poll(ask, page, complain) {
    const deadlineMs = performance.now() + PATIENCE_MS;
    for (;;) {
        const amiss = await ask();
        if (amiss === undefined) {
            return;
        }
        if (performance.now() > deadlineMs) {
            throw new Error(complain(amiss));
        }
        await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(resolve)));
    }
}

/** Waits until a panel's canvas shows something: at least so many colours. */
export async function hasPicture(page, panel, nColours) {
    await poll(
        async () => {
            const n = await page.locator(`[data-panel=${panel}] canvas`).first().evaluate(coloursOf);
            return n >= nColours ? undefined : n;
        },
        page,
        (n) => `expected at least ${nColours} colours on ${panel}, found ${n}`,
    );
}

/** How many colours there are on a canvas, looked at in a grid. */
function coloursOf(canvas) {
    const { width, height } = canvas;
    if (width === 0 || height === 0) {
        return 0;
    }
    const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
    const pixels = new Uint32Array(data.buffer);
    const found = new Set();
    for (let i = 0; i < pixels.length; i += 1) {
        // What is not opaque is drawn on with less than a whole line.
        if (pixels[i] >>> 24 > 0) {
            found.add(pixels[i]);
        }
    }
    return found.size;
}
