use super::support::{any_assembly, apart};
use bowline_geometry::{Assembly, Covariance, Model, Transform};
use bowline_testing::random::cases;
use proptest::prelude::*;

/// A pose that was measured with an error, which is along and about the outer thing's axes.
fn disturbed(pose: &Transform, error: &[f64; 6]) -> Transform {
    let [x, y, z, roll, pitch, yaw] = *error;
    let [px, py, pz] = pose.xyz();
    let turn = Transform::from_xyz_rpy([0.0; 3], [roll, pitch, yaw]);
    let turned = turn * Transform::from_xyz([-px, -py, -pz]) * *pose;
    let back = Transform::from_xyz([px + x, py + y, pz + z]);
    back * turned
}

fn ends(
    assembly: &Assembly,
) -> Option<(Model, bowline_geometry::FrameId, bowline_geometry::FrameId)> {
    let mut model = Model::new(assembly.clone()).ok()?;
    model.set_untold_to_rest(0);
    let last = assembly.bodies.last()?;
    let foi = model
        .frame(&format!("{}:{}", last.name, last.frames.last()?.name))
        .ok()?;
    let reference = model.frame("b0:origin").ok()?;
    model.transform(foi, reference).ok()?;
    Some((model, foi, reference))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(48)))]

    /// Each error is made by itself, small, and the pose asked anew: what comes out must be what was propagated.
    #[test]
    fn errors_are_carried_as_if_each_had_been_made(mut assembly in any_assembly(), sd in prop::array::uniform6(0.5..2.0_f64)) {
        let [x, y, z, roll, pitch, yaw] = sd;
        let measured = Covariance::from_deviations([x, y, z], [roll, pitch, yaw]);
        for body in &mut assembly.bodies {
            for frame in body.frames.iter_mut().filter(|it| it.name != "origin") {
                frame.covariance = Some(measured);
            }
        }
        for constraint in &mut assembly.constraints {
            constraint.covariance = constraint.joint.is_none().then_some(measured);
        }
        let Some((model, foi, reference)) = ends(&assembly) else {
            return Ok(());
        };
        let pose = model.transform(foi, reference).expect("it was there before");
        let expected = model.covariance(foi, reference).expect("and so is this");
        let mut found = [[0.0; 6]; 6];
        let small = 1e-6;
        let mut add = |changed: &Assembly, sd: f64| {
            let (model, foi, reference) = ends(changed).expect("an error disconnects nothing");
            let off = model.transform(foi, reference).expect("connected") * pose.inverse();
            let shift: Vec<f64> = {
                let now = model.transform(foi, reference).expect("connected").xyz();
                now.iter().zip(pose.xyz()).map(|(now, then)| now - then).collect()
            };
            let turn = off.rpy();
            let error: Vec<f64> = shift.into_iter().chain(turn).map(|it| it / small * sd).collect();
            for i in 0..6 {
                for j in 0..6 {
                    found[i][j] += error[i] * error[j];
                }
            }
        };
        for which in 0..6 {
            let mut error = [0.0; 6];
            error[which] = small;
            for body in 0..assembly.bodies.len() {
                for frame in 0..assembly.bodies[body].frames.len() {
                    let mut changed = assembly.clone();
                    let frame = &mut changed.bodies[body].frames[frame];
                    if frame.name != "origin" {
                        frame.body_from_frame = disturbed(&frame.body_from_frame, &error);
                        add(&changed, sd[which]);
                    }
                }
            }
            for idx in 0..assembly.constraints.len() {
                let mut changed = assembly.clone();
                let constraint = &mut changed.constraints[idx];
                if constraint.covariance.is_some() {
                    constraint.from_from_to = disturbed(&constraint.from_from_to, &error);
                    add(&changed, sd[which]);
                }
            }
        }
        let scale = found.iter().flatten().fold(1.0_f64, |most, it| most.max(it.abs()));
        for (found, expected) in found.iter().flatten().zip(expected.0.iter().flatten()) {
            prop_assert!((found - expected).abs() < 1e-3 * scale, "{found} {expected} of {scale}");
        }
    }
}

#[test]
fn a_frame_is_exactly_where_it_is() {
    let certain = Transform::from_xyz([1.0, 2.0, 3.0]);
    assert!(apart(&disturbed(&certain, &[0.0; 6]), &certain) < 1e-15);
    let covariance = Covariance::from_deviations([0.001; 3], [0.01; 3]);
    assert!(covariance.is_plausible());
    let (xyz, rpy) = covariance.deviations();
    assert!(xyz.iter().all(|it| (it - 0.001).abs() < 1e-12));
    assert!(rpy.iter().all(|it| (it - 0.01).abs() < 1e-12));
    let mut impossible = covariance;
    impossible.0[0][1] = 1.0;
    impossible.0[1][0] = 1.0;
    assert!(!impossible.is_plausible());
}
