/**
 * Terrain, ranges and the vehicle in three dimensions, with three.js.
 *
 * Ranges are drawn from where the vehicle was when they came. As long as it is unknown how a sensor is mounted its points are
 * drawn as if it were at the vehicle's origin, and the caption shows that. What is old is pale, and the caption shows that too.
 * Nothing is drawn while nothing has changed.
 */

import {
    AmbientLight,
    BufferAttribute,
    BufferGeometry,
    Color,
    ConeGeometry,
    DirectionalLight,
    DynamicDrawUsage,
    GridHelper,
    Group,
    Matrix4,
    Mesh,
    MeshLambertMaterial,
    PerspectiveCamera,
    Points,
    PointsMaterial,
    Scene,
    Vector3,
    WebGLRenderer,
} from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";
import { MapT } from "../generated/bowline/map_t.js";
import { PoseTransform } from "../generated/bowline/pose_transform_t.js";
import { Range3d } from "../generated/bowline/range3d_t.js";
import type { Context, Panel, Picture } from "../panels/panel.js";
import { el, setShown, setText } from "../shell/dom.js";
import { duration } from "../shell/format.js";
import { themeColor } from "../shell/theme.js";
import type { Channel } from "../store/channel.js";
import { Mounts } from "./mounts.js";
import { terrainOf } from "./terrain.js";

const MAX_POINTS = 60_000;
const FRESH_COLOR = 0xf2a33a;
const STALE_COLOR = 0x808080;
/** How much is seen of what is old. */
const STALE_OPACITY = 0.4;

export class ScenePanel implements Panel {
    readonly body = el("div", { class: "scene" });
    private readonly caption = el("p", { class: "caption" });
    private readonly renderer = new WebGLRenderer({ antialias: true });
    private readonly scene = new Scene();
    private readonly camera = new PerspectiveCamera(50, 1, 0.1, 5_000);
    private readonly orbit: OrbitControls;
    private readonly vehicle = new Group();
    private readonly cloud = new Points(new BufferGeometry(), new PointsMaterial({ size: 0.12, vertexColors: true }));
    private terrain: Mesh | undefined;
    private readonly hull = new MeshLambertMaterial({ color: FRESH_COLOR });
    private readonly soil = new MeshLambertMaterial({ vertexColors: true, side: 2 });
    private shownMap: MapT | undefined;
    private shownPose: PoseTransform | undefined;
    private readonly shownRanges = new Map<string, Range3d>();
    private nPoints = 0;
    private isChanged = true;
    private hasLooked = false;
    private readonly mounts: Mounts;
    private readonly unmounted = new Set<string>();
    private theme = "";
    private readonly observer: ResizeObserver;

    constructor(private readonly context: Context) {
        this.mounts = new Mounts(context.commander, context.view.vehicle.prefix);
        this.camera.up.set(0, 0, 1);
        this.camera.position.set(-20, -20, 18);
        this.orbit = new OrbitControls(this.camera, this.renderer.domElement);
        this.orbit.addEventListener("change", () => this.touch());
        this.orbit.listenToKeyEvents(this.renderer.domElement);
        this.renderer.domElement.tabIndex = 0;
        this.renderer.domElement.setAttribute("role", "img");
        this.renderer.domElement.setAttribute(
            "aria-label",
            "Scene in three dimensions. Drag to turn, wheel to zoom, arrows to move.",
        );
        const sun = new DirectionalLight(0xffffff, 2.2);
        sun.position.set(0.4, -0.6, 1);
        const grid = new GridHelper(200, 40);
        grid.rotation.x = Math.PI / 2;
        grid.name = "grid";
        this.makeVehicle();
        this.makeCloud();
        this.scene.add(new AmbientLight(0xffffff, 0.5), sun, grid, this.vehicle, this.cloud);
        this.body.append(this.renderer.domElement, this.caption);
        this.observer = new ResizeObserver(() => this.resize());
        this.observer.observe(this.body);
    }

    sources(): (Channel | undefined)[] {
        return [...this.context.view.ofType(Range3d), this.ground(), this.pose()];
    }

    render({ nowMs, isForText, utime }: Picture): void {
        this.renderVehicle(utime);
        this.renderTerrain(utime);
        for (const channel of this.context.view.ofType(Range3d)) {
            const ranges = channel.as(Range3d);
            if (ranges !== undefined && ranges !== this.shownRanges.get(channel.name)) {
                this.shownRanges.set(channel.name, ranges);
                if (channel.freshness(utime) === "fresh") {
                    this.addPoints(ranges, nowMs);
                }
            }
        }
        if (isForText) {
            this.followTheme();
            const text = this.captionAt(utime);
            setShown(this.caption, text !== "");
            setText(this.caption, text);
        }
        if (this.isChanged) {
            this.isChanged = false;
            this.renderer.render(this.scene, this.camera);
        }
    }

    destroy(): void {
        this.observer.disconnect();
        this.orbit.dispose();
        this.terrain?.geometry.dispose();
        this.cloud.geometry.dispose();
        this.hull.dispose();
        this.soil.dispose();
        this.renderer.dispose();
    }

    private pose(): Channel | undefined {
        return this.context.view.find(PoseTransform, "pose");
    }

    /** The source of the shape of the ground. */
    private ground(): Channel | undefined {
        return this.context.view
            .ofType(MapT)
            .find((it) => it.as(MapT)?.names.some((name) => /height|depth/.test(name)));
    }

    private captionAt(utime: number | undefined): string {
        const parts: string[] = [];
        if (this.shownRanges.size > 0) {
            parts.push(`${Math.min(this.nPoints, MAX_POINTS)} newest points of ${this.shownRanges.size} sensors`);
        }
        if (this.unmounted.size > 0) {
            parts.push(`mounting not known of ${[...this.unmounted].join(", ")}`);
        }
        for (const [name, channel] of [["vehicle", this.pose()] as const, ["ground", this.ground()] as const]) {
            if (channel?.freshness(utime) === "stale") {
                parts.push(`${name} as it was ${duration(channel.ageS(utime))} ago (stale)`);
            }
        }
        return parts.join("; ");
    }

    private touch(): void {
        this.isChanged = true;
    }

    private makeVehicle(): void {
        const cone = new Mesh(new ConeGeometry(0.4, 1.4, 12), this.hull);
        // A cone points along y; a vehicle along x.
        cone.rotation.z = -Math.PI / 2;
        cone.position.z = 0.4;
        this.vehicle.add(cone);
        this.vehicle.matrixAutoUpdate = false;
    }

    private makeCloud(): void {
        const attribute = (): BufferAttribute =>
            new BufferAttribute(new Float32Array(MAX_POINTS * 3), 3).setUsage(DynamicDrawUsage);
        this.cloud.geometry.setAttribute("position", attribute());
        this.cloud.geometry.setAttribute("color", attribute());
        this.cloud.geometry.setDrawRange(0, 0);
        this.cloud.frustumCulled = false;
    }

    private renderVehicle(utime: number | undefined): void {
        const channel = this.pose();
        const pose = channel?.as(PoseTransform);
        const isStale = channel?.freshness(utime) === "stale";
        if (this.setOpacity(this.hull, isStale)) {
            this.hull.color.set(isStale ? STALE_COLOR : FRESH_COLOR);
        }
        if (pose === undefined || pose === this.shownPose) {
            return;
        }
        this.shownPose = pose;
        const before = this.vehicle.matrix.elements[12] ?? 0;
        const beforeY = this.vehicle.matrix.elements[13] ?? 0;
        this.vehicle.matrix.copy(matrixOf(pose));
        this.vehicle.matrixWorldNeedsUpdate = true;
        const moved = new Vector3((pose.matrix[3] ?? 0) - before, (pose.matrix[7] ?? 0) - beforeY, 0);
        if (moved.lengthSq() > 0 || !this.hasLooked) {
            // The camera goes along, so that the vehicle stays where the person put it.
            this.camera.position.add(moved);
            this.orbit.target.set(pose.matrix[3] ?? 0, pose.matrix[7] ?? 0, pose.matrix[11] ?? 0);
            this.orbit.update();
            this.hasLooked = true;
            this.touch();
        }
    }

    /** Makes pale what is old; true if it was not as it should be. */
    private setOpacity(material: MeshLambertMaterial, isStale: boolean): boolean {
        const opacity = isStale ? STALE_OPACITY : 1;
        const isOther = material.opacity !== opacity;
        if (isOther) {
            material.opacity = opacity;
            material.transparent = isStale;
            material.needsUpdate = true;
            this.touch();
        }
        return isOther;
    }

    private renderTerrain(utime: number | undefined): void {
        const channel = this.ground();
        const map = channel?.as(MapT);
        this.setOpacity(this.soil, channel?.freshness(utime) === "stale");
        if (map === undefined || map === this.shownMap) {
            return;
        }
        this.shownMap = map;
        this.terrain?.geometry.dispose();
        if (this.terrain === undefined) {
            this.terrain = new Mesh(new BufferGeometry(), this.soil);
            this.scene.add(this.terrain);
        }
        this.terrain.geometry = terrainOf(map);
        this.touch();
    }

    /** Adds the points of one message; the oldest give way. */
    private addPoints(ranges: Range3d, nowMs: number): void {
        const pose = this.context.view.find(PoseTransform, "pose")?.as(PoseTransform);
        if (pose === undefined) {
            return;
        }
        const poseFromSensor = this.mounts.poseFromSensor(ranges.frame, pose.frame, nowMs);
        this.unmounted[poseFromSensor === undefined ? "add" : "delete"](ranges.frame);
        const positions = this.cloud.geometry.getAttribute("position") as BufferAttribute;
        const colors = this.cloud.geometry.getAttribute("color") as BufferAttribute;
        const mapFromSensor = matrixOf(pose).multiply(poseFromSensor ?? new Matrix4());
        const [point, color] = [new Vector3(), new Color()];
        for (const [x = 0, y = 0, z = 0, range = 0] of ranges.points) {
            if (!Number.isFinite(range)) {
                continue;
            }
            const at = this.nPoints % MAX_POINTS;
            point.set(x, y, z).applyMatrix4(mapFromSensor);
            positions.setXYZ(at, point.x, point.y, point.z);
            color.setHSL(0.62 - 0.5 * Math.min(1, range / (ranges.max_range_m || 1)), 0.75, 0.58);
            colors.setXYZ(at, color.r, color.g, color.b);
            this.nPoints += 1;
        }
        positions.needsUpdate = true;
        colors.needsUpdate = true;
        this.cloud.geometry.setDrawRange(0, Math.min(this.nPoints, MAX_POINTS));
        this.touch();
    }

    private followTheme(): void {
        const theme = themeColor("--chart-water");
        if (theme !== this.theme) {
            this.theme = theme;
            this.scene.background = new Color(theme);
            this.touch();
        }
    }

    private resize(): void {
        const { clientWidth, clientHeight } = this.body;
        if (clientWidth > 0 && clientHeight > 0) {
            this.renderer.setPixelRatio(Math.min(2, window.devicePixelRatio));
            this.renderer.setSize(clientWidth, clientHeight);
            this.camera.aspect = clientWidth / clientHeight;
            this.camera.updateProjectionMatrix();
            this.touch();
        }
    }
}

function matrixOf(pose: PoseTransform): Matrix4 {
    return new Matrix4().fromArray(Array.from(pose.matrix)).transpose();
}
