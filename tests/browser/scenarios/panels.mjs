// Panels and layers that are not the page's own: a folder of modules, of which some are broken.

import assert from "node:assert/strict";
import { copyFileSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { press, says, seen, turnTo, until } from "../lib/bridge.mjs";
import { portray, violations } from "../lib/portrait.mjs";
import { ROOT, World } from "../lib/world.mjs";

const card = (page, title) => page.locator("section.card").filter({ has: page.locator("h2", { hasText: title }) });

const MODULES = {
    "newer.js": `export default { api: 2, panels: [{ title: "From tomorrow", places: { sensors: "grid" } }] };`,
    "throws.js": `export default {
        api: 1,
        panels: [{
            id: "sometimes", title: "Fails sometimes", places: { sensors: "grid" }, types: ["bowline.sounding_t"],
            make: () => ({
                body: document.createElement("p"),
                render() {
                    if (globalThis.isBroken !== false) {
                        throw new Error("no water under the panel");
                    }
                },
            }),
        }],
        layers: [{ id: "broken", title: "Broken", types: ["bowline.sounding_t"], draw: () => [{ line: 7 }] }],
    };`,
    "syntax.js": "export default {",
    "covers.js": `import { text } from "./_words.js";
    export default {
        api: 1,
        panels: [{
            id: "covers", title: "Covers", places: { operate: "side" },
            make: () => {
                const body = document.createElement("div");
                body.innerHTML = '<style>* { color: red !important } div.over { position: fixed; inset: 0; background: red }</style>';
                const over = document.createElement("div");
                over.className = "over";
                over.textContent = text;
                body.append(over);
                return { body, render() {} };
            },
        }],
    };`,
    "_words.js": `export const text = "over all of it";`,
};

test("a station with panels of its own", (t) =>
    World.run(async (world) => {
        const folder = world.file("panels");
        mkdirSync(folder);
        for (const [name, text] of Object.entries(MODULES)) {
            writeFileSync(path.join(folder, name), text);
        }
        copyFileSync(path.join(ROOT, "examples/panel/keel.js"), path.join(folder, "keel.js"));
        symlinkSync(path.join(ROOT, "Cargo.toml"), path.join(folder, "link.json"));
        const url = await world.hub();
        await world.vessel(url);
        const station = await world.station(["-l", url, "--panels", folder, "--chart", "worlds/harbour.geojson"]);
        // Axe is put into the page, which its policy forbids.
        const page = await world.page(station.url, { bypassCSP: true });

        await world.step(t, "shows the panel of the example with live values and their freshness", async () => {
            const keel = card(page, "Below the keel");
            await says(keel.locator(".clearance"), /^\d+\.\d m$/);
            await says(keel.locator(".chip"), /Hz$/);
            await until(page, () => {
                const host = document.querySelector(".panel-keel-clearance .fenced");
                return (host?.shadowRoot?.querySelector("path")?.getAttribute("d") ?? "").includes("L");
            });
            assert.equal(await page.locator(".map .map-note", { hasText: "The layer Water" }).count(), 0);
        });

        await world.step(t, "draws the layer of the example, and shows which one failed", async () => {
            await page.locator(".map-note", { hasText: "The layer Broken failed" }).waitFor();
            // In the colour of enough water, or of too little.
            await until(page, () =>
                [...globalThis.drawn.keys()].some((it) => /^map stroke #(00bfff|dc143c)$/.test(it)),
            );
        });

        await world.step(
            t,
            "keeps a panel in its place: the stop is not covered, and the page keeps its colours",
            async () => {
                await card(page, "Covers").locator(".over").waitFor({ state: "attached" });
                const isUncovered = await seen(page).stop.evaluate((stop) => {
                    const { x, y, width, height } = stop.getBoundingClientRect();
                    return stop.contains(document.elementFromPoint(x + width / 2, y + height / 2));
                });
                assert.equal(isUncovered, true);
                assert.notEqual(await seen(page).state.evaluate((it) => getComputedStyle(it).color), "rgb(255, 0, 0)");
                await portray(page, "custom-panel", { shows: card(page, "Below the keel") });
            },
        );

        await world.step(t, "shows what failed in its place, and tries again", async () => {
            await turnTo(page, "Sensors");
            await says(card(page, "From tomorrow").locator(".refused"), /expected version 1 .* found 2 in newer\.js/);
            await says(card(page, "syntax.js").locator(".refused"), /cannot load syntax\.js/);
            const sometimes = card(page, "Fails sometimes");
            await says(sometimes.locator(".refused"), /no water under the panel/);
            await portray(page, "custom-failed", { shows: sometimes });
            await page.evaluate(() => (globalThis.isBroken = false));
            await sometimes.locator(".refused").waitFor({ state: "hidden" });
            assert.deepEqual(await violations(page), []);
        });

        await world.step(t, "serves what lies in the folder, and nothing else", async () => {
            const status = async (name) => (await fetch(new URL(`panels/${name}`, station.url))).status;
            assert.equal(await status("keel.js"), 200);
            for (const name of ["link.json", "..%2f..%2fCargo.toml", "", "nothing.js"]) {
                assert.equal(await status(name), 404, name);
            }
        });

        await world.step(t, "stops the vehicle as without them", async () => {
            await turnTo(page, "Operate");
            await press(page, "Take control");
            await says(seen(page).lease, "the lease is yours");
            await seen(page).stop.click();
            await says(seen(page).state, "Stopped");
        });
    }));
