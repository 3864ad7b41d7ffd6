// Prints the run-time schema of generated Rust (the SCHEMA constant of mod.rs) as bytes on standard output.
// Usage: node scripts/schema-of-rust.mjs FOLDER/mod.rs > FILE
import { readFileSync } from "node:fs";
import { schemaOfRust } from "../tests/schema_of_rust.mjs";

process.stdout.write(schemaOfRust(readFileSync(process.argv[2], "utf8")));
