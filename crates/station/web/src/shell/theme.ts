/** Colours for day and night: as the system says, or as the person does. */

export type Theme = "auto" | "day" | "night";

const ORDER: readonly Theme[] = ["auto", "day", "night"];
const KEY = "bowline.theme";

export function themeName(): Theme {
    const kept = window.localStorage.getItem(KEY);
    return ORDER.find((it) => it === kept) ?? "auto";
}

/** Puts the colours on the page. */
export function applyTheme(): void {
    const name = themeName();
    const isDay = name === "day" || (name === "auto" && window.matchMedia("(prefers-color-scheme: light)").matches);
    document.documentElement.dataset.theme = isDay ? "day" : "night";
}

/** The next of auto, day and night. */
export function cycleTheme(): void {
    const next = ORDER[(ORDER.indexOf(themeName()) + 1) % ORDER.length] ?? "auto";
    window.localStorage.setItem(KEY, next);
    applyTheme();
    window.dispatchEvent(new Event("bowline-theme"));
}
