//! What a controller needs to know of a vessel: its weight, its drag and its thrusters, from its model.

use bowline_component::BuildError;
use bowline_geometry::{HULL, Hull, Mistakes, Model, THRUSTER, Thruster, Transform};

/// A vessel with a thruster on each side, as it moves ahead and turns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Craft {
    /// What has to be moved ahead, with the water that moves along, kilograms.
    pub surge_kg: f64,
    /// What has to be turned, with the water that turns along, kilogram square metres.
    pub yaw_kgm2: f64,
    /// What holds it back, newtons at a metre a second, and at the square of it.
    pub surge_drag: [f64; 2],
    /// What holds its turning back, newton metres at a radian a second, and at the square of it.
    pub yaw_drag: [f64; 2],
    /// How hard a thruster pushes ahead, newtons.
    pub ahead_n: f64,
    /// How hard it pulls astern, newtons.
    pub astern_n: f64,
    /// How far to the side a thruster sits, metres.
    pub lever_m: f64,
    /// How long until it gives about two thirds of what is commanded, seconds.
    pub lag_s: f64,
}

/// A thruster that is nearer to the middle than this is on no side, metres.
const MIN_LEVER_M: f64 = 0.01;

impl Craft {
    /// From the robot's model and the name of the vessel's frame in it.
    ///
    /// # Errors
    /// When it has no hull, or not one thruster on each side.
    pub fn of(model: &Model, vehicle: &str) -> Result<Self, BuildError> {
        let bodies = &model.assembly().bodies;
        let mut mistakes = Mistakes::new();
        let mut hulls = bodies.iter().flat_map(|body| body.elements_of(HULL.word));
        let hull = hulls
            .next()
            .ok_or("the model has no hull: it is no vessel")?;
        let hull = Hull::read(hull, &mut mistakes);
        let place_of = |body: &str, frame: &str| -> Result<Transform, BuildError> {
            Ok(model.transform_by_name(&format!("{body}:{frame}"), vehicle)?)
        };
        let mut thrusters = Vec::new();
        for body in bodies {
            for thruster in body.elements_of(THRUSTER.word) {
                if let Some(thruster) = Thruster::read(thruster, &mut mistakes) {
                    let [_, left_m, _] = place_of(&body.name, &thruster.frame)?.xyz();
                    thrusters.push((left_m, thruster));
                }
            }
        }
        // Without a mistake there is a hull.
        let hull = mistakes.or(hull)?.ok_or("the hull cannot be read")?;
        let [(one_m, one), (other_m, other)] = thrusters.as_slice() else {
            let found = thrusters.len();
            return Err(format!("expected a vessel with two thrusters, found {found}").into());
        };
        let lever_m = one_m.abs().min(other_m.abs());
        if one_m * other_m >= 0.0 || lever_m < MIN_LEVER_M {
            let found = format!("thrusters {one_m} m and {other_m} m to the left");
            return Err(format!("expected one thruster on each side, found {found}").into());
        }
        let (mass_kg, inertia_kgm2) = weigh(model, vehicle)?;
        let Hull {
            added_mass: [added_kg, _, added_kgm2],
            linear_drag: [surge_linear, _, yaw_linear],
            quadratic_drag: [surge_square, _, yaw_square],
            ..
        } = hull;
        Ok(Self {
            surge_kg: mass_kg + added_kg,
            yaw_kgm2: inertia_kgm2 + added_kgm2,
            surge_drag: [surge_linear, surge_square],
            yaw_drag: [yaw_linear, yaw_square],
            // The weaker one of both counts, so that what is wished for can be given.
            ahead_n: one.ahead_n.min(other.ahead_n),
            astern_n: one.astern_n.min(other.astern_n),
            lever_m,
            lag_s: one.lag_s.max(other.lag_s),
        })
    }

    /// What holds it back at a speed through the water, newtons.
    #[must_use]
    pub fn drag_n(&self, speed_mps: f64) -> f64 {
        let [linear, square] = self.surge_drag;
        linear * speed_mps + square * speed_mps * speed_mps.abs()
    }

    /// What holds its turning back, newton metres.
    #[must_use]
    pub fn yaw_drag_nm(&self, rate_radps: f64) -> f64 {
        let [linear, square] = self.yaw_drag;
        linear * rate_radps + square * rate_radps * rate_radps.abs()
    }

    /// How hard both thrusters push together, newtons.
    #[must_use]
    pub fn push_n(&self, ratios: [f64; 2]) -> f64 {
        let push = |ratio: f64| {
            ratio
                * if ratio < 0.0 {
                    self.astern_n
                } else {
                    self.ahead_n
                }
        };
        ratios.map(push).iter().sum()
    }

    /// How fast it can turn on the spot, radians a second.
    #[must_use]
    pub fn max_rate_radps(&self) -> f64 {
        let moment_nm = (self.ahead_n + self.astern_n) * self.lever_m;
        let [linear, square] = self.yaw_drag;
        // Where drag takes all of the moment.
        if square <= 0.0 {
            return moment_nm / linear.max(f64::MIN_POSITIVE);
        }
        let half = linear / (2.0 * square);
        (half * half + moment_nm / square).sqrt() - half
    }

    /// Ratios of port and starboard for a push and a moment. Where both cannot be had, the moment comes first: a vessel
    /// that points the wrong way only gets further off.
    #[must_use]
    pub fn ratios(&self, push_n: f64, moment_nm: f64) -> [f64; 2] {
        let (ahead_n, astern_n) = (self.ahead_n, self.astern_n);
        let most_n = (ahead_n + astern_n) / 2.0;
        let apart_n = (moment_nm / (2.0 * self.lever_m)).clamp(-most_n, most_n);
        let room = [-astern_n + apart_n.abs(), ahead_n - apart_n.abs()];
        // Rounding may leave them the wrong way round by a hair.
        let each_n = (push_n / 2.0).max(room[0]).min(room[1].max(room[0]));
        let ratio = |force_n: f64| {
            let most_n = if force_n < 0.0 { astern_n } else { ahead_n };
            (force_n / most_n).clamp(-1.0, 1.0)
        };
        [ratio(each_n - apart_n), ratio(each_n + apart_n)]
    }
}

/// Mass of all bodies, and inertia about the vessel's up axis.
fn weigh(model: &Model, vehicle: &str) -> Result<(f64, f64), BuildError> {
    let (mut mass_kg, mut inertia_kgm2) = (0.0, 0.0);
    for body in &model.assembly().bodies {
        let (Some(mass), Some(frame)) = (&body.mass, body.frames.first()) else {
            continue;
        };
        let name = format!("{}:{}", body.name, frame.name);
        let vehicle_from_body =
            model.transform_by_name(&name, vehicle)? * frame.body_from_frame.inverse();
        let [x, y, _] = vehicle_from_body.apply(mass.body_from_centre.xyz());
        mass_kg += mass.mass_kg;
        inertia_kgm2 += mass.mass_kg * (x * x + y * y);
        inertia_kgm2 += mass.inertia_kgm2.map_or(0.0, |[_, _, about_z, ..]| about_z);
    }
    Ok((mass_kg, inertia_kgm2))
}
