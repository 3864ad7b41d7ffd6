// What a person does on the page, and what they see there.

import assert from "node:assert/strict";

/** Locators for what is always in sight. */
export const seen = (page) => ({
    state: page.locator(".authority .state"),
    level: page.locator(".authority .level"),
    who: page.locator(".authority .who"),
    lease: page.locator(".authority .lease-text"),
    refusal: page.locator(".authority .refusal"),
    stop: page.locator("button.stop"),
    cutOff: page.locator(".banner.cut-off"),
    replay: page.locator(".banner.replay"),
    teleop: page.locator(".teleop .state"),
    why: page.locator(".teleop .hint").first(),
    mission: page.locator(".mission .headline"),
    position: readout(page, "Position"),
});

/** The value of a readout, by the beginning of its label. */
export function readout(page, label) {
    return page.locator(".readout", { hasText: label }).first().locator(".value");
}

/** Waits until the text of an element matches. */
export async function says(locator, expected) {
    const pattern = expected instanceof RegExp ? expected : new RegExp(`^${escape(expected)}$`);
    try {
        await locator.filter({ hasText: pattern }).first().waitFor();
    } catch (error) {
        const found = await locator.allTextContents().catch(() => []);
        throw new Error(`expected ${expected}, found ${JSON.stringify(found)}`, { cause: error });
    }
}

function escape(text) {
    return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

export const press = (page, name) => page.getByRole("button", { name, exact: true }).first().click();

/** Takes control of a vehicle without a holder. */
export async function take(page) {
    await press(page, "Take control");
    await says(seen(page).lease, "the lease is yours");
}

/** Takes control and lets the stop that a gate begins with be over. */
export async function takeAndClear(page) {
    await take(page);
    // A gate with a fence lets nothing move while the vehicle's place is unknown.
    await place(page);
    await press(page, "Clear the stop");
    await says(seen(page).state, "Idle");
}

/**
 * Sends the vehicle to a place by typing where. A gate takes no task that was given before its word of a cleared stop had
 * come: a command that was that quick is refused, and sent again.
 */
export async function goTo(page, [x, y]) {
    await page.getByLabel("East, metres").fill(String(x));
    await page.getByLabel("North, metres").fill(String(y));
    const tooEarly = page.locator(".journal li", { hasText: /expected a command that was made after the stop/ });
    const autonomous = seen(page).state.filter({ hasText: /^Autonomous$/ });
    for (let n = 1; n < MOST_TRIES; n++) {
        const another = tooEarly.nth(await tooEarly.count());
        await press(page, "Go to");
        // Whichever comes first.
        await autonomous.or(another).first().waitFor();
        if (await autonomous.isVisible()) {
            return;
        }
        console.log("tried once more to give a task: it was given before the gate's word of the cleared stop had come");
    }
    await says(seen(page).state, "Autonomous");
}

/** Where the vehicle is by its own report. */
export async function place(page) {
    await seen(page).position.filter({ hasText: /\d/ }).waitFor();
    const text = (await seen(page).position.textContent()) ?? "";
    return text.replaceAll("−", "-").split(",").map(Number);
}

/** Waits until a condition on the page's texts holds. */
export async function until(page, condition, argument) {
    await page.waitForFunction(condition, argument, { polling: 100 });
}

/**
 * Clicks on places of the map. Where they are on the screen is computed from a first click, whose place the page shows, and from
 * the scale in the corner.
 */
export class Pointer {
    static async of(page) {
        const pointer = new Pointer();
        pointer.page = page;
        const follow = page.locator(".map-tools").getByRole("button", { name: "Follow" });
        if ((await follow.getAttribute("aria-pressed")) === "true") {
            await follow.click();
        }
        pointer.box = await page.locator(".map-target").first().boundingBox();
        const { x, y, width, height } = pointer.box;
        await pointer.#clickAt(x + width * 0.4, y + height * 0.4);
        const menu = page.locator(".retask");
        await menu.waitFor();
        // The map may have moved so that the menu fits: the menu is where the place is now.
        pointer.place = (await menu.locator(".where").textContent())
            .replaceAll("−", "-")
            .match(/(\S+) m east, (\S+) m north/)
            .slice(1)
            .map(Number);
        const corner = await menu.boundingBox();
        pointer.at = [corner.x - MENU_OFFSET_PX, corner.y - MENU_OFFSET_PX];
        pointer.perM = await page
            .locator(".ol-scale-line-inner")
            .first()
            .evaluate((it) => {
                const [, length, unit] = it.textContent.match(/(\S+) (k?m)/);
                return Number.parseFloat(it.style.width) / (Number(length) * (unit === "km" ? 1e3 : 1));
            });
        await menu.getByRole("button", { name: "Cancel" }).click();
        await menu.waitFor({ state: "hidden" });
        return pointer;
    }

    /** Clicks on a place. */
    async click([x, y]) {
        const { at, perM, place, box } = this;
        const [px, py] = [at[0] + (x - place[0]) * perM, at[1] - (y - place[1]) * perM];
        const isOn = px > box.x && py > box.y && px < box.x + box.width && py < box.y + box.height;
        assert.ok(isOn, `expected ${x}, ${y} on the map, found it at ${px}, ${py}`);
        await this.#clickAt(px, py);
    }

    /** Two clicks in a row are a double click until the map has decided that the first was one of its own. */
    async #clickAt(x, y) {
        await until(this.page, () => globalThis.nUndecided === 0);
        await this.page.mouse.click(x, y);
    }
}

const MENU_OFFSET_PX = 10;

/** How often a person tries again to drive by hand: each time there must be a cause, and it is printed. */
const MOST_TRIES = 10;
/** How long the page may take to show that it makes ready. */
const BEGINS_WITHIN_MS = 5_000;
/**
 * The page gives up after 250 ms in which it had no turn, after a second in which it drew nothing, of which it leaves out up
 * to a quarter itself, and after 500 ms without a token (docs/control.md); some less is seen here.
 */
const EXCUSES = [
    [/held up/, "page", 200],
    [/does not draw/, "picture", 700],
    [/does not answer/, "token", 400],
];

/**
 * Makes ready to drive by hand. The page gives up where it or the vehicle was held up for long, as on a machine that does
 * other things too; then a person tries again. Whatever else it gives up for is an error.
 */
export async function engage(page) {
    for (let n = 1; ; n++) {
        const since = await page.evaluate(() => performance.now());
        await press(page, "Drive by hand");
        // It may have given up before anything here could look.
        const began = await becomes(page, ["arming", "ready"], BEGINS_WITHIN_MS).catch(() => "unseen");
        if (began !== "unseen") {
            await becomes(page, ["ready", "off"]);
            if ((await stateOf(page)) === "ready") {
                return;
            }
        }
        await excuse(page, since, n);
    }
}

/** How hands are put to the controls, and taken off: by the key W. */
const keyW = (page) => ({ down: () => page.keyboard.down("KeyW"), up: () => page.keyboard.up("KeyW") });

/**
 * Drives ahead by hand until `hasMoved` has seen what it waits for; where the page gave up before that for a cause, once more.
 * The hands stay at the controls.
 */
export async function steer(page, hasMoved, hands = keyW(page)) {
    for (let n = 1; ; n++) {
        // What held the page up while it was made ready may be reported only afterwards.
        const since = await page.evaluate(() => performance.now());
        await engage(page);
        const moved = hasMoved().then(() => true);
        // It is not waited for any more where the page gave up.
        moved.catch(() => undefined);
        await hands.down();
        const given = becomes(page, ["off", "arming"]).then(
            () => false,
            () => moved,
        );
        if (await Promise.race([moved, given])) {
            return;
        }
        await hands.up();
        if ((await stateOf(page)) === "off") {
            await excuse(page, since, n);
        } else {
            await excuseGate(page, n);
        }
    }
}

const stateOf = (page) => page.locator(".teleop").getAttribute("data-state");

/** Looks whether the gate refused a command because it was late, after which it wants the controls to be let go first. */
async function excuseGate(page, n) {
    const refused = page.locator(".journal li", { hasText: /expected a token of at most|expected neutral input/ });
    const why = await refused.first().textContent();
    if (n >= MOST_TRIES) {
        throw new Error(`expected to drive by hand at try ${n}, found: ${why}`);
    }
    console.log(`tried once more to drive by hand: ${why}`);
    if ((await stateOf(page)) !== "off") {
        await press(page, "Hands off");
    }
}

/** The page sets its state with each picture: none is missed. */
async function becomes(page, states, timeout = undefined) {
    await page.waitForFunction((it) => it.includes(document.querySelector(".teleop")?.dataset.state), states, {
        polling: "raf",
        timeout,
    });
}

/** Looks whether what the page gave up for really was. */
async function excuse(page, since, n) {
    await says(seen(page).teleop, "Hands off");
    const why = await seen(page).why.textContent();
    const gaps = await page.evaluate((since) => globalThis.gaps.filter(({ atMs }) => atMs > since), since);
    const isTrue = EXCUSES.some(
        ([text, what, ms]) => text.test(why) && gaps.some((it) => it.what === what && it.ms > ms),
    );
    if (!isTrue || n >= MOST_TRIES) {
        throw new Error(`expected to drive by hand at try ${n}, found: ${why}; gaps: ${JSON.stringify(gaps)}`);
    }
    console.log(`tried once more to drive by hand: ${why}, and so it was`);
}

/** The commands of a vehicle's thrusters. */
export const isZero = ({ port, starboard }) => port === 0 && starboard === 0;
export const isAhead = ({ port, starboard }) => port > 0.1 && starboard > 0.1;

/** The panels of the page in front, by what they are and what of. */
export async function panels(page) {
    return page
        .locator("section.card")
        .evaluateAll((cards) =>
            cards.map((it) => `${it.dataset.panel} ${it.querySelector(".subtitle")?.textContent ?? ""}`.trim()).sort(),
        );
}

export const PAGES = ["Operate", "Sensors", "Simulation", "3D", "Messages"];

/** Turns to a page by its name. */
export async function turnTo(page, name) {
    await page.getByRole("navigation", { name: "Pages" }).getByRole("button", { name, exact: true }).click();
}
