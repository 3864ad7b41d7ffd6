/**
 * The run-time schema in generated Rust: the byte string of its SCHEMA constant.
 * @param {string} source
 * @returns {Uint8Array}
 */
export function schemaOfRust(source) {
    const literal = /pub const SCHEMA: &\[u8\] = b"((?:[^"\\]|\\[\s\S])*)";/.exec(source)?.[1];
    if (literal === undefined) {
        throw new Error("expected a SCHEMA constant, found none");
    }
    const codes = /** @type {Record<string, number>} */ ({ n: 10, r: 13, t: 9, 0: 0, "\\": 92, '"': 34, "'": 39 });
    const bytes = [];
    for (let i = 0; i < literal.length; i++) {
        if (literal[i] !== "\\") {
            bytes.push(literal.charCodeAt(i));
        } else if (literal[++i] === "x") {
            bytes.push(Number.parseInt(literal.slice(i + 1, i + 3), 16));
            i += 2;
        } else {
            bytes.push(codes[literal[i]] ?? 0);
        }
    }
    return Uint8Array.from(bytes);
}
