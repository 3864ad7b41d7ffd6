/** The lanes of a survey. */

import { Style } from "ol/style";
import { Path } from "../generated/bowline/path_t.js";
import { stroke } from "./drawing.js";
import type { LayerKind } from "./layer.js";
import { lineLayer, waypoints } from "./line.js";

export const lanes: LayerKind = lineLayer({
    id: "lanes",
    type: Path,
    channel: (view) => view.channel("helm.plan"),
    of: (it) => it.as(Path),
    points: waypoints,
    style: () => new Style({ stroke: stroke("--lane", 1.5) }),
});
