// Writes public/licenses.txt: the licences of everything that is bundled into the page, as they ask for.
// Run it when dependencies change: node scripts/licenses.mjs
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";

const { packages } = JSON.parse(readFileSync("package-lock.json", "utf8"));
const parts = ["The operator's page contains these works of others, each under its own licence.\n"];
for (const [path, { version, license, dev }] of Object.entries(packages)) {
    if (path === "" || dev === true || !existsSync(path)) {
        continue;
    }
    const file = readdirSync(path).find((name) => /^(licen[cs]e|copying|ofl)(\.(md|txt))?$/i.test(name));
    const text = file === undefined ? "" : readFileSync(`${path}/${file}`, "utf8").replaceAll("\r\n", "\n").trim();
    parts.push(`== ${path.replace(/^.*node_modules\//, "")} ${version} (${license ?? "see below"})\n\n${text}\n`);
}
writeFileSync("public/licenses.txt", parts.join("\n"));
