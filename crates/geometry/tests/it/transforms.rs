use super::support::{any_transform, apart};
use bowline_geometry::{MakeTransformError, Transform};
use proptest::prelude::*;
use std::f64::consts::{FRAC_PI_2, PI};

proptest! {
    #[test]
    fn transforms_are_a_group(a in any_transform(), b in any_transform(), c in any_transform()) {
        prop_assert!(apart(&((a * b) * c), &(a * (b * c))) < 1e-12);
        prop_assert!(apart(&(a * a.inverse()), &Transform::IDENTITY) < 1e-12);
        prop_assert!(apart(&(a.inverse() * a), &Transform::IDENTITY) < 1e-12);
        prop_assert_eq!(a * Transform::IDENTITY, a);
        prop_assert!(apart(&a.inverse_mul(&b), &(a.inverse() * b)) < 1e-12);
        prop_assert!(apart(&(a * b).inverse(), &(b.inverse() * a.inverse())) < 1e-12);
    }

    #[test]
    fn points_follow_products(a in any_transform(), b in any_transform(), point in prop::array::uniform3(-9.0..9.0_f64)) {
        let (once, twice) = ((a * b).apply(point), a.apply(b.apply(point)));
        for (x, y) in once.into_iter().zip(twice) {
            prop_assert!((x - y).abs() < 1e-12);
        }
    }

    #[test]
    fn every_spelling_reads_back(a in any_transform()) {
        let again = Transform::from_xyz_rpy(a.xyz(), a.rpy());
        prop_assert!(apart(&a, &again) < 1e-9, "{:?}", a.rpy());
        let again = Transform::from_xyz_quat(a.xyz(), a.quat()).expect("a quaternion of a turn");
        prop_assert!(apart(&a, &again) < 1e-14);
        let again = Transform::from_matrix(a.matrix()).expect("a matrix of a transform");
        prop_assert!(apart(&a, &again) < 1e-14);
        let [w, x, y, z] = a.quat();
        prop_assert!(w >= 0.0 && (w * w + x * x + y * y + z * z - 1.0).abs() < 1e-14);
    }

    #[test]
    fn a_turn_about_an_axis_turns_so_far(axis in 0..3_usize, angle in -PI..PI) {
        let mut direction = [0.0; 3];
        direction[axis] = 1.0;
        let mut rpy = [0.0; 3];
        rpy[axis] = angle;
        let turn = Transform::from_axis_angle(direction, angle);
        prop_assert!(apart(&turn, &Transform::from_xyz_rpy([0.0; 3], rpy)) < 1e-14);
        prop_assert!((turn.angle_rad() - angle.abs()).abs() < 1e-12);
    }
}

#[test]
fn roll_pitch_and_yaw_are_about_fixed_axes_in_this_order() {
    // First a quarter turn about x takes y to z, then one about the fixed z leaves it there.
    let turn = Transform::from_xyz_rpy([0.0; 3], [FRAC_PI_2, 0.0, FRAC_PI_2]);
    for (from, to) in [
        ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0]),
        ([0.0, 1.0, 0.0], [0.0, 0.0, 1.0]),
        ([0.0, 0.0, 1.0], [1.0, 0.0, 0.0]),
    ] {
        for (found, expected) in turn.turn(from).into_iter().zip(to) {
            assert!((found - expected).abs() < 1e-15, "{from:?} to {to:?}");
        }
    }
}

#[test]
fn straight_up_and_down_keep_their_turn() {
    for pitch in [FRAC_PI_2, -FRAC_PI_2] {
        for (roll, yaw) in [(0.3, 0.0), (0.0, 1.2), (-2.0, 0.7)] {
            let pose = Transform::from_xyz_rpy([0.0; 3], [roll, pitch, yaw]);
            let again = Transform::from_xyz_rpy([0.0; 3], pose.rpy());
            assert!(apart(&pose, &again) < 1e-7, "{roll} {pitch} {yaw}");
        }
    }
}

#[test]
fn what_is_no_rigid_transform_is_refused_with_its_reason() {
    let unit = Transform::IDENTITY.matrix();
    let with = |row: usize, column: usize, value: f64| {
        let mut matrix = unit;
        matrix[row][column] = value;
        Transform::from_matrix(matrix)
    };
    assert!(with(0, 0, 1.0004).is_ok(), "four digits are enough");
    assert!(matches!(
        with(0, 0, 1.1),
        Err(MakeTransformError::NotATurn { .. })
    ));
    assert!(matches!(
        with(0, 1, 0.2),
        Err(MakeTransformError::NotATurn { .. })
    ));
    assert!(matches!(
        with(1, 1, f64::NAN),
        Err(MakeTransformError::NotATurn { .. })
    ));
    assert_eq!(with(2, 2, -1.0), Err(MakeTransformError::Mirrors));
    assert!(matches!(
        with(3, 0, 1.0),
        Err(MakeTransformError::NotHomogeneous { .. })
    ));
    for quat in [
        [0.0; 4],
        [f64::NAN, 0.0, 0.0, 1.0],
        [f64::INFINITY, 0.0, 0.0, 0.0],
    ] {
        assert!(
            Transform::from_xyz_quat([0.0; 3], quat).is_err(),
            "{quat:?}"
        );
    }
    assert!(Transform::from_xyz_quat([0.0; 3], [1e-200, 0.0, 0.0, 1e-200]).is_ok());
}
