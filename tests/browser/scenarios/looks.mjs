// How the page looks and reads: no violation that axe-core calls serious, and pictures of every panel to be looked at.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { goTo, PAGES, seen, takeAndClear, turnTo, until } from "../lib/bridge.mjs";
import { outFolder, World } from "../lib/world.mjs";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const SIZES = {
    phone: { width: 390, height: 844 },
    laptop: { width: 1366, height: 768 },
    wall: { width: 3840, height: 2160 },
};

test("the page, with a vehicle under way", (t) =>
    World.run(async (world) => {
        const url = await world.hub();
        await world.vessel(url);
        const station = await world.station(["-l", url, "--chart", "worlds/harbour.geojson"]);
        const captain = await world.page(station.url);
        await takeAndClear(captain);
        await goTo(captain, [160, 60]);
        await until(captain, () => document.querySelector(".map .legend:not([hidden])") !== null);

        for (const colorScheme of ["dark", "light"]) {
            await world.step(t, `has no serious violation of accessibility on any page, ${colorScheme}`, async () => {
                const page = await world.page(station.url, { colorScheme, bypassCSP: true });
                for (const name of PAGES) {
                    await show(page, name);
                    assert.deepEqual(await violations(page), [], name);
                }
            });
        }

        for (const [size, viewport] of Object.entries(SIZES)) {
            await world.step(t, `fits a ${size}, and every panel of it has its picture`, async () => {
                const isPhone = size === "phone";
                const page = await world.page(station.url, { viewport, hasTouch: isPhone, isMobile: isPhone });
                const folder = outFolder("shots", size);
                for (const name of PAGES) {
                    await show(page, name);
                    const file = path.join(folder, `page-${name.toLowerCase()}.png`);
                    await page.screenshot({ path: file, fullPage: isPhone });
                    if (!isPhone) {
                        await shootRest(page, folder, name.toLowerCase());
                    }
                    const isWider = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth + 1);
                    assert.equal(isWider, false, `${name} is wider than the screen`);
                    await assertInSight(page, seen(page).stop);
                    await assertInSight(page, seen(page).state);
                }
            });
        }

        await world.step(
            t,
            "can be used by keyboard alone: every control has the focus once, and shows it",
            async () => {
                const page = await world.page(station.url);
                await show(page, "Operate");
                const names = [];
                for (let i = 0; i < 40; i++) {
                    await page.keyboard.press("Tab");
                    names.push(
                        await page.evaluate(() => {
                            const it = document.activeElement;
                            const style = getComputedStyle(it);
                            const isSeen = style.outlineStyle !== "none" || it === document.body;
                            return `${it.getAttribute("aria-label") ?? it.textContent}${isSeen ? "" : " (unseen)"}`;
                        }),
                    );
                }
                for (const name of ["Skip to the page", "Operate", "Sensors", "STOPEsc", "Follow"]) {
                    assert.ok(names.includes(name), `expected the focus on ${name}, found ${names.join(", ")}`);
                }
                assert.deepEqual(
                    names.filter((it) => it.endsWith("(unseen)")),
                    [],
                );
            },
        );
    }));

/** Turns to a page, and waits until it has panels with something in them. */
async function show(page, name) {
    await turnTo(page, name);
    const id = { "3D": "scene" }[name] ?? name.toLowerCase();
    await until(page, (it) => document.querySelector(`main.page-${it} section.card .content > *`) !== null, id);
    await until(page, () => document.querySelector(".authority[data-state=none]") === null);
}

async function violations(page) {
    await page.evaluate(AXE);
    const { violations } = await page.evaluate(() => globalThis.axe.run(document));
    return violations
        .filter(({ impact }) => impact === "serious" || impact === "critical")
        .map(({ id, nodes }) => `${id}: ${nodes.map((it) => it.target.join(" ")).join(", ")}`);
}

/** Pictures of the panels that are not wholly on the page's own: those further down. */
async function shootRest(page, folder, name) {
    const { height } = page.viewportSize();
    const cards = await page.locator("section.card").all();
    const boxes = await Promise.all(cards.map((card) => card.boundingBox()));
    for (const card of cards.filter((_, i) => boxes[i].y + boxes[i].height > height)) {
        await card.scrollIntoViewIfNeeded();
        const panel = await card.evaluate((it) =>
            `${it.dataset.panel} ${it.querySelector(".subtitle").textContent}`.trim(),
        );
        await card.screenshot({ path: path.join(folder, `${name}-${panel.replace(/[^\w.-]+/g, "-")}.png`) });
    }
    await page.evaluate(() => window.scrollTo(0, 0));
}

/** What must never be out of sight. */
async function assertInSight(page, locator) {
    const { width, height } = page.viewportSize();
    const box = await locator.boundingBox();
    const isIn = box.x >= 0 && box.y >= 0 && box.x + box.width <= width + 1 && box.y + box.height <= height + 1;
    assert.ok(isIn, `expected it in sight, found ${JSON.stringify(box)}`);
}
