/** A decoded message as a tree of fields, whatever its type: names, values, units and the comments of the type's author. */

import type { Types } from "../decode/codec.js";
import type { Member, TypeSet } from "../decode/schema.js";
import { el } from "./dom.js";
import { bytes, isoTime } from "./format.js";

const MAX_ITEMS = 24;
const MAX_DEPTH = 6;

/** A unit from the end of a name: `depth_m`. The whole list is the linter's; these are those that names end with. */
const UNITS: readonly (readonly [RegExp, string])[] = [
    [/_mps2$/, "m/s²"],
    [/_mps$/, "m/s"],
    [/_radps$/, "rad/s"],
    [/_rad$/, "rad"],
    [/_deg$/, "°"],
    [/_per_m$/, "1/m"],
    [/_cm$/, "cm"],
    [/_m$/, "m"],
    [/_ns$/, "ns"],
    [/_us$/, "µs"],
    [/_s$/, "s"],
    [/_hz$/, "Hz"],
    [/_kg$/, "kg"],
    [/_n$/, "N"],
    [/_a$/, "A"],
    [/_da$/, "Da"],
    [/_bytes$/, "B"],
];

/** The unit that a field's name ends with. */
export function unitOf(name: string): string {
    return UNITS.find(([pattern]) => pattern.test(name))?.[1] ?? "";
}

/** A value in a few words. */
export function brief(value: unknown, name = ""): string {
    if (typeof value === "bigint") {
        const time = /utime$/.test(name) && value > 0n ? isoTime(Number(value)) : undefined;
        return time === undefined ? `${value}` : `${value} (${time.slice(11, 23)})`;
    }
    if (typeof value === "number") {
        return Number.isInteger(value)
            ? String(value)
            : Number.isFinite(value)
              ? String(Number(value.toPrecision(7)))
              : String(value);
    }
    if (typeof value === "string") {
        return JSON.stringify(value.length > 200 ? `${value.slice(0, 200)}…` : value);
    }
    if (value instanceof Uint8Array) {
        const head = Array.from(value.subarray(0, 12), (it) => it.toString(16).padStart(2, "0")).join(" ");
        return `${bytes(value.length)}: ${head}${value.length > 12 ? " …" : ""}`;
    }
    if (ArrayBuffer.isView(value) || Array.isArray(value)) {
        const items = Array.from(value as unknown as ArrayLike<unknown>);
        if (items.length > MAX_ITEMS || items.some((it) => typeof it === "object")) {
            return `${items.length} items`;
        }
        return `[${items.map((it) => brief(it)).join(", ")}]`;
    }
    return typeof value === "object" ? "" : String(value);
}

/** The tree of a message. */
export function fieldTree(value: unknown, types: Types, fingerprint: bigint): HTMLElement {
    const described = types.describe(fingerprint);
    return tree(value as Record<string, unknown>, described?.set, described?.place, 0);
}

function tree(
    value: Record<string, unknown>,
    set: TypeSet | undefined,
    place: number | undefined,
    depth: number,
): HTMLElement {
    const body = place === undefined ? undefined : set?.defs[place]?.body;
    const members = body?.kind === "struct" ? body.members : undefined;
    const list = el("dl", { class: "fields" });
    for (const [name, field] of Object.entries(value)) {
        const member = members?.find((it) => it.name === name);
        list.append(...row(name, field, member, set, depth));
    }
    return list;
}

function row(
    name: string,
    field: unknown,
    member: Member | undefined,
    set: TypeSet | undefined,
    depth: number,
): HTMLElement[] {
    const constants = nameOfConstant(field, member, set);
    const unit = unitOf(name);
    const head = el("dt", { title: member?.doc ?? "" }, name);
    const text = `${brief(field, name)}${unit && typeof field !== "object" ? ` ${unit}` : ""}${constants}`;
    const cell = el("dd", {}, text);
    const inner = typeof member?.type === "number" ? member.type : undefined;
    if (depth < MAX_DEPTH && typeof field === "object" && field !== null && !ArrayBuffer.isView(field)) {
        const items: [string, unknown][] = Array.isArray(field)
            ? field.slice(0, MAX_ITEMS).map((it, i) => [`[${i}]`, it])
            : [["", field]];
        for (const [label, item] of items) {
            if (typeof item !== "object" || item === null) {
                continue;
            }
            if (ArrayBuffer.isView(item) || Array.isArray(item)) {
                cell.append(el("div", { class: "nested" }, `${label} ${brief(item)}`));
            } else {
                cell.append(
                    el("div", { class: "nested" }, label, tree(item as Record<string, unknown>, set, inner, depth + 1)),
                );
            }
        }
    }
    return [head, cell];
}

/** The name of a constant with this value, where the type has one and the comment declares that it is one. */
function nameOfConstant(field: unknown, member: Member | undefined, set: TypeSet | undefined): string {
    if (typeof field !== "number" || member === undefined || !/constants/.test(member.doc)) {
        return "";
    }
    for (const def of set?.defs ?? []) {
        if (def.body.kind === "struct" && def.body.members.includes(member)) {
            const isSecond = /second/.test(member.doc);
            const same = def.body.constants.filter((it) => Number(it.text) === field);
            const name = (isSecond ? same[1] : same[0])?.name;
            return name === undefined ? "" : ` (${name})`;
        }
    }
    return "";
}
