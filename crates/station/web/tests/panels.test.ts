// @vitest-environment happy-dom
import { describe, expect, it, vi } from "vitest";
import { codecFor } from "../src/decode/codec.js";
import { Gate } from "../src/generated/bowline/gate_t.js";
import { Image } from "../src/generated/bowline/image_t.js";
import { Imu } from "../src/generated/bowline/imu_t.js";
import { Multibeam } from "../src/generated/bowline/multibeam_t.js";
import { Path } from "../src/generated/bowline/path_t.js";
import { PoseTransform } from "../src/generated/bowline/pose_transform_t.js";
import { Spectrum } from "../src/generated/bowline/spectrum_t.js";
import { Velocity } from "../src/generated/bowline/velocity_t.js";
import { handsOfGamepad, handsOfKeys } from "../src/input/hands.js";
import { readChart } from "../src/map/chart.js";
import { ellipseOf, headingOf, toMap } from "../src/map/frame.js";
import { rangeOf } from "../src/map/grid.js";
import { paletteOf, ramp } from "../src/map/palette.js";
import { fourcc, isSamePicture, mediaType, pixelsOf } from "../src/map/pixels.js";
import { KINDS } from "../src/panels/index.js";
import type { Context, Panel } from "../src/panels/panel.js";
import { RawPanel } from "../src/panels/raw.js";
import { Registry } from "../src/panels/registry.js";
import { setpointShown } from "../src/panels/setpoint.js";
import { vitals } from "../src/panels/vitals.js";
import { brief, fieldTree, unitOf } from "../src/shell/fields.js";
import { bearing, bytes, duration, engineering, number } from "../src/shell/format.js";
import { wantedPanels } from "../src/shell/layout.js";
import { decades } from "../src/shell/plot.js";
import { Store, VehicleView } from "../src/store/store.js";
import { ownerOf } from "../src/store/vehicles.js";
import { type Encodes, rulesOf, Voice } from "./voice.js";

const UNKNOWN = [0xf1, 0xe1, 0x03, 0x86, 0xa1, 0x78, 0xc7, 0x0a];

function storeWith(messages: Readonly<Record<string, Encodes>>): Store {
    const store = new Store(new Registry());
    const voice = new Voice(store);
    Object.entries(messages).forEach(([name, message]) => voice.say(name, message, 0));
    return store;
}

describe("panels", () => {
    const keys = (page: Parameters<typeof wantedPanels>[0], store: Store, at = 0): string[] =>
        wantedPanels(page, new VehicleView(store, store.vehicles[at]!), new Registry()).map((it) => it.key);

    it("are chosen by a vehicle's channels", () => {
        const store = storeWith({
            "gate.state": new Gate(),
            pose: new PoseTransform(),
            "multibeam.ping": new Multibeam(),
        });
        expect(keys("operate", store)).toEqual(
            expect.arrayContaining(["map", "vitals", "teleop", "waterfall-multibeam.ping"]),
        );
        expect(keys("operate", store)).not.toContain("mission");
        expect(keys("operate", store).some((key) => key.startsWith("spectrum"))).toBe(false);
    });

    it("show a message as soon as its type is described, though no other comes", () => {
        const store = storeWith({ "buoy.report": { encode: () => Uint8Array.of(...UNKNOWN, 0) } });
        const channel = store.channel("buoy.report")!;
        const context = { store, view: new VehicleView(store, store.vehicles[0]!), channel };
        const panel = new RawPanel(context as unknown as Context, channel);
        panel.render({ nowMs: 0, utime: 0, isForText: true });
        expect(panel.body.textContent).toContain("expected a type that was described");
        vi.spyOn(channel, "value").mockReturnValue({ swell_m: 1.25 });
        panel.render({ nowMs: 1_000, utime: 0, isForText: true });
        expect(panel.body.textContent).toContain("1.25 m");
    });

    it("show a message that no panel is made for by itself", () => {
        const store = storeWith({ "gate.state": new Gate(), imu: new Imu() });
        expect(keys("sensors", store)).toContain("raw-imu");
        expect(keys("sensors", store)).not.toContain("raw-gate.state");
        const odd = storeWith({ "gate.state": { encode: () => new Gate().encode().fill(7, 0, 8) } });
        expect(keys("sensors", odd), "another version of a type is not taken for ours").toContain("raw-gate.state");
    });

    it("of a second vehicle are the same again, for its own channels", () => {
        const one = { "gate.state": new Gate(), "spectrometer.spectrum": new Spectrum(), "camera.image": new Image() };
        const two = Object.fromEntries(
            ["heron.", "tern."].flatMap((prefix) =>
                Object.entries(one).map(([name, it]) => [prefix + name, it] as const),
            ),
        );
        const store = storeWith(two);
        const strip = (names: string[], prefix: string): string[] => names.map((it) => it.replaceAll(prefix, ""));
        expect(strip(keys("operate", store, 0), "heron.")).toEqual(strip(keys("operate", store, 1), "tern."));
        expect(ownerOf("tern.pose", store.vehicles)).toBe("tern");
    });

    it("of the vehicle show what actuators are set to by the axes of the gate's rules", () => {
        const rules = rulesOf("fins");
        const store = storeWith({
            "gate.state": new Gate(),
            "gate.rules": rules,
            "fins.command": new Imu(),
            imu: new Imu(),
        });
        vi.spyOn(store.channel("fins.command")!, "value").mockReturnValue({
            utime: 1n,
            propeller_ratio: -0.25,
            rudder_rad: 0.1,
            elevator_rad: 0,
        });
        const view = new VehicleView(store, store.vehicles[0]!);
        const panel = vitals.make({ store, view } as unknown as Context) as Panel;
        panel.render({ nowMs: 0, utime: 0, isForText: true });
        const texts = [...panel.body.querySelectorAll(".setpoint .readout")].map((it) => it.textContent);
        expect(texts).toEqual(["Propeller−25%", "Set rudder5.7°", "Set elevator0.0°"]);
        expect(setpointShown(view).channel?.name).toBe("fins.command");
        const raw = keys("sensors", store).filter((it) => it.startsWith("raw"));
        expect(raw, "what the actuators are set to needs no card of its fields").toEqual([]);
    });

    it("of a vehicle without a gate show the numbers of its command", () => {
        const store = storeWith({
            pose: new PoseTransform(),
            command: new Velocity({ speed_mps: 1.5, steering_rad: 0.1 }),
        });
        const view = new VehicleView(store, store.vehicles[0]!);
        expect(setpointShown(view).axes.map(({ word, unit }) => [word, unit])).toEqual([
            ["steering", "rad"],
            ["speed", "m/s"],
        ]);
        expect(keys("sensors", store).filter((it) => it.startsWith("raw"))).toEqual([]);
    });

    it("are needed for each type but those that another one shows", () => {
        const panels = keys(
            "sensors",
            storeWith({ "gate.state": new Gate(), "helm.plan": new Path(), imu: new Imu() }),
        );
        expect(panels.filter((it) => it.startsWith("raw"))).toEqual(["raw-imu"]);
        expect(codecFor(Imu.FINGERPRINT)?.NAME, "it is decoded by generated code all the same").toBe("bowline.imu_t");
    });

    it("have names of their own", () => {
        const ids = KINDS.map((kind) => kind.id);
        expect(ids.length).toBeGreaterThan(15);
        expect(new Set(ids).size).toBe(ids.length);
        expect(KINDS.every((kind) => Object.keys(kind.places).length > 0)).toBe(true);
    });
});

describe("fields of any message", () => {
    it("are shown with units, and never as markup", () => {
        expect([unitOf("depth_m"), unitOf("speed_mps"), unitOf("heading_rad"), unitOf("name")]).toEqual([
            "m",
            "m/s",
            "rad",
            "",
        ]);
        expect(brief(Uint8Array.of(1, 255))).toBe("2 B: 01 ff");
        expect(brief(Float64Array.of(1, Number.NaN))).toBe("[1, NaN]");
        const store = storeWith({ x: new Gate({ reason: "<img src=x>" }) });
        const tree = fieldTree(store.channel("x")!.value(), store.types, Gate.FINGERPRINT);
        expect(tree.querySelector("img")).toBeNull();
        expect(tree.textContent).toContain("<img src=x>");
    });
});

describe("hands", () => {
    it.each([
        [[], undefined],
        [["KeyX"], undefined],
        [["KeyW"], { ahead: 1, left: 0 }],
        [["ArrowUp", "ArrowLeft"], { ahead: 1, left: 1 }],
        [["KeyW", "KeyS"], { ahead: 0, left: 0 }],
        [["KeyW", "ArrowUp"], { ahead: 1, left: 0 }],
    ])("on keys %j give %j", (down, expected) => {
        expect(handsOfKeys(down)).toEqual(expected);
    });

    it("on a gamepad that is nearly at rest hold nothing, and begin without a jump", () => {
        expect(handsOfGamepad([0.05, -0.05])).toBeUndefined();
        expect(handsOfGamepad([])).toBeUndefined();
        expect(handsOfGamepad([0, -1])).toEqual({ ahead: 1, left: 0 });
        expect(handsOfGamepad([0, -0.13])!.ahead).toBeLessThan(0.02);
    });
});

describe("the map", () => {
    const matrix = (rad: number): Float64Array =>
        Float64Array.of(
            Math.cos(rad),
            -Math.sin(rad),
            0,
            5,
            Math.sin(rad),
            Math.cos(rad),
            0,
            6,
            0,
            0,
            1,
            0,
            0,
            0,
            0,
            1,
        );

    it("turns headings into bearings", () => {
        expect(bearing(headingOf(new PoseTransform({ matrix: matrix(Math.PI / 2) })))).toBe("000");
        expect([bearing(0), bearing(Math.PI), bearing(-Math.PI / 2), bearing(Number.NaN)]).toEqual([
            "090",
            "270",
            "180",
            "–",
        ]);
    });

    it("makes an ellipse of a covariance, with its long axis where the spread is", () => {
        const position_covariance = Float64Array.of(4, 0, 0, 0, 1, 0, 0, 0, 1);
        const ellipse = ellipseOf(new PoseTransform({ position_covariance }))!;
        expect([ellipse.a / ellipse.b, ellipse.rad]).toEqual([2, 0]);
        expect(
            ellipseOf(new PoseTransform({ position_covariance: new Float64Array(9).fill(Number.NaN) })),
        ).toBeUndefined();
    });

    it("reads charts in metres and in degrees", () => {
        const feature = (coordinates: number[]): unknown => ({
            type: "Feature",
            properties: { kind: "buoy" },
            geometry: { type: "Point", coordinates },
        });
        const point = (file: unknown): number[] =>
            (readChart(file)[0]!.getGeometry() as unknown as { getCoordinates(): number[] }).getCoordinates();
        expect(point({ type: "FeatureCollection", frame: "map", features: [feature([3, 4])] })).toEqual([3, 4]);
        const origin = { lat_deg: 60, lon_deg: 10 };
        const [x = 0, y = 0] = point({ type: "FeatureCollection", origin, features: [feature([10.001, 60.001])] });
        expect([x, y]).toEqual(toMap([10.001, 60.001], origin));
        expect(x / y).toBeCloseTo(0.5, 2);
        // One minute of latitude at 60 degrees is 1857 m on the ellipsoid, and one of longitude half of that and some.
        expect(toMap([10 + 1 / 60, 60 + 1 / 60], origin).map(Math.round)).toEqual([930, 1857]);
    });

    it("colours a plane without what stands out, and knows what is not known", () => {
        const row = Float32Array.from({ length: 1_000 }, (_, i) => (i === 0 ? 1e6 : i % 2 ? i / 1_000 : Number.NaN));
        const { low, high, nKnown } = rangeOf([row]);
        expect(high).toBeLessThan(10);
        expect(low).toBeGreaterThanOrEqual(0);
        expect(nKnown).toBe(501);
        expect(paletteOf("depth")).not.toBe(paletteOf("height"));
        expect(ramp(paletteOf("depth")).length).toBe(256);
    });
});

describe("pictures", () => {
    const image = (pixelformat: number, data: number[], width = 2): Image =>
        new Image({ width, height: 1, pixelformat, size: data.length, data: Uint8Array.from(data) });
    const code = (name: string): number => [...name].reduce((sum, it, i) => sum | (it.charCodeAt(0) << (8 * i)), 0);

    it("are drawn from the layouts of cameras", () => {
        expect(fourcc(0x59455247)).toBe("GREY");
        expect([...pixelsOf(image(code("GREY"), [7, 8]))!]).toEqual([7, 7, 7, 255, 8, 8, 8, 255]);
        expect([...pixelsOf(image(code("BGR3"), [1, 2, 3, 4, 5, 6]))!]).toEqual([3, 2, 1, 255, 6, 5, 4, 255]);
    });

    it("are distinguished, and drawn into memory that is there already", () => {
        const [one, two] = [image(code("GREY"), [7, 8]), image(code("GREY"), [7, 9])];
        expect([isSamePicture(one, image(code("GREY"), [7, 8])), isSamePicture(one, two)]).toEqual([true, false]);
        expect(isSamePicture(one, image(code("Y800"), [7, 8]))).toBe(false);
        const pixels = pixelsOf(one)!;
        expect(pixelsOf(two, pixels)).toBe(pixels);
        expect(pixels[4]).toBe(9);
    });

    it("that are cut short, of an unknown layout or of no size are not", () => {
        expect(pixelsOf(image(code("RGB3"), [1, 2, 3]))).toBeUndefined();
        expect(pixelsOf(image(code("XXXX"), [1, 2, 3]))).toBeUndefined();
        expect(pixelsOf(image(code("GREY"), [], -1))).toBeUndefined();
        expect(mediaType(image(0, [0xff, 0xd8]))).toBe("image/jpeg");
    });
});

describe("numbers", () => {
    it.each([
        [number(-0.04), "0.0"],
        [number(-1.25, 2), "−1.25"],
        [number(undefined), "–"],
        [number(Number.POSITIVE_INFINITY), "∞"],
        [duration(3.21), "3.2 s"],
        [duration(200), "3 min 20 s"],
        [duration(90_000), "25 h 00 min"],
        [bytes(1_234_567), "1.2 MB"],
        [engineering(3.4e-10, "A"), "340.0 pA"],
        [engineering(0, "A"), "0 A"],
    ])("%s is %s", (found, expected) => {
        expect(found).toBe(expected);
    });

    it("of a logarithmic axis are powers of ten", () => {
        expect(decades(0.5, 200)).toEqual([1, 10, 100]);
        expect(decades(0, 1)).toEqual([]);
    });
});
