/** Numbers and times as people read them. */

/** A number with so many decimals; a dash for what is no number. */
export function number(value: number | undefined, decimals = 1): string {
    if (value === undefined || Number.isNaN(value)) {
        return "–";
    }
    if (!Number.isFinite(value)) {
        return value > 0 ? "∞" : "−∞";
    }
    const text = value.toFixed(decimals);
    return (Number(text) === 0 ? text.replace("-", "") : text).replace("-", "−");
}

/** How long something lasts, in the unit that fits. */
export function duration(seconds: number | undefined): string {
    if (seconds === undefined || !Number.isFinite(seconds)) {
        return "–";
    }
    const s = Math.max(0, seconds);
    if (s < 10) {
        return `${s.toFixed(1)} s`;
    }
    if (s < 120) {
        return `${Math.floor(s)} s`;
    }
    if (s < 7_200) {
        return `${Math.floor(s / 60)} min ${String(Math.floor(s % 60)).padStart(2, "0")} s`;
    }
    return `${Math.floor(s / 3_600)} h ${String(Math.floor((s % 3_600) / 60)).padStart(2, "0")} min`;
}

/** The years from 0 to 9999, milliseconds since the epoch. Times come from outside, and may be anything. */
const [FIRST_MS, LAST_MS] = [-62_167_219_200_000, 253_402_300_799_999];

/** Day and time to the millisecond, UTC, as ISO 8601 has them; undefined for what no calendar of ours has. */
export function isoTime(utime: number | undefined): string | undefined {
    const ms = (utime ?? Number.NaN) / 1_000;
    return ms >= FIRST_MS && ms <= LAST_MS ? new Date(ms).toISOString() : undefined;
}

/** The time of day, UTC. */
export function clockTime(utime: number | undefined): string {
    return isoTime(utime)?.slice(11, 19) ?? "--:--:--";
}

/** The day, UTC. */
export function day(utime: number | undefined): string {
    return isoTime(utime)?.slice(0, 10) ?? "";
}

/** A compass bearing from an angle in the map frame: degrees from north, clockwise, three digits. */
export function bearing(headingRad: number | undefined): string {
    if (headingRad === undefined || !Number.isFinite(headingRad)) {
        return "–";
    }
    return String(Math.round(bearingDeg(headingRad)) % 360).padStart(3, "0");
}

/** Degrees from north, clockwise, 0 to 360, from radians from east, to the left positive. */
export function bearingDeg(headingRad: number): number {
    return (((90 - (headingRad * 180) / Math.PI) % 360) + 360) % 360;
}

/** Bytes in the unit that fits. */
export function bytes(n: number): string {
    const units = ["B", "kB", "MB", "GB"];
    let [value, unit] = [n, 0];
    while (value >= 1_000 && unit < units.length - 1) {
        value /= 1_000;
        unit += 1;
    }
    return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
}

/** A quantity with a prefix: amperes of an ion current. */
export function engineering(value: number | undefined, unit: string): string {
    if (value === undefined || !Number.isFinite(value)) {
        return "–";
    }
    if (value === 0) {
        return `0 ${unit}`;
    }
    const power = Math.max(-15, Math.min(9, Math.floor(Math.log10(Math.abs(value)) / 3) * 3));
    const prefix = { "-15": "f", "-12": "p", "-9": "n", "-6": "µ", "-3": "m", "0": "", "3": "k", "6": "M", "9": "G" }[
        String(power)
    ];
    return `${(value / 10 ** power).toFixed(1)} ${prefix ?? ""}${unit}`;
}
