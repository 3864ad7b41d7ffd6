// What the page looks like: pictures of it on every size of screen, to be looked at, and what axe-core has against it.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { seen } from "./bridge.mjs";
import { outFolder } from "./world.mjs";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** As JPEG: a picture of a wall takes a software renderer three times as long as PNG. */
export const PICTURE = { type: "jpeg", quality: 90 };

export const SIZES = {
    phone: { width: 390, height: 844 },
    laptop: { width: 1366, height: 768 },
    wall: { width: 3840, height: 2160 },
};

/**
 * Takes pictures of a state of the page on every size of screen, and looks for what cannot be read. `shows` is what makes
 * the state: it is there in every picture. `inSight` must not be out of sight anywhere.
 */
export async function portray(page, name, { shows, inSight = [seen(page).stop, seen(page).state] }) {
    const before = page.viewportSize();
    for (const [size, viewport] of Object.entries(SIZES)) {
        await page.setViewportSize(viewport);
        await shows.first().waitFor();
        await page.screenshot({ ...PICTURE, path: path.join(outFolder("shots", size), `state-${name}.jpg`) });
        assert.equal(await shows.first().isVisible(), true, `${name} is over before its picture, ${size}`);
        await assertFits(page, `${name}, ${size}`);
        for (const locator of inSight) {
            await assertInSight(page, locator);
        }
    }
    await page.setViewportSize(before);
    assert.deepEqual(await violations(page), [], name);
}

/** What axe-core calls serious. */
export async function violations(page) {
    await page.evaluate(AXE);
    const { violations } = await page.evaluate(() => globalThis.axe.run(document));
    return violations
        .filter(({ impact }) => impact === "serious" || impact === "critical")
        .map(({ id, nodes }) => `${id}: ${nodes.map((it) => it.target.join(" ")).join(", ")}`);
}

/** The page does not scroll sideways. */
export async function assertFits(page, name) {
    const isWider = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth + 1);
    assert.equal(isWider, false, `${name} is wider than the screen`);
}

/** What must never be out of sight. */
export async function assertInSight(page, locator) {
    const { width, height } = page.viewportSize();
    const box = await locator.boundingBox();
    const isIn = box.x >= 0 && box.y >= 0 && box.x + box.width <= width + 1 && box.y + box.height <= height + 1;
    assert.ok(isIn, `expected it in sight, found ${JSON.stringify(box)}`);
}
