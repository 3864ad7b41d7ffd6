/** The goals that are left to visit. */

import { Style } from "ol/style";
import { Path } from "../generated/bowline/path_t.js";
import { ring } from "./drawing.js";
import type { LayerKind } from "./layer.js";
import { lineLayer, waypoints } from "./line.js";

export const goals: LayerKind = lineLayer({
    id: "goals",
    type: Path,
    channel: (view) => view.channel("goals"),
    of: (it) => it.as(Path),
    points: waypoints,
    style: () => new Style({ image: ring("--plan") }),
    isLoose: true,
});
