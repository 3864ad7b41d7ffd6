/** The golden messages of the repository: bytes of the reference, and what they mean. */

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parse } from "smol-toml";
import { readSchema, type TypeSet } from "../src/decode/schema.js";
import { schemaOfRust } from "./schema_of_rust.mjs";

export interface Golden {
    readonly type: string;
    readonly fingerprint: string;
    readonly value: string;
    readonly bytes: string;
}

function path(relative: string): string {
    return fileURLToPath(new URL(relative, import.meta.url));
}

/** A file of the repository. */
export function repoFile(name: string): string {
    return readFileSync(path(`../../../../${name}`), "utf8");
}

export function goldenMessages(): Golden[] {
    return (parse(repoFile("tests/golden/messages.toml")) as unknown as { message: Golden[] }).message;
}

export function bytesOf(golden: Golden): Uint8Array {
    return Uint8Array.from(golden.bytes.match(/../g) ?? [], (hex) => Number.parseInt(hex, 16));
}

/** The schema of Bowline's own types, as the compiler writes it, and of those that only exist to be golden. */
export function schemas(): { bowline: TypeSet; golden: TypeSet } {
    const rust = repoFile("crates/msgs/src/generated/mod.rs");
    return {
        bowline: readSchema(schemaOfRust(rust)),
        golden: readSchema(new Uint8Array(readFileSync(path("golden.schema")))),
    };
}
