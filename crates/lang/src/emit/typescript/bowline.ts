/**
 * The codec under the generated messages: LCM's big-endian, packed encoding.
 *
 * In: bytes from anywhere, hostile ones included, or values from anyone. Out: a value or a message, or an error that
 * names the field, what was expected and what was found. Nothing here allocates more than a small multiple of the bytes
 * that are there. Needs ES2020, in a browser or in node.
 *
 * Byte arrays are not copied: a decoded `Uint8Array` is a view of the message it came from. Call `slice()` on it
 * before the message's buffer is used again. A NaN stays a NaN, but JavaScript does not promise to keep its bits.
 */

/** How deep a value may contain others of its own type. */
export const MAX_DEPTH = 128;

/** How many elements without any bytes a message may have. They cost a sender nothing and a receiver memory. */
export const MAX_FREE_ELEMENTS = 65_536;

/** LCM's libraries count bytes in 32-bit signed numbers, so no peer can take more. */
export const MAX_MESSAGE_SIZE = 0x7fff_ffff;

/** A step of the way to a field: a member's name, or a place in an array. */
export type Step = string | number;

/** The members of a message, each of which may be left out. */
export type Fields<T> = {
    [K in keyof T as T[K] extends (...args: never[]) => unknown ? never : K]?: T[K] | undefined;
};

/** A generated class, for code that handles messages of any type. */
export interface MessageType<T> {
    /** The type's name with its package: `bowline.path_t`. */
    readonly NAME: string;
    /** The eight bytes in front of every message, which identify its type. */
    readonly FINGERPRINT: bigint;
    decode(message: Uint8Array): T;
}

/** What a generated type adds for the functions below and for types that contain it. */
export interface Codec<T> {
    readonly NAME: string;
    readonly FINGERPRINT: bigint;
    read(reader: Reader, at: Step): T;
    write(writer: Writer, at: Step, value: T | undefined): void;
}

// Since TypeScript 5.7 a Uint8Array has the kind of its memory in its type, and browsers' `send` asks for it.
function newBytes(size: number) {
    return new Uint8Array(size);
}

/** Bytes in memory of their own. */
export type Bytes = ReturnType<typeof newBytes>;

/** Decodes a whole message. */
export function decode<T>(type: Codec<T>, message: Uint8Array): T {
    const reader = new Reader(type.NAME, message);
    reader.expectFingerprint(type.FINGERPRINT);
    const value = type.read(reader, type.NAME);
    reader.expectEnd();
    return value;
}

// Most messages are small and sent often, so one buffer serves them all.
const MAX_SPARE_SIZE = 1 << 20;
let spare: Writer | undefined;

/** Encodes a message. */
export function encode<T>(type: Codec<T>, value: T): Bytes {
    // Taken while in use: a getter in `value` may encode another message. An error drops it, half-written as it is.
    const writer = spare ?? new Writer();
    spare = undefined;
    writer.start(type.NAME, type.FINGERPRINT);
    type.write(writer, type.NAME, value);
    const message = writer.finish();
    if (message.length <= MAX_SPARE_SIZE) {
        spare = writer;
    }
    return message;
}

/** An array of `n` new elements. */
export function fill<T>(n: number, make: () => T): T[] {
    return Array.from({ length: n }, make);
}

/** Bytes that are not the message that was expected, and where they stop being it. */
export class DecodeError extends Error {
    override readonly name: string = "DecodeError";
    /** The type that was expected. */
    readonly type: string;
    /** The byte where it is wrong, counted from the start of the message. */
    readonly offset: number;
    /** The field where it is wrong, such as `waypoints[3].id`; empty for the message as a whole. */
    readonly path: string;

    constructor(type: string, offset: number, path: string, what: string) {
        super(`cannot decode ${type} at byte ${offset}${path && `, field ${path}`}: ${what}`);
        this.type = type;
        this.offset = offset;
        this.path = path;
    }
}

/** A value that was not encoded, and where in it the reason lies. */
export class EncodeError extends Error {
    override readonly name: string = "EncodeError";
    /** The type of the message. */
    readonly type: string;
    /** The field with the fault, such as `waypoints[3].id`; empty for the message as a whole. */
    readonly path: string;

    constructor(type: string, path: string, what: string) {
        super(`cannot encode ${type}: ${path && `field ${path}: `}${what}`);
        this.type = type;
        this.path = path;
    }
}

/** The way from a message to the field at hand. The first step is the message itself. */
class Trail {
    private readonly steps: Step[] = [];
    private nSteps = 0;
    /** How many of the steps are into types that contain themselves. */
    private depth = 0;

    protected push(at: Step): void {
        this.steps[this.nSteps++] = at;
    }

    /** Goes on to the next step of such a type; false below `MAX_DEPTH`. */
    protected pushDeep(at: Step): boolean {
        this.push(at);
        return ++this.depth <= MAX_DEPTH;
    }

    protected restart(): void {
        this.nSteps = 0;
        this.depth = 0;
    }

    /** Undoes `enter`, `list` and `rows`. */
    leave(): void {
        this.nSteps--;
    }

    /** Undoes `descend`. */
    ascend(): void {
        this.nSteps--;
        this.depth--;
    }

    /** The way as people write it: `waypoints[3].position`. */
    protected path(at?: Step): string {
        const steps = this.steps.slice(1, this.nSteps);
        if (at !== undefined && this.nSteps > 0) {
            steps.push(at);
        }
        let path = "";
        for (const step of steps) {
            path += typeof step === "number" ? `[${step}]` : path === "" ? step : `.${step}`;
        }
        return path;
    }
}

// Fatal, since a replaced byte cannot be distinguished from a sent one; a byte-order mark is text like any other.
const strictText = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const lenientText = new TextDecoder("utf-8", { ignoreBOM: true });
const textEncoder = new TextEncoder();

// Up to here a loop over ASCII beats a call of the platform's codec. A waypoint_t decodes in 93 ns to 210 ns with an id
// of 5 bytes, 180 ns to 215 ns with one of 32 (2026-11, node 20, busy 2-core x86-64, best of 7 alternating runs).
const SHORT_TEXT = 32;

// For each length of a short string, room for its characters.
const spareChars = Array.from({ length: SHORT_TEXT + 1 }, (_, length) => new Array<number>(length).fill(0));

/** A cursor over the bytes of a message. */
export class Reader extends Trail {
    private readonly type: string;
    private readonly view: DataView;
    private freeElements = MAX_FREE_ELEMENTS;
    /** How many bytes have been read. */
    offset = 0;

    constructor(type: string, message: Uint8Array) {
        super();
        this.type = type;
        this.view = new DataView(message.buffer, message.byteOffset, message.length);
    }

    expectFingerprint(expected: bigint): void {
        const found = this.view.getBigUint64(this.take("", 8));
        if (found !== expected) {
            const what = `expected fingerprint ${hex(expected)}, found ${hex(found)}`;
            throw this.fault(undefined, `${what}: sender and receiver have different types`, 0);
        }
    }

    expectEnd(): void {
        const left = this.left();
        if (left > 0) {
            throw this.fault(undefined, `expected the end of the message, found ${left} more bytes`);
        }
    }

    /** Goes into a struct. */
    enter(at: Step): void {
        this.push(at);
    }

    /** Goes into a struct of a type that contains itself. */
    descend(at: Step): void {
        if (!this.pushDeep(at)) {
            throw this.fault(undefined, `expected at most ${MAX_DEPTH} levels of nesting, found more`);
        }
    }

    /** Goes into an array of fixed length. */
    fixed(at: Step, length: number): number {
        this.push(at);
        return length;
    }

    /** Goes into an array of elements that take at least `minSize` bytes each. */
    list(at: Step, length: number | bigint, minSize: number): number {
        this.push(at);
        return this.count(undefined, length, minSize);
    }

    /** Goes into an array of arrays whose lengths vary too. */
    rows(at: Step, length: number | bigint): number {
        this.push(at);
        return this.positive(undefined, length);
    }

    /** Ends a row that began at `start`. Only rows with bytes are free of charge. */
    endRow(start: number): void {
        if (this.offset === start) {
            this.charge(undefined, 1);
        }
    }

    /** Checks a length field against the bytes that are left, before anything is allocated. */
    count(at: Step | undefined, length: number | bigint, minSize: number): number {
        const n = this.positive(at, length);
        if (minSize === 0) {
            this.charge(at, n);
        } else if (n > this.left() / minSize) {
            const what = `expected ${length} elements of at least ${minSize} bytes`;
            throw this.fault(at, `${what}, found ${this.left()} bytes left`);
        }
        return n;
    }

    int8(at: Step): number {
        return this.view.getInt8(this.take(at, 1));
    }

    int16(at: Step): number {
        return this.view.getInt16(this.take(at, 2));
    }

    int32(at: Step): number {
        return this.view.getInt32(this.take(at, 4));
    }

    int64(at: Step): bigint {
        return this.view.getBigInt64(this.take(at, 8));
    }

    byte(at: Step): number {
        return this.view.getUint8(this.take(at, 1));
    }

    float(at: Step): number {
        return this.view.getFloat32(this.take(at, 4));
    }

    double(at: Step): number {
        return this.view.getFloat64(this.take(at, 8));
    }

    /** C sends any byte for true, so every byte but 0 is. */
    boolean(at: Step): boolean {
        return this.view.getUint8(this.take(at, 1)) !== 0;
    }

    string(at: Step): string {
        const size = this.int32(at);
        if (size < 1) {
            const what = `expected a string length of 1 or more (the NUL counts), found ${size}`;
            throw this.fault(at, what, this.offset - 4);
        }
        const start = this.take(at, size);
        const end = start + size - 1;
        const last = this.view.getUint8(end);
        if (last !== 0) {
            throw this.fault(at, `expected the NUL that ends a string, found ${hexByte(last)}`, end);
        }
        return this.asciiText(start, end) ?? this.text(at, start, end);
    }

    int8Array(at: Step, n: number): Int8Array {
        const start = this.take(at, n);
        return new Int8Array(this.viewOf(start, n));
    }

    int16Array(at: Step, n: number): Int16Array {
        const start = this.take(at, 2 * n);
        const { view } = this;
        const items = new Int16Array(n);
        for (let i = 0; i < n; i++) {
            items[i] = view.getInt16(start + 2 * i);
        }
        return items;
    }

    int32Array(at: Step, n: number): Int32Array {
        const start = this.take(at, 4 * n);
        const { view } = this;
        const items = new Int32Array(n);
        for (let i = 0; i < n; i++) {
            items[i] = view.getInt32(start + 4 * i);
        }
        return items;
    }

    int64Array(at: Step, n: number): BigInt64Array {
        const start = this.take(at, 8 * n);
        const { view } = this;
        const items = new BigInt64Array(n);
        for (let i = 0; i < n; i++) {
            items[i] = view.getBigInt64(start + 8 * i);
        }
        return items;
    }

    /** A view of the message, not a copy. */
    byteArray(at: Step, n: number): Uint8Array {
        const start = this.take(at, n);
        return this.viewOf(start, n);
    }

    floatArray(at: Step, n: number): Float32Array {
        const start = this.take(at, 4 * n);
        const { view } = this;
        const items = new Float32Array(n);
        for (let i = 0; i < n; i++) {
            items[i] = view.getFloat32(start + 4 * i);
        }
        return items;
    }

    doubleArray(at: Step, n: number): Float64Array {
        const start = this.take(at, 8 * n);
        const { view } = this;
        const items = new Float64Array(n);
        for (let i = 0; i < n; i++) {
            items[i] = view.getFloat64(start + 8 * i);
        }
        return items;
    }

    private left(): number {
        return this.view.byteLength - this.offset;
    }

    /** Passes over `size` bytes and returns where they start. */
    private take(at: Step, size: number): number {
        const start = this.offset;
        if (size > this.view.byteLength - start) {
            throw this.fault(at, `expected ${size} bytes, found ${this.left()} before the end of the message`);
        }
        this.offset = start + size;
        return start;
    }

    /** A plain Uint8Array even of node's Buffer, whose `slice` would not copy. */
    private viewOf(start: number, size: number): Uint8Array {
        return new Uint8Array(this.view.buffer, this.view.byteOffset + start, size);
    }

    private positive(at: Step | undefined, length: number | bigint): number {
        if (length < 0) {
            throw this.fault(at, `expected a length of 0 or more, found ${length}`);
        }
        // Rounded beyond 2^53, where no message has the bytes anyway.
        return Number(length);
    }

    private charge(at: Step | undefined, n: number): void {
        this.freeElements -= n;
        if (this.freeElements < 0) {
            throw this.fault(at, `expected at most ${MAX_FREE_ELEMENTS} elements that take no bytes, found more`);
        }
    }

    private asciiText(start: number, end: number): string | undefined {
        const chars = spareChars[end - start];
        if (chars === undefined) {
            return undefined;
        }
        for (let i = 0; i < chars.length; i++) {
            const byte = this.view.getUint8(start + i);
            if (byte > 0x7f) {
                return undefined;
            }
            chars[i] = byte;
        }
        return String.fromCharCode(...chars);
    }

    private text(at: Step, start: number, end: number): string {
        const bytes = this.viewOf(start, end - start);
        try {
            return strictText.decode(bytes);
        } catch {
            const bad = firstNotUtf8(bytes);
            const what = `expected UTF-8 text, found byte ${hexByte(bytes[bad] ?? 0)}`;
            throw this.fault(at, `${what}: lcm-gen's Java and C# send Latin-1`, start + bad);
        }
    }

    private fault(at: Step | undefined, what: string, offset: number = this.offset): DecodeError {
        return new DecodeError(this.type, offset, this.path(at), what);
    }
}

/** Where the first sequence starts that is not UTF-8: there, what was read back as text and written again differs. */
function firstNotUtf8(bytes: Uint8Array): number {
    const repaired = textEncoder.encode(lenientText.decode(bytes));
    let at = 0;
    while (at < bytes.length && bytes[at] === repaired[at]) {
        at++;
    }
    while (at > 0 && ((repaired[at] ?? 0) & 0xc0) === 0x80) {
        at--;
    }
    return at;
}

/** A cursor over the buffer that receives a message. */
export class Writer extends Trail {
    private type = "";
    private bytes = newBytes(1024);
    private view = new DataView(this.bytes.buffer);
    private offset = 0;

    start(type: string, fingerprint: bigint): void {
        this.restart();
        this.type = type;
        this.offset = 0;
        const start = this.grow(8);
        this.view.setBigUint64(start, fingerprint);
    }

    finish(): Bytes {
        return this.bytes.slice(0, this.offset);
    }

    /** Goes into a struct. */
    enter<T>(at: Step, value: T | undefined): asserts value is T {
        this.expectThere(at, value);
        this.push(at);
    }

    /** Goes into a struct of a type that contains itself. */
    descend<T>(at: Step, value: T | undefined): asserts value is T {
        this.expectThere(at, value);
        if (!this.pushDeep(at)) {
            throw this.fault(undefined, `expected at most ${MAX_DEPTH} levels of nesting, found more`);
        }
    }

    /** Goes into an array, which must have `length` elements, as by the type or a length field. */
    list<T>(at: Step, items: T[] | undefined, length: number | bigint, lengthField?: string): T[] {
        if (!Array.isArray(items)) {
            throw this.wrong(at, "an array", items);
        }
        this.expectLength(at, items.length, length, lengthField);
        this.push(at);
        return items;
    }

    int8(at: Step, value: number | undefined): void {
        if (!isInteger(value, -0x80, 0x7f)) {
            throw this.wrong(at, "an integer from -128 to 127", value);
        }
        const start = this.grow(1);
        this.view.setInt8(start, value);
    }

    int16(at: Step, value: number | undefined): void {
        if (!isInteger(value, -0x8000, 0x7fff)) {
            throw this.wrong(at, "an integer from -32768 to 32767", value);
        }
        const start = this.grow(2);
        this.view.setInt16(start, value);
    }

    int32(at: Step, value: number | undefined): void {
        if (!isInteger(value, -0x8000_0000, 0x7fff_ffff)) {
            throw this.wrong(at, "an integer from -2147483648 to 2147483647", value);
        }
        const start = this.grow(4);
        this.view.setInt32(start, value);
    }

    int64(at: Step, value: bigint | undefined): void {
        if (typeof value !== "bigint" || BigInt.asIntN(64, value) !== value) {
            throw this.wrong(at, "a bigint from -9223372036854775808 to 9223372036854775807", value);
        }
        const start = this.grow(8);
        this.view.setBigInt64(start, value);
    }

    byte(at: Step, value: number | undefined): void {
        if (!isInteger(value, 0, 0xff)) {
            throw this.wrong(at, "an integer from 0 to 255", value);
        }
        const start = this.grow(1);
        this.view.setUint8(start, value);
    }

    float(at: Step, value: number | undefined): void {
        if (typeof value !== "number" || (Number.isFinite(value) && !Number.isFinite(Math.fround(value)))) {
            throw this.wrong(at, "a number that fits 32 bits", value);
        }
        const start = this.grow(4);
        this.view.setFloat32(start, value);
    }

    double(at: Step, value: number | undefined): void {
        if (typeof value !== "number") {
            throw this.wrong(at, "a number", value);
        }
        const start = this.grow(8);
        this.view.setFloat64(start, value);
    }

    boolean(at: Step, value: boolean | undefined): void {
        if (typeof value !== "boolean") {
            throw this.wrong(at, "a boolean", value);
        }
        const start = this.grow(1);
        this.view.setUint8(start, value ? 1 : 0);
    }

    string(at: Step, value: string | undefined): void {
        if (typeof value !== "string") {
            throw this.wrong(at, "a string", value);
        }
        if (value.length > SHORT_TEXT || !this.asciiText(value)) {
            this.text(at, value);
        }
    }

    int8Array(at: Step, items: Int8Array | undefined, length: number | bigint, lengthField?: string): void {
        const checked = this.expectItems(at, "Int8Array", items, length, lengthField);
        const start = this.grow(checked.length);
        this.bytes.set(new Uint8Array(checked.buffer, checked.byteOffset, checked.length), start);
    }

    int16Array(at: Step, items: Int16Array | undefined, length: number | bigint, lengthField?: string): void {
        const checked = this.expectItems(at, "Int16Array", items, length, lengthField);
        const start = this.grow(2 * checked.length);
        const { view } = this;
        for (let i = 0; i < checked.length; i++) {
            view.setInt16(start + 2 * i, checked[i] as number);
        }
    }

    int32Array(at: Step, items: Int32Array | undefined, length: number | bigint, lengthField?: string): void {
        const checked = this.expectItems(at, "Int32Array", items, length, lengthField);
        const start = this.grow(4 * checked.length);
        const { view } = this;
        for (let i = 0; i < checked.length; i++) {
            view.setInt32(start + 4 * i, checked[i] as number);
        }
    }

    int64Array(at: Step, items: BigInt64Array | undefined, length: number | bigint, lengthField?: string): void {
        const checked = this.expectItems(at, "BigInt64Array", items, length, lengthField);
        const start = this.grow(8 * checked.length);
        const { view } = this;
        for (let i = 0; i < checked.length; i++) {
            view.setBigInt64(start + 8 * i, checked[i] as bigint);
        }
    }

    byteArray(at: Step, items: Uint8Array | undefined, length: number | bigint, lengthField?: string): void {
        const checked = this.expectItems(at, "Uint8Array", items, length, lengthField);
        const start = this.grow(checked.length);
        this.bytes.set(checked, start);
    }

    floatArray(at: Step, items: Float32Array | undefined, length: number | bigint, lengthField?: string): void {
        const checked = this.expectItems(at, "Float32Array", items, length, lengthField);
        const start = this.grow(4 * checked.length);
        const { view } = this;
        for (let i = 0; i < checked.length; i++) {
            view.setFloat32(start + 4 * i, checked[i] as number);
        }
    }

    doubleArray(at: Step, items: Float64Array | undefined, length: number | bigint, lengthField?: string): void {
        const checked = this.expectItems(at, "Float64Array", items, length, lengthField);
        const start = this.grow(8 * checked.length);
        const { view } = this;
        for (let i = 0; i < checked.length; i++) {
            view.setFloat64(start + 8 * i, checked[i] as number);
        }
    }

    /** Makes room for `size` bytes and returns where they start. Replaces `bytes` and `view` when they are full. */
    private grow(size: number): number {
        const start = this.offset;
        const end = start + size;
        if (end > this.bytes.length) {
            this.enlarge(end);
        }
        this.offset = end;
        return start;
    }

    private enlarge(needed: number): void {
        if (needed > MAX_MESSAGE_SIZE) {
            throw this.fault(undefined, `expected at most ${MAX_MESSAGE_SIZE} bytes, found ${needed}`);
        }
        const bytes = newBytes(Math.min(Math.max(needed, 2 * this.bytes.length), MAX_MESSAGE_SIZE));
        bytes.set(this.bytes.subarray(0, this.offset));
        this.bytes = bytes;
        this.view = new DataView(bytes.buffer);
    }

    /** Writes a string if it is ASCII. */
    private asciiText(value: string): boolean {
        const before = this.offset;
        const start = this.grow(4 + value.length + 1);
        const { view } = this;
        view.setInt32(start, value.length + 1);
        for (let i = 0; i < value.length; i++) {
            const char = value.charCodeAt(i);
            if (char > 0x7f) {
                this.offset = before;
                return false;
            }
            view.setUint8(start + 4 + i, char);
        }
        view.setUint8(start + 4 + value.length, 0);
        return true;
    }

    private text(at: Step, value: string): void {
        const lone = value.search(/[\ud800-\udfff]/u);
        if (lone >= 0) {
            const code = value.charCodeAt(lone).toString(16);
            throw this.fault(at, `expected Unicode text, found half a surrogate pair, \\u${code}`);
        }
        const utf8 = textEncoder.encode(value);
        const start = this.grow(4 + utf8.length + 1);
        this.view.setInt32(start, utf8.length + 1);
        this.bytes.set(utf8, start + 4);
        this.view.setUint8(start + 4 + utf8.length, 0);
    }

    private expectThere(at: Step, value: unknown): void {
        if (typeof value !== "object" || value === null) {
            throw this.wrong(at, "a message", value);
        }
    }

    /** By name, not by `instanceof`: an array from another frame of the page is as good. */
    private expectItems<T extends Items>(
        at: Step,
        kind: T[typeof Symbol.toStringTag],
        items: T | undefined,
        length: number | bigint,
        lengthField: string | undefined,
    ): T {
        if (items?.[Symbol.toStringTag] !== kind) {
            throw this.wrong(at, `a ${kind}`, items);
        }
        this.expectLength(at, items.length, length, lengthField);
        return items;
    }

    private expectLength(at: Step, found: number, length: number | bigint, lengthField: string | undefined): void {
        // Loosely, since the length field of an int64_t is a bigint.
        if (found != length) {
            const says = lengthField === undefined ? "" : `, as ${lengthField} says`;
            throw this.fault(at, `expected ${length} elements${says}, found ${found}`);
        }
    }

    private wrong(at: Step, expected: string, found: unknown): EncodeError {
        return this.fault(at, `expected ${expected}, found ${describe(found)}`);
    }

    private fault(at: Step | undefined, what: string): EncodeError {
        return new EncodeError(this.type, this.path(at), what);
    }
}

/** What the typed arrays have in common. */
interface Items {
    readonly length: number;
    readonly [Symbol.toStringTag]: string;
}

function isInteger(value: number | undefined, min: number, max: number): value is number {
    return Number.isInteger(value) && (value as number) >= min && (value as number) <= max;
}

/** A value in a few words, for an error. */
function describe(value: unknown): string {
    switch (typeof value) {
        case "bigint":
            return `the bigint ${value}`;
        case "string":
            return `the string ${JSON.stringify(value.slice(0, 40))}`;
        case "object":
            return value === null ? "null" : `an object of class ${value.constructor?.name ?? "unknown"}`;
        default:
            return String(value);
    }
}

function hex(fingerprint: bigint): string {
    return `0x${fingerprint.toString(16).padStart(16, "0")}`;
}

function hexByte(byte: number): string {
    return `0x${byte.toString(16).padStart(2, "0")}`;
}
