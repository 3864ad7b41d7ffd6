// Answers questions with generated TypeScript, compiled: driver.mjs CODE FOLDER.
//
// Reads FOLDER/questions, decodes and encodes each message, and writes FOLDER/answers. An empty message asks for the
// fingerprint. The formats are in tests/src/cases.rs.

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [code, folder] = process.argv.slice(2);

/** All classes of a folder, by the names in their code. */
async function classes(folder) {
    const found = new Map();
    for (const path of readdirSync(folder, { recursive: true })) {
        if (!path.endsWith(".js") || path.endsWith("index.js")) continue;
        for (const value of Object.values(await import(pathToFileURL(resolve(folder, path))))) {
            if (typeof value === "function" && value.NAME) found.set(value.NAME, value);
        }
    }
    return found;
}

function* blocks(bytes) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    for (let at = 0; at < bytes.length; ) {
        const end = at + 4 + view.getUint32(at);
        yield bytes.subarray(at + 4, end);
        at = end;
    }
}

function answer(type, message) {
    if (message.length === 0) {
        const bytes = Buffer.alloc(8);
        bytes.writeBigUInt64BE(BigInt.asUintN(64, type.FINGERPRINT));
        return bytes;
    }
    return Buffer.from(type.decode(message).encode());
}

const types = await classes(code);
const questions = [...blocks(readFileSync(join(folder, "questions")))];
const answers = [];
for (let i = 0; i < questions.length; i += 2) {
    const name = questions[i].toString();
    const type = types.get(name);
    if (!type) throw new Error(`expected a known type, found ${name}`);
    const head = Buffer.alloc(5);
    let reply;
    try {
        reply = answer(type, questions[i + 1]);
    } catch (error) {
        head[0] = 1;
        reply = Buffer.from(String(error));
    }
    head.writeUInt32BE(reply.length, 1);
    answers.push(head, reply);
}
writeFileSync(join(folder, "answers"), Buffer.concat(answers));
