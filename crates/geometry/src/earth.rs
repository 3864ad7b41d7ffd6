//! Where the map is on earth.
//!
//! The one projection that simulated receivers and estimators share: the radii of the ellipsoid at the map's origin, which
//! is good to millimetres within a few kilometres.

use crate::Vec3;

/// Half of the ellipsoid's long axis (WGS 84).
const SEMI_MAJOR_M: f64 = 6_378_137.0;
/// The square of its eccentricity.
const ECCENTRICITY2: f64 = 6.694_379_990_141_316e-3;

/// The origin of a map on earth: x east, y north, z up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Earth {
    lat_deg: f64,
    lon_deg: f64,
    alt_m: f64,
    /// Metres for each radian of latitude, and of longitude.
    north_m: f64,
    east_m: f64,
}

impl Earth {
    /// A map with its origin there, in degrees north and east and metres above the ellipsoid. At a pole there is no map.
    #[must_use]
    pub fn new(lat_deg: f64, lon_deg: f64, alt_m: f64) -> Self {
        let (sin, cos) = lat_deg.to_radians().sin_cos();
        let bent = 1.0 - ECCENTRICITY2 * sin * sin;
        let prime_m = SEMI_MAJOR_M / bent.sqrt();
        let meridian_m = prime_m * (1.0 - ECCENTRICITY2) / bent;
        Self {
            lat_deg,
            lon_deg,
            alt_m,
            north_m: meridian_m + alt_m,
            east_m: (prime_m + alt_m) * cos,
        }
    }

    /// Latitude and longitude in degrees and height above the ellipsoid of a point of the map.
    #[must_use]
    pub fn on_earth(&self, [east, north, up]: Vec3) -> Vec3 {
        [
            self.lat_deg + (north / self.north_m).to_degrees(),
            self.lon_deg + (east / self.east_m).to_degrees(),
            self.alt_m + up,
        ]
    }

    /// The point of the map at a latitude and longitude in degrees and a height above the ellipsoid. The shorter way round
    /// the earth counts.
    #[must_use]
    pub fn on_map(&self, [lat_deg, lon_deg, alt_m]: Vec3) -> Vec3 {
        let east_deg = (lon_deg - self.lon_deg + 180.0).rem_euclid(360.0) - 180.0;
        [
            east_deg.to_radians() * self.east_m,
            (lat_deg - self.lat_deg).to_radians() * self.north_m,
            alt_m - self.alt_m,
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_goes_to_earth_comes_back(
            lat in -80.0..80.0_f64, lon in -180.0..180.0_f64, x in -5e3..5e3_f64, y in -5e3..5e3_f64, z in -50.0..50.0_f64,
        ) {
            let earth = Earth::new(lat, lon, 12.0);
            let back = earth.on_map(earth.on_earth([x, y, z]));
            for (one, other) in back.iter().zip([x, y, z]) {
                prop_assert!((one - other).abs() < 1e-5, "{back:?}");
            }
        }
    }

    #[test]
    fn a_minute_of_latitude_is_a_nautical_mile_and_the_date_line_is_no_wall() {
        let earth = Earth::new(45.0, 179.999, 0.0);
        let [_, north_m, _] = earth.on_map([45.0 + 1.0 / 60.0, 179.999, 0.0]);
        assert!((north_m - 1852.0).abs() < 1.0, "{north_m}");
        let [east_m, ..] = earth.on_map([45.0, -179.999, 0.0]);
        assert!((east_m - 157.7).abs() < 0.5, "{east_m}");
    }
}
