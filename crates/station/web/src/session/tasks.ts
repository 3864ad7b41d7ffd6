/** Tasks as a person gives them from a page: points in the map frame, and everything else the vehicle's own. */

import { Task } from "../generated/bowline/task_t.js";

/** x east and y north in the map frame, metres. */
export type Point = readonly [number, number];

function task(name: string, kind: number, placing: number, points: readonly Point[], more: Partial<Task> = {}): Task {
    const [id = 0n] = crypto.getRandomValues(new BigInt64Array(1));
    return new Task({
        id: id & 0x7fff_ffff_ffff_ffffn,
        name,
        kind,
        placing,
        heading_rad: Number.NaN,
        speed_mps: Number.NaN,
        lane_spacing_m: Number.NaN,
        points_m: points.map((point) => Float64Array.from(point)),
        ...more,
    }).withLengths();
}

/** Go to a place and stay there; what was being done is forgotten. */
export function goTo(point: Point): Task {
    return task("go to a place", Task.ROUTE, Task.REPLACE, [point]);
}

/** Visit a place first, then go on. */
export function visitFirst(point: Point): Task {
    return task("extra waypoint", Task.ROUTE, Task.NEXT, [point]);
}

/** Cover an area by lanes. */
export function survey(corners: readonly Point[], laneSpacingM: number, placing: number = Task.REPLACE): Task {
    return task("survey", Task.SURVEY, placing, corners, { lane_spacing_m: laneSpacingM });
}

/** Stay at a place, or here. */
export function stay(point?: Point): Task {
    return task("stay", Task.STATION, Task.NEXT, point === undefined ? [] : [point]);
}

/** No thrust; the mission waits. */
export function pause(): Task {
    return task("pause", Task.HOLD, Task.NEXT, []);
}

/** Go on with the mission. */
export function resume(): Task {
    return task("resume", Task.RESUME, Task.REPLACE, []);
}

/** Back along the way that the vehicle came. */
export function comeBack(): Task {
    return task("return", Task.RETURN, Task.REPLACE, []);
}
