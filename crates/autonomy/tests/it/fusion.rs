//! How well heights are fused, statistically, with seeds.

use crate::support::{EXACT, Scene, camera, plane, view};
use bowline_autonomy::map::{
    Chart as _, PoseNoise, SensorNoise, Terrain, TerrainSettings, View, Weighting,
};
use bowline_geometry::{Transform, Vec3};
use bowline_testing::random::Random;

const LASER: SensorNoise = SensorNoise {
    min_range_m: 0.1,
    max_range_m: 40.0,
    range_sd_m: 0.02,
    range_sd_per_m: 0.004,
    bearing_sd_rad: 0.003,
};

fn terrain(slope_sd: f64, weighting: Weighting) -> Terrain {
    let settings = TerrainSettings {
        size_m: 20.0,
        cell_m: 0.5,
        slope_sd,
        weighting,
        ..TerrainSettings::default()
    };
    Terrain::new(settings).expect("it is a map")
}

fn cross([a, b, c]: Vec3, [x, y, z]: Vec3) -> Vec3 {
    [b * z - c * y, c * x - a * z, a * y - b * x]
}

fn plus(a: Vec3, b: Vec3) -> Vec3 {
    std::array::from_fn(|at| a[at] + b[at])
}

/// A device at a place measures a place, with its noise: the measurement, in axes of the map.
fn measure(random: &mut Random, from: Vec3, to: Vec3, sensor: &SensorNoise) -> [f32; 4] {
    let ray: Vec3 = std::array::from_fn(|at| to[at] - from[at]);
    let range = ray.iter().map(|it| it * it).sum::<f64>().sqrt();
    let direction = ray.map(|it| it / range);
    let turn: Vec3 = std::array::from_fn(|_| random.normal() * f64::from(sensor.bearing_sd_rad));
    let turned = plus(direction, cross(turn, direction));
    let length = turned.iter().map(|it| it * it).sum::<f64>().sqrt();
    let measured = range + random.normal() * f64::from(sensor.range_sd(range as f32));
    let [x, y, z] = turned.map(|it| it / length * measured);
    [x, y, z, measured].map(|it| it as f32)
}

/// Many points of level ground, from many places, some near and some far.
fn look_around(terrain: &mut Terrain, random: &mut Random, n: usize) {
    for _ in 0..n {
        let from = [random.uniform(-9.0, 9.0), random.uniform(-9.0, 9.0), 1.5];
        let to = [random.uniform(-9.0, 9.0), random.uniform(-9.0, 9.0), 0.0];
        let point = measure(random, from, to, &LASER);
        terrain.fuse(&[point], LASER, &view(Transform::from_xyz(from)), 0);
    }
}

/// The sum of squares of n standard normals is n, give or take sqrt(2 n).
fn assert_is_chi_square(sum: f64, n: f64, what: &str) {
    let off = (sum - n) / (2.0 * n).sqrt();
    assert!(
        off.abs() < 4.0,
        "{what}: {sum:.1} for {n} cells is {off:.1} sigma off"
    );
}

#[test]
fn with_known_noise_the_normalised_error_of_cells_has_unit_variance() {
    for seed in 1..=3 {
        let mut random = Random::fixed(seed);
        let mut terrain = terrain(0.0, Weighting::Variance);
        look_around(&mut terrain, &mut random, 60_000);
        let (mut sum, mut n) = (0.0, 0.0);
        for row in 0..40 {
            for column in 0..40 {
                let cell = terrain.grid().get(column, row).expect("it is within");
                if cell.n() > 10 {
                    sum += f64::from(cell.height()).powi(2) / f64::from(cell.variance());
                    n += 1.0;
                }
            }
        }
        assert!(n > 1000.0, "most cells were seen");
        assert_is_chi_square(sum, n, "heights");
    }
}

fn rms(terrain: &Terrain) -> f64 {
    let map = terrain.to_map("map", 0);
    let counts = plane(&map, "count").iter().flatten();
    let heights = plane(&map, "height").iter().flatten().zip(counts);
    // Cells that only strayed points fall into are no measure of the weighting.
    let heights = heights
        .filter(|(_, n)| **n > 10.0)
        .map(|(height, _)| height);
    let squares: Vec<f64> = heights.map(|it| f64::from(*it).powi(2)).collect();
    (squares.iter().sum::<f64>() / squares.len() as f64).sqrt()
}

#[test]
fn weighing_by_variance_beats_the_mean_where_noise_differs() {
    for seed in 1..=5 {
        let of = |weighting| {
            let mut terrain = terrain(0.0, weighting);
            look_around(&mut terrain, &mut Random::fixed(seed), 30_000);
            rms(&terrain)
        };
        let (weighted, mean) = (of(Weighting::Variance), of(Weighting::Mean));
        assert!(
            weighted < 0.9 * mean,
            "seed {seed}: {weighted} against {mean}"
        );
    }
}

/// Everything that the derivation in `noise.rs` has, drawn many times, against its result.
#[test]
fn the_variance_of_a_height_is_what_drawing_all_errors_gives() {
    let mut random = Random::fixed(42);
    let noise = PoseNoise {
        attitude: [
            [4e-6, 1e-6, 5e-7],
            [1e-6, 9e-6, -1e-6],
            [5e-7, -1e-6, 1.6e-5],
        ],
        position: [[4e-4, 0.0, 0.0], [0.0, 9e-4, 0.0], [0.0, 0.0, 1e-4]],
    };
    let slope_sd = 0.2;
    for (from, to) in [
        ([0.0, 0.0, 1.5], [8.0, 1.0, 0.0]),
        ([1.0, 2.0, 6.0], [2.0, 1.0, 0.0]),
        ([-3.0, 0.0, 2.0], [5.0, -6.0, 0.5]),
    ] {
        let posed_at = [from[0] - 1.0, from[1] + 0.3, from[2] - 0.8];
        let predicted = {
            let view = View {
                map_from_sensor: Transform::from_xyz(from),
                posed_at,
                noise,
            };
            let ray: Vec3 = std::array::from_fn(|at| to[at] - from[at]);
            let range = ray.iter().map(|it| it * it).sum::<f64>().sqrt();
            let [x, y, z] = ray.map(|it| it as f32);
            let mut terrain = terrain(slope_sd, Weighting::Variance);
            terrain.fuse(&[[x, y, z, range as f32]], LASER, &view, 0);
            f64::from(
                terrain
                    .grid()
                    .at([to[0], to[1]])
                    .expect("within")
                    .variance(),
            )
        };
        let n = 40_000;
        let mut sum = 0.0;
        for _ in 0..n {
            let [x, y, z, _] = measure(&mut random, from, to, &LASER).map(f64::from);
            let measured = plus(from, [x, y, z]);
            let arm = std::array::from_fn(|at| measured[at] - posed_at[at]);
            let turned = cross(draw(&mut random, &noise.attitude), arm);
            let moved = plus(plus(measured, turned), draw(&mut random, &noise.position));
            let slope = [random.normal() * slope_sd, random.normal() * slope_sd];
            let off: Vec3 = std::array::from_fn(|at| moved[at] - to[at]);
            sum += (off[2] - slope[0] * off[0] - slope[1] * off[1]).powi(2);
        }
        let drawn = sum / f64::from(n);
        assert!(
            (drawn / predicted - 1.0).abs() < 0.05,
            "{drawn} against {predicted}"
        );
    }
}

/// A draw with a covariance, by its Cholesky factor.
fn draw(random: &mut Random, c: &[Vec3; 3]) -> Vec3 {
    let a = c[0][0].sqrt();
    let (b, d) = (c[1][0] / a, c[2][0] / a);
    let e = (c[1][1] - b * b).sqrt();
    let f = (c[2][1] - d * b) / e;
    let g = (c[2][2] - d * d - f * f).sqrt();
    let [x, y, z] = std::array::from_fn(|_| random.normal());
    [a * x, b * x + e * y, d * x + f * y + g * z]
}

#[test]
fn an_uncertain_attitude_makes_far_cells_less_sure() {
    let scene = Scene::default();
    let map_from_sensor = Transform::from_xyz_rpy([-9.0, 0.0, 1.5], [0.0, 0.3, 0.0]);
    let points = scene.scan(&map_from_sensor, &camera(60, 60, 0.8), &EXACT, || 0.0);
    let mut sure = terrain(0.0, Weighting::Variance);
    let mut unsure = sure.clone();
    let exact = view(map_from_sensor);
    let mut tilting = exact;
    tilting.noise.attitude[1][1] = 1e-4;
    sure.fuse(&points, EXACT, &exact, 0);
    unsure.fuse(&points, EXACT, &tilting, 0);
    let ratio = |x: f64| {
        let at = |terrain: &Terrain| {
            let cell = *terrain.grid().at([x, 0.1]).expect("it is within");
            f64::from(cell.variance()) * f64::from(cell.n())
        };
        at(&unsure) / at(&sure)
    };
    assert!(ratio(-5.4) > 10.0, "{}", ratio(-5.4));
    assert!(
        ratio(-0.4) > 3.0 * ratio(-5.4),
        "{} and {}",
        ratio(-0.4),
        ratio(-5.4)
    );
}
