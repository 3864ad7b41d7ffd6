/** The view in three dimensions. It is large, so it is fetched when it is first in sight. */

import { MapT } from "../generated/bowline/map_t.js";
import { Range3d } from "../generated/bowline/range3d_t.js";
import type { PanelKind } from "./panel.js";

export const scene: PanelKind = {
    id: "scene",
    title: "Scene",
    types: [Range3d, MapT],
    per: "vehicle",
    places: { scene: "wide" },
    make: async (context) => {
        const { ScenePanel } = await import("../scene/scene.js");
        return new ScenePanel(context);
    },
};
