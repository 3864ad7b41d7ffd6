// A custom panel and a custom layer of the map, for the operator's page: how much water there is below the keel.
//
//   bowline station --panels examples/panel --chart worlds/harbour.geojson
//
// The station serves every .js file of the folder as an ES module, and the page loads it: plain JavaScript, no build. A module
// exports which version of the interface it needs, and its panels and layers. docs/panels.md has all of it; in short:
//
// - `types` are the messages that a row wants: the panel is shown for vehicles that have some of them. `past` asks for
//   messages from before the page was opened, `series` keeps quantities of them over time.
// - `make(bowline)` is called for each vehicle and returns an element and a function `render`, which is called up to 60 times
//   a second; texts should change where `isForText` is true, ten times a second.
// - `bowline.channels(type)` are the channels of the vehicle with such messages, as they are now: `message` is decoded,
//   `freshness` is "none", "fresh" or "stale". What is stale must not look as if it held.
// - `draw(bowline)` of a layer returns shapes in metres of the map, east and north.
//
// What it throws is shown in its place. It can read and draw; there is nothing in the interface that commands a vehicle.

const SOUNDING = {
    type: "bowline.sounding_t",
    past: 500,
    series: { depth_m: (sounding) => sounding.depth_m },
};
const POSE = "bowline.pose_transform_t";

/** The vessel of robots/harbour.toml: its transducer is so deep below the water, and its keel so much deeper. */
const KEEL_BELOW_TRANSDUCER_M = 0.2;
const ENOUGH_M = 3;
const SHOWN_S = 300;

const clearanceOf = (channel) => channel.message.depth_m - KEEL_BELOW_TRANSDUCER_M;

const STYLE = `
    .clearance { display: block; font-size: 2.2em; font-weight: 700; }
    .low { color: var(--alarm); }
    .stale { opacity: 0.4; text-decoration: line-through; }
    p { margin: 0.2em 0; color: var(--dim); }
    svg { display: block; width: 100%; height: 4em; }
    path { fill: none; stroke: var(--accent); stroke-width: 1.5; vector-effect: non-scaling-stroke; }
`;

function make(bowline) {
    const body = document.createElement("div");
    body.innerHTML = `
        <style>${STYLE}</style>
        <span class="clearance">–</span>
        <p></p>
        <svg viewBox="0 0 100 40" preserveAspectRatio="none" role="img" aria-label="Water below the keel over time"><path /></svg>
    `;
    const [clearance, note, curve] = ["span", "p", "path"].map((it) => body.querySelector(it));
    return {
        body,
        render({ isForText }) {
            const [channel] = bowline.channels(SOUNDING.type);
            if (!isForText || channel?.message === undefined) {
                return;
            }
            const metres = clearanceOf(channel);
            clearance.textContent = Number.isFinite(metres) ? `${metres.toFixed(1)} m` : "no echo";
            clearance.className = `clearance ${metres < ENOUGH_M ? "low" : ""} ${channel.freshness}`;
            note.textContent = `below the keel of ${bowline.vehicle}, from ${channel.name}, ${channel.ageS.toFixed(1)} s ago`;
            curve.setAttribute("d", pathOf(channel.series("depth_m")));
        },
    };
}

/** The last minutes of a series, from left to right; deep is below. */
function pathOf({ timesS, values }) {
    const endS = timesS.at(-1) ?? 0;
    const deepest = Math.max(1, ...values.filter(Number.isFinite));
    const corners = [...timesS]
        .map((timeS, i) => [100 - (100 * (endS - timeS)) / SHOWN_S, (40 * values[i]) / deepest])
        .filter(([x, y]) => x >= 0 && Number.isFinite(y));
    return corners.length < 2 ? "" : `M${corners.map(([x, y]) => `${x.toFixed(2)},${y.toFixed(2)}`).join("L")}`;
}

/** A ring around the vehicle, with what is below its keel. */
function draw(bowline) {
    const pose = bowline.channels(POSE).find((it) => it.name === "pose");
    const [sounding] = bowline.channels(SOUNDING.type);
    if (pose?.message === undefined || sounding?.message === undefined) {
        return [];
    }
    const [x, y] = [pose.message.matrix[3], pose.message.matrix[7]];
    const metres = clearanceOf(sounding);
    const isKnown = pose.freshness === "fresh" && sounding.freshness === "fresh" && Number.isFinite(metres);
    const ring = Array.from({ length: 33 }, (_, i) => [
        x + 12 * Math.cos((i * Math.PI) / 16),
        y + 12 * Math.sin((i * Math.PI) / 16),
    ]);
    const color = !isKnown ? "gray" : metres < ENOUGH_M ? "crimson" : "deepskyblue";
    return [
        { line: ring, color, widthPx: 1.5, isDashed: !isKnown },
        {
            points: [[x, y - 16]],
            color,
            widthPx: 1,
            text: isKnown ? `${metres.toFixed(1)} m of water` : "water unknown",
        },
    ];
}

export default {
    api: 1,
    panels: [
        {
            id: "clearance",
            title: "Below the keel",
            types: [SOUNDING],
            places: { operate: "side", sensors: "grid" },
            make,
        },
    ],
    layers: [
        {
            id: "water",
            title: "Water below the keel",
            types: [SOUNDING.type, POSE],
            draw,
        },
    ],
};
