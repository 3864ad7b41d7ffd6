// What runs the scenarios: every file that is there, no run without any, and none that only looks as if it had passed.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const RUN = fileURLToPath(new URL("run.mjs", import.meta.url));

/** Runs a folder of scenarios, by name and text: the exit code, the last line and the errors. */
function runOf(files, wanted) {
    const folder = mkdtempSync(path.join(tmpdir(), "bowline-scenarios-"));
    for (const [name, text] of Object.entries(files)) {
        writeFileSync(path.join(folder, name), text);
    }
    const env = { ...process.env, SCENARIOS: wanted };
    // What runs tests does not do so within a test of another run.
    delete env.NODE_TEST_CONTEXT;
    if (wanted === undefined) {
        delete env.SCENARIOS;
    }
    const { status, stdout, stderr } = spawnSync(process.execPath, [RUN, folder], { env, encoding: "utf8" });
    rmSync(folder, { recursive: true, force: true });
    return {
        status,
        last: stdout
            .trim()
            .split("\n")
            .at(-1)
            .replace(/, in \d+ s$/, ""),
        stderr,
    };
}

const GOOD = 'import { test } from "node:test"; test("it", (t) => t.test("step", () => {}));';

test("every file of the folder is run, or those that are wanted", () => {
    const files = { "a.mjs": GOOD, "b.mjs": GOOD, "notes.txt": "" };
    const all = runOf(files);
    assert.deepEqual([all.status, all.last], [0, "browser: 4 pass, 0 fail, of 2 files"]);
    const one = runOf(files, "b");
    assert.deepEqual([one.status, one.last], [0, "browser: 2 pass, 0 fail, of 1 files"]);
    const gone = runOf(files, "b gone");
    assert.equal(gone.status, 1);
    assert.match(gone.stderr, /expected scenarios gone in .*, found a\.mjs, b\.mjs/);
});

test("a folder without scenarios fails", () => {
    const { status, stderr } = runOf({ "notes.txt": "" });
    assert.equal(status, 1);
    assert.match(stderr, /expected scenarios in .*, found none/);
});

for (const [what, text] of Object.entries({
    "a scenario that fails": 'import { test } from "node:test"; test("it", () => { throw new Error("no"); });',
    "a scenario that is skipped": 'import { test } from "node:test"; test("it", { skip: true }, () => {});',
    "a file that does not load": 'throw new Error("it does not load");',
    "a file without a scenario": "export {};",
})) {
    test(`${what} fails the run`, () => {
        const { status, last } = runOf({ "good.mjs": GOOD, "other.mjs": text });
        assert.deepEqual([status, last], [1, "browser: 2 pass, 1 fail, of 2 files"]);
    });
}
