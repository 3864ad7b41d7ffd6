// @vitest-environment happy-dom
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ChartLayer } from "../src/map/chart.js";
import type { LayerContext, Side } from "../src/map/layer.js";
import { applyTheme, themeColor } from "../src/shell/theme.js";

const FENCE = {
    type: "FeatureCollection",
    frame: "map",
    features: [
        {
            type: "Feature",
            properties: { kind: "geofence", name: "fence" },
            geometry: { type: "LineString", coordinates: [[0, 0], [9, 9]] }, // prettier-ignore
        },
    ],
};

const chartLayer = (side: Side = "belief"): ChartLayer => new ChartLayer({ side } as LayerContext);

function styleIn(chart: ChartLayer): { getText(): { getText(): string }; getStroke(): { getColor(): string } } {
    const [feature] = chart.source.getFeatures();
    return chart.drawn.getStyleFunction()?.(feature!, 1) as never;
}

describe("charts", () => {
    const fetched = vi.fn();
    let n = 0;
    let url = "";
    beforeEach(() => {
        // Charts are kept for as long as the page lives.
        n += 1;
        url = `/charts/${n}`;
        fetched.mockReset();
        fetched.mockImplementation(() => Promise.resolve(new Response(JSON.stringify(FENCE))));
        vi.stubGlobal("fetch", fetched);
    });
    afterEach(() => {
        vi.unstubAllGlobals();
    });

    it("are fetched once for all maps", async () => {
        const [one, two] = [chartLayer(), chartLayer("truth")];
        await Promise.all([one.load([url], 0), two.load([url], 0)]);
        await one.load([url], 100);
        expect(fetched).toHaveBeenCalledTimes(1);
        expect([one, two].map((it) => it.source.getFeatures().length)).toEqual([1, 1]);
        expect(one.missing).toBe("");
    });

    it("that could not be loaded are shown as missing, and tried again", async () => {
        fetched.mockImplementationOnce(() => Promise.resolve(new Response("", { status: 503 })));
        const chart = chartLayer();
        await chart.load([url], 0);
        expect(chart.missing).toContain("503");
        await chart.load([url], 1_000);
        expect(fetched, "not at once").toHaveBeenCalledTimes(1);
        await chart.load([url], 10_000);
        expect(chart.missing).toBe("");
        expect(chart.source.getFeatures().length).toBe(1);
    });

    it("do not all vanish because one could not be had", async () => {
        fetched.mockImplementationOnce(() => Promise.reject(new TypeError("no network")));
        const chart = chartLayer();
        await chart.load([`${url}-gone`, url], 0);
        expect(chart.source.getFeatures().length).toBe(1);
        expect(chart.missing).toContain("no network");
    });

    it("that a station does not have are shown as missing", async () => {
        const chart = chartLayer();
        await chart.load([], 0);
        expect(chart.missing).not.toBe("");
    });

    it("mark a fence as theirs, and not as a gate's", async () => {
        const chart = chartLayer();
        await chart.load([url], 0);
        expect(styleIn(chart).getText().getText()).toBe("fence (as charted)");
    });

    it("follow the colours of the page", async () => {
        document.head.innerHTML = '<style>:root { --fence: red } :root[data-theme="day"] { --fence: blue }</style>';
        const color = (name: string): string => {
            window.localStorage.setItem("bowline.theme", name);
            applyTheme();
            return themeColor("--fence");
        };
        const chart = chartLayer();
        await chart.load([url], 0);
        expect(color("night")).toBe("red");
        expect(styleIn(chart).getStroke().getColor()).toBe("red");
        expect(color("day")).toBe("blue");
        chart.restyle();
        expect(styleIn(chart).getStroke().getColor()).toBe("blue");
    });
});
