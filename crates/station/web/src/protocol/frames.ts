/**
 * Frames between the station and this page, as PROTOCOL.md has them: a byte for the kind, then big-endian numbers
 * and JSON.
 *
 * In: bytes of one WebSocket message. Out: a frame, or an error with what was expected. Touches no socket.
 */

import type { Bytes } from "../generated/bowline.js";

/** What a person may do. */
export type Role = "viewer" | "operator" | "supervisor";

/** Where the station's messages come from. */
export type Source = "live" | "replay" | "sim";

/** The first frame of the station. */
export interface Hello {
    readonly version: number;
    readonly user: string;
    readonly role: Role;
    readonly station: string;
    readonly source: Source;
    readonly utime: number;
    readonly charts: readonly string[];
    /** Addresses of modules with panels and layers of the map. */
    readonly panels: readonly string[];
    readonly rank: number;
}

/** How a player of a log is, in a status. */
export interface PlayerState {
    readonly log: string;
    readonly state: "playing" | "paused" | "ended";
    readonly rate: number;
    readonly utime: number;
    readonly first_utime: number;
    readonly last_utime: number;
    readonly is_looping: boolean;
    readonly bookmarks?: readonly { readonly utime: number; readonly text: string }[];
    /** Why it does not go on, for people. */
    readonly error?: string;
}

/** What the station sends five times a second. */
export interface Status {
    /** The clock that messages' times are by: the station's, or the log's in a replay. Microseconds since the epoch. */
    readonly utime: number;
    /** Seconds of that clock in a second: 1 when live, 0 in a replay that stands still. */
    readonly rate?: number;
    /** Counters by name: messages, drops, clients. */
    readonly counts?: Readonly<Record<string, number>>;
    /** Messages a second at the station by the channel's name, whatever this page is sent of them. */
    readonly rates?: Readonly<Record<string, number>>;
    readonly player?: PlayerState;
    /** Whether the station records, and where to. */
    readonly recording?: string;
}

/** How a request ended. */
export interface Reply {
    readonly ok: boolean;
    readonly error?: string;
    readonly result?: unknown;
}

/** What comes from the station. */
export type FromStation =
    | { readonly kind: "hello"; readonly hello: Hello }
    | { readonly kind: "channel"; readonly id: number; readonly fingerprint: bigint; readonly name: string }
    | { readonly kind: "schema"; readonly fingerprint: bigint; readonly bytes: Uint8Array }
    | {
          readonly kind: "message";
          readonly id: number;
          readonly utime: number;
          readonly nSkipped: number;
          readonly bytes: Uint8Array;
      }
    | { readonly kind: "status"; readonly status: Status }
    | { readonly kind: "reply"; readonly id: number; readonly reply: Reply }
    | { readonly kind: "pong"; readonly id: number }
    | { readonly kind: "reset"; readonly utime: number; readonly why: string };

/** A wish for channels: those that match, at most so often. The first wish that a channel matches counts. */
export interface Wish {
    readonly pattern: string;
    readonly type?: string;
    readonly max_hz: number;
    /** How many messages of the past beside the last one, evenly taken; 0 without it. */
    readonly past?: number;
}

/** What a page may ask of the station itself. */
export type Request =
    | { readonly what: "service"; readonly name: string; readonly request: unknown; readonly type: string }
    | { readonly what: "transform"; readonly frame: string; readonly reference: string; readonly vehicle: string }
    | { readonly what: "player"; readonly action: string; readonly value?: number | string }
    | { readonly what: "acknowledge"; readonly alarm: string; readonly since_utime: string };

/** The version of the protocol of this page. */
export const VERSION = 1;

const text = new TextDecoder("utf-8", { fatal: true });
const textEncoder = new TextEncoder();

/** Reads a frame. */
export function readFrame(data: ArrayBuffer): FromStation {
    const view = new DataView(data);
    if (view.byteLength < 1) {
        throw new FrameError("expected a kind, found an empty frame");
    }
    const kind = view.getUint8(0);
    const reader = READERS[kind];
    if (reader === undefined) {
        throw new FrameError(`expected a kind of frame from 0x01 to 0x08, found 0x${kind.toString(16)}`);
    }
    const [name, minSize, read] = reader;
    if (view.byteLength < minSize) {
        throw new FrameError(`expected at least ${minSize} bytes of ${name}, found ${view.byteLength}`);
    }
    return read(view);
}

type Read = (view: DataView) => FromStation;

const READERS: Readonly<Record<number, readonly [string, number, Read]>> = {
    0x01: ["HELLO", 3, (view) => ({ kind: "hello", hello: helloOf(json(view, 1)) })],
    0x02: [
        "CHANNEL",
        14,
        (view) => ({
            kind: "channel",
            id: view.getUint32(1),
            fingerprint: view.getBigUint64(5),
            name: text.decode(rest(view, 13)),
        }),
    ],
    0x03: ["SCHEMA", 9, (view) => ({ kind: "schema", fingerprint: view.getBigUint64(1), bytes: rest(view, 9) })],
    0x04: [
        "MESSAGE",
        25,
        (view) => ({
            kind: "message",
            id: view.getUint32(1),
            // Exact until the year 2255.
            utime: Number(view.getBigInt64(5)),
            nSkipped: view.getUint32(13),
            bytes: rest(view, 17),
        }),
    ],
    0x05: ["STATUS", 3, (view) => ({ kind: "status", status: statusOf(json(view, 1)) })],
    0x06: ["REPLY", 7, (view) => ({ kind: "reply", id: view.getUint32(1), reply: json(view, 5) as unknown as Reply })],
    0x07: ["PONG", 5, (view) => ({ kind: "pong", id: view.getUint32(1) })],
    0x08: [
        "RESET",
        3,
        (view) => {
            const { utime, why } = json(view, 1) as { utime?: unknown; why?: unknown };
            return { kind: "reset", utime: Number(utime), why: String(why ?? "") };
        },
    ],
};

function rest(view: DataView, at: number): Uint8Array {
    return new Uint8Array(view.buffer, view.byteOffset + at, view.byteLength - at);
}

function json(view: DataView, at: number): Record<string, unknown> {
    let value: unknown;
    try {
        value = JSON.parse(text.decode(rest(view, at)));
    } catch (error) {
        throw new FrameError(`expected JSON at byte ${at}, found something else: ${String(error)}`);
    }
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
        throw new FrameError(`expected a JSON object at byte ${at}, found ${JSON.stringify(value)}`);
    }
    return value as Record<string, unknown>;
}

function helloOf(value: Record<string, unknown>): Hello {
    const { role, source } = value;
    if (role !== "viewer" && role !== "operator" && role !== "supervisor") {
        throw new FrameError(`expected a role in HELLO, found ${JSON.stringify(role)}`);
    }
    if (source !== "live" && source !== "replay" && source !== "sim") {
        throw new FrameError(`expected a source in HELLO, found ${JSON.stringify(source)}`);
    }
    return {
        version: Number(value.version),
        user: String(value.user ?? ""),
        role,
        station: String(value.station ?? ""),
        source,
        utime: Number(value.utime),
        charts: Array.isArray(value.charts) ? value.charts.map(String) : [],
        panels: Array.isArray(value.panels) ? value.panels.map(String) : [],
        rank: Number(value.rank ?? 0),
    };
}

function statusOf(value: Record<string, unknown>): Status {
    if (typeof value.utime !== "number" || !Number.isFinite(value.utime)) {
        throw new FrameError(`expected a time in STATUS, found ${JSON.stringify(value.utime)}`);
    }
    return value as unknown as Status;
}

/** Asks for channels. */
export function subscribeFrame(patterns: readonly Wish[]): Bytes {
    return jsonFrame(0x11, new Uint8Array(0), { patterns });
}

/** Publishes a message, as far as the station lets it through. */
export function publishFrame(channel: string, message: Uint8Array): Bytes {
    const name = textEncoder.encode(channel);
    if (name.length < 1 || name.length > 63) {
        throw new FrameError(`expected a channel of 1 to 63 bytes, found ${name.length}`);
    }
    const frame = new Uint8Array(2 + name.length + message.length);
    frame[0] = 0x12;
    frame[1] = name.length;
    frame.set(name, 2);
    frame.set(message, 2 + name.length);
    return frame;
}

/** Asks the station for something; its reply has the same number. */
export function requestFrame(id: number, request: Request): Bytes {
    return jsonFrame(0x13, bigEndian(id), request);
}

/** Asks for a pong with the same number. */
export function pingFrame(id: number): Bytes {
    const frame = new Uint8Array(5);
    frame[0] = 0x17;
    frame.set(bigEndian(id), 1);
    return frame;
}

function bigEndian(number: number): Uint8Array {
    const bytes = new Uint8Array(4);
    new DataView(bytes.buffer).setUint32(0, number);
    return bytes;
}

function jsonFrame(kind: number, head: Uint8Array, value: unknown): Bytes {
    const body = textEncoder.encode(JSON.stringify(value));
    const frame = new Uint8Array(1 + head.length + body.length);
    frame[0] = kind;
    frame.set(head, 1);
    frame.set(body, 1 + head.length);
    return frame;
}

/** A frame that violates PROTOCOL.md. */
export class FrameError extends Error {
    override readonly name: string = "FrameError";
}
