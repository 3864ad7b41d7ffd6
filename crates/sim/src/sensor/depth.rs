//! A stereo or depth camera without distortion: how far everything in a picture is.

use super::laser::{nothing, point};
use super::{Instrument, Reach, Sample, Sensor, SensorKind};
use crate::beams::Beams;
use crate::math::single;
use crate::noise::Stream;
use bowline_component::TypeInfo;
use bowline_geometry::{Attribute, Bounds, ElementKind, ElementRole, Value};
use bowline_msgs::Range3d;

pub(super) const KIND: SensorKind = SensorKind {
    element: ElementKind {
        word: "depth",
        doc: "A stereo or depth camera: how far everything in a picture is.",
        role: ElementRole::Sensor,
        attributes: &[
            Attribute::required("width_px", Value::Count(u32::MAX), "columns of a picture"),
            Attribute::required("height_px", Value::Count(u32::MAX), "rows of a picture"),
            Attribute::required(
                "fov_deg",
                Value::Number(FLAT),
                "from the left edge of a picture to the right one",
            ),
            Attribute::required(
                "near_m",
                Value::Number(Bounds::NOT_NEGATIVE),
                "what is nearer is not seen",
            ),
            Attribute::required(
                "far_m",
                Value::Number(Bounds::POSITIVE),
                "what is further is not seen",
            ),
            Attribute::optional(
                "decimation",
                Value::Count(u32::MAX),
                "of so many pixels, both ways, one is published (default 1)",
            ),
            Attribute::noise(
                "depth_sd_m",
                "the noise of a depth that does not depend on it",
            ),
            Attribute::noise(
                "depth_sd_per_m2",
                "the noise for each square metre of depth, as stereo cameras have it",
            ),
        ],
    },
    publishes: &[TypeInfo::of::<Range3d>()],
    build: |values| {
        let [near_m, far_m] = values.ranges(["near_m", "far_m"])?;
        Some(Instrument::new(Depth {
            size_px: [values.count("width_px")?, values.count("height_px")?],
            fov_rad: values.number("fov_deg")?.to_radians(),
            near_m,
            far_m,
            decimation: values.count("decimation").unwrap_or(1),
            depth_sd_m: values.noise("depth_sd_m"),
            depth_sd_per_m2: values.noise("depth_sd_per_m2"),
            beams: None,
            ranges_m: Vec::new(),
        }))
    },
};

/// A picture is flat.
const FLAT: Bounds = Bounds::above(
    0.0,
    178.999_999,
    "an angle above 0 and less than 179 degrees",
);

#[derive(Clone, Debug)]
struct Depth {
    size_px: [u32; 2],
    fov_rad: f64,
    near_m: f64,
    far_m: f64,
    decimation: u32,
    depth_sd_m: f64,
    depth_sd_per_m2: f64,
    /// From the first picture on.
    beams: Option<Beams>,
    ranges_m: Vec<f64>,
}

impl Sensor for Depth {
    type Message = Range3d;

    fn measure(&mut self, at: &Sample<'_>, noise: &mut Stream) -> Range3d {
        let pixels = || Beams::pixels(self.size_px, self.fov_rad, self.decimation);
        let beams = &*self.beams.get_or_insert_with(pixels);
        let pose = at.world_from_sensor();
        // At the edge of a picture a depth is a longer range.
        let slant = beams
            .directions()
            .iter()
            .map(|direction| direction.x)
            .fold(1.0, f64::min);
        let most_m = self.far_m / slant;
        let scene = &at.moment.physics.scene;
        scene.scan(beams, (&pose, at.moment.share), most_m, &mut self.ranges_m);
        let deviation = |depth: f64| self.depth_sd_m + self.depth_sd_per_m2 * depth * depth;
        let mut points = Vec::with_capacity(beams.len());
        for (direction, range) in beams.directions().iter().zip(&self.ranges_m) {
            let error = noise.normal();
            let depth = range * direction.x;
            if depth > self.far_m {
                points.push(nothing(*direction));
                continue;
            }
            let measured = depth + at.noise_ratio() * deviation(depth) * error;
            if measured >= self.near_m {
                points.push(point(*direction, measured / direction.x));
            }
        }
        let at_far = deviation(self.far_m);
        let growth = (at_far - deviation(1.0)) / (self.far_m - 1.0).max(1.0);
        Range3d {
            utime: at.utime(),
            duration_us: 0,
            frame: at.frame(),
            min_range_m: single(self.near_m),
            max_range_m: single(most_m),
            range_sd_m: single(deviation(1.0)),
            range_sd_per_m: single(growth),
            bearing_sd_rad: 0.0,
            points,
            ..Range3d::default()
        }
        .with_lengths()
    }

    fn utime_of(message: &mut Range3d) -> &mut i64 {
        &mut message.utime
    }

    fn reach(&self) -> Option<Reach> {
        Some(Reach::ahead(self.fov_rad, self.far_m))
    }
}
