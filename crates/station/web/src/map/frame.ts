/** The map frame on the screen: x east and y north in metres, and angles from east, to the left positive. */

import { Projection } from "ol/proj";
import type { PoseTransform } from "../generated/bowline/pose_transform_t.js";

/** Metres of the vehicle's map frame, and nothing else: the page needs no globe. */
export const MAP_FRAME = new Projection({ code: "bowline:map", units: "m", extent: [-1e6, -1e6, 1e6, 1e6] });

/** Where a map frame begins on the globe. */
export interface Origin {
    readonly lat_deg: number;
    readonly lon_deg: number;
    /** Above the ellipsoid, metres. */
    readonly alt_m?: number;
}

const SEMI_MAJOR_M = 6_378_137;
const ECCENTRICITY2 = 6.694_379_990_141_316e-3;

/** A place near the origin, in metres east and north of it: by the ellipsoid's radii there, as the simulator has it. */
export function toMap([lon, lat]: readonly [number, number], origin: Origin): [number, number] {
    const rad = Math.PI / 180;
    const bent = 1 - ECCENTRICITY2 * Math.sin(origin.lat_deg * rad) ** 2;
    const primeM = SEMI_MAJOR_M / Math.sqrt(bent);
    const meridianM = (primeM * (1 - ECCENTRICITY2)) / bent;
    const altM = origin.alt_m ?? 0;
    return [
        (lon - origin.lon_deg) * rad * (primeM + altM) * Math.cos(origin.lat_deg * rad),
        (lat - origin.lat_deg) * rad * (meridianM + altM),
    ];
}

/** Where a pose is. */
export function placeOf(pose: PoseTransform): [number, number] {
    return [pose.matrix[3] ?? 0, pose.matrix[7] ?? 0];
}

/** Where its x axis points, radians from east, to the left positive. */
export function headingOf(pose: PoseTransform): number {
    return Math.atan2(pose.matrix[4] ?? 0, pose.matrix[0] ?? 1);
}

/** How fast its origin moves over ground, metres a second. */
export function speedOf(pose: PoseTransform): number {
    return Math.hypot(pose.velocity_mps[0] ?? Number.NaN, pose.velocity_mps[1] ?? Number.NaN);
}

/** The ellipse that holds the place with about 95 % probability: half axes in metres, and where the longer one points. */
export function ellipseOf(
    pose: PoseTransform,
): { readonly a: number; readonly b: number; readonly rad: number } | undefined {
    const c = pose.position_covariance;
    const [xx, xy, yy] = [c[0] ?? Number.NaN, c[1] ?? Number.NaN, c[4] ?? Number.NaN];
    const middle = (xx + yy) / 2;
    const spread = Math.hypot((xx - yy) / 2, xy);
    if (!Number.isFinite(middle + spread) || middle + spread <= 0) {
        return undefined;
    }
    // The square root of the chi-square quantile for two degrees of freedom.
    const scale = 2.448;
    return {
        a: scale * Math.sqrt(middle + spread),
        b: scale * Math.sqrt(Math.max(0, middle - spread)),
        rad: Math.atan2(2 * xy, xx - yy) / 2,
    };
}

/** The outline of an ellipse. */
export function ellipseRing(
    [x, y]: readonly [number, number],
    { a, b, rad }: { readonly a: number; readonly b: number; readonly rad: number },
): [number, number][] {
    return Array.from({ length: 49 }, (_, i) => {
        const t = (i / 48) * 2 * Math.PI;
        const [u, v] = [a * Math.cos(t), b * Math.sin(t)];
        return [x + u * Math.cos(rad) - v * Math.sin(rad), y + u * Math.sin(rad) + v * Math.cos(rad)];
    });
}
