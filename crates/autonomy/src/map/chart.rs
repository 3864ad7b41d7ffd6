//! What ranges are fused into: any map that rolls with the vehicle.

use super::noise::{SensorNoise, View};
use bowline_msgs::Map;

/// A map in the making.
pub trait Chart {
    /// Moves it with the vehicle.
    fn centre_on(&mut self, xy_m: [f64; 2]);

    /// Forgets everything.
    fn forget(&mut self);

    /// Takes in points that were measured from one place: X, Y, Z and R in the device's frame.
    fn fuse(&mut self, points: &[[f32; 4]], sensor: SensorNoise, view: &View, utime: i64);

    /// Gives up what the rays to these points went through. One ray in `every` is looked at.
    fn clear(&mut self, points: &[[f32; 4]], sensor: SensorNoise, view: &View, when: (i64, usize));

    /// The map as others get it.
    fn to_map(&self, reference: &str, utime: i64) -> Map;
}
