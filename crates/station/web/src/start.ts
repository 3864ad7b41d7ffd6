/**
 * The first thing that is loaded: opens the line to the station, while the browser still fetches and reads the rest.
 */

import "@fontsource/b612/latin-400.css";
import "@fontsource/b612/latin-700.css";
import "ol/ol.css";
import "uplot/dist/uPlot.min.css";
import "./style/theme.css";
import "./style/page.css";
import "./style/panels.css";
import { Line } from "./app/line.js";

const line = new Line();
import("./main.js").then(
    ({ start }) => start(line),
    (error: unknown) => {
        line.drop();
        document.body.append(`The page could not be loaded: ${String(error)}`);
    },
);
