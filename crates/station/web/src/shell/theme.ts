/** Colours for day and night: as the system has them, or as the person chose. */

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
}

/** Which colours the page has now. A kept drawing is drawn anew when they are others. */
export function shownTheme(): string {
    return document.documentElement.dataset.theme ?? "";
}

const known = { theme: "", colors: new Map<string, string>() };

/** A colour of the page's theme, by the name of its property. The browser is asked once for each theme: that is slow. */
export function themeColor(name: string): string {
    const theme = shownTheme();
    if (theme !== known.theme) {
        known.theme = theme;
        known.colors.clear();
    }
    const kept = known.colors.get(name);
    if (kept !== undefined) {
        return kept;
    }
    const color = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    // Before the style sheet is there, there is nothing to keep.
    if (color !== "") {
        known.colors.set(name, color);
    }
    return color;
}
