// The operator's page in a real browser, against the real station, vehicles and gates. One browser for all.
//
//   SCENARIOS="loss survey" npm test     only these

import { after, before } from "node:test";
import { closeBrowser, openBrowser } from "./lib/world.mjs";

const ALL = ["command", "loss", "people", "link", "demo", "fleet", "looks", "survey"];

before(() => openBrowser());
after(() => closeBrowser());

const wanted = process.env.SCENARIOS?.split(/[\s,]+/) ?? ALL;
for (const name of wanted) {
    await import(`./scenarios/${name}.mjs`);
}
