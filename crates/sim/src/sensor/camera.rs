//! A camera without distortion: what a vision module makes of its pictures, or the pictures themselves.

mod lines;
mod picture;

use super::{Instrument, SensorKind};
use bowline_component::TypeInfo;
use bowline_geometry::{Attribute, Bounds, ElementKind, ElementRole, Value};
use bowline_msgs::{Image, Range3d};

pub(super) const KIND: SensorKind = SensorKind {
    element: ElementKind {
        word: "camera",
        doc: "A camera without distortion.",
        role: ElementRole::Sensor,
        attributes: &[
            Attribute::required("width_px", Value::Count(u32::MAX), "columns of a picture"),
            Attribute::required("height_px", Value::Count(u32::MAX), "rows of a picture"),
            Attribute::required(
                "fov_deg",
                Value::Number(Bounds::VIEW_DEG),
                "from the left edge of a picture to the right one",
            ),
            Attribute::optional(
                "near_m",
                Value::Number(Bounds::POSITIVE),
                "what is nearer is not seen (default 0.1)",
            ),
            Attribute::optional(
                "far_m",
                Value::Number(Bounds::POSITIVE),
                "what is further is not seen (default 100)",
            ),
            Attribute::noise("pixel_sd", "the noise of a pixel, of 1"),
            Attribute::optional(
                "gives",
                Value::Word(&["lines", "picture"]),
                "points on painted lines, as a vision module behind it would publish them (the default), or grey images",
            ),
        ],
    },
    publishes: &[TypeInfo::of::<Range3d>(), TypeInfo::of::<Image>()],
    build: |values| {
        let near_m = values.number("near_m").unwrap_or(0.1);
        let far_m = values.number("far_m").unwrap_or(100.0);
        if near_m >= far_m {
            values.refuse("far_m", "more than near_m");
            return None;
        }
        let camera = Camera {
            size_px: [values.count("width_px")?, values.count("height_px")?],
            fov_rad: values.number("fov_deg")?.to_radians(),
            near_m,
            far_m,
            pixel_sd: values.noise("pixel_sd"),
        };
        Some(match values.text("gives") {
            Some("picture") => Instrument::new(picture::Pictures::new(camera)),
            Some(_) | None => Instrument::new(lines::Lines(camera)),
        })
    },
};

#[derive(Clone, Copy, Debug)]
struct Camera {
    size_px: [u32; 2],
    fov_rad: f64,
    near_m: f64,
    far_m: f64,
    pixel_sd: f64,
}
