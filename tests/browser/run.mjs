// Runs every scenario of scenarios/: each file in a process of its own, with a browser, hubs, vessels and stations of its own.
// A file that is added there is run; none is listed anywhere.
//
//   npm test                                all of them
//   SCENARIOS="loss survey" npm test        only these
//   SCENARIOS_AT_ONCE=2 npm test            two at once, on a machine with more cores
//   node run.mjs FOLDER                     those of another folder

import { readdirSync, statSync } from "node:fs";
import path from "node:path";
import { run } from "node:test";
import { spec as Spec } from "node:test/reporters";
import { fileURLToPath } from "node:url";

const FOLDER = fileURLToPath(new URL("scenarios/", import.meta.url));
/** One keeps both cores of a small machine busy with drawing; with more at once, vessels and pages wait for it. */
const AT_ONCE = Number(process.env.SCENARIOS_AT_ONCE ?? 1);
/** No scenario takes so long unless it hangs: what ends one that does is in lib/world.mjs, and reports more. */
const FILE_MS = 900_000;

/** The files to run, the longest first: it takes longest, and nothing should wait for it in the end. */
function scenarioFiles(folder, wanted) {
    const found = readdirSync(folder).filter((it) => it.endsWith(".mjs"));
    const missing = (wanted ?? []).filter((it) => !found.includes(`${it}.mjs`));
    if (missing.length > 0) {
        throw new Error(`expected scenarios ${missing.join(", ")} in ${folder}, found ${found.sort().join(", ")}`);
    }
    const files = found
        .filter((it) => wanted?.includes(path.parse(it).name) ?? true)
        .map((it) => path.resolve(folder, it));
    if (files.length === 0) {
        throw new Error(`expected scenarios in ${folder}, found none`);
    }
    const size = (file) => statSync(file).size;
    return files.sort((a, b) => size(b) - size(a));
}

/** Runs files, and reports as they go. Returns what came of it. */
function runFiles(files) {
    const counts = { passed: 0, failed: 0, empty: [] };
    const tests = run({ files, concurrency: AT_ONCE, timeout: FILE_MS });
    const note = (data, isPassed) => {
        // A file that has no test is reported as one that passed.
        if (isPassed && data.nesting === 0 && files.includes(path.resolve(data.name))) {
            counts.empty.push(data.name);
            return;
        }
        const isSkipped = data.skip !== undefined || data.todo !== undefined;
        counts[isPassed && !isSkipped ? "passed" : "failed"] += 1;
    };
    tests.on("test:pass", (data) => note(data, true));
    tests.on("test:fail", (data) => note(data, false));
    return new Promise((resolve, reject) => {
        const report = tests.compose(new Spec());
        report.once("error", reject);
        report.once("end", () => resolve(counts));
        report.pipe(process.stdout, { end: false });
    });
}

const startedMs = performance.now();
const wanted = process.env.SCENARIOS?.split(/[\s,]+/).filter(Boolean);
const files = scenarioFiles(process.argv[2] ?? FOLDER, wanted);
const { passed, failed, empty } = await runFiles(files);
for (const file of empty) {
    console.error(`expected a scenario in ${file}, found none`);
}
const took = ((performance.now() - startedMs) / 1e3).toFixed(0);
console.log(`browser: ${passed} pass, ${failed + empty.length} fail, of ${files.length} files, in ${took} s`);
process.exitCode = failed > 0 || empty.length > 0 || passed === 0 ? 1 : 0;
