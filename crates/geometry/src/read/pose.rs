//! Poses, as all elements of our files spell them, and how sure they are.

use crate::covariance::Covariance;
use crate::mistake::{Fault, Mistakes};
use crate::transform::Transform;
use crate::xml::Element;

/// The attributes of a pose.
pub(super) const POSE: &[&str] = &["xyz", "rpy", "quat", "matrix", "angle"];
/// The attributes of how sure it is.
pub(super) const SURENESS: &[&str] = &["sd_xyz", "sd_rpy", "covariance"];

/// What an angle of 1 is in radians.
fn angle_unit(element: Element<'_>, mistakes: &mut Mistakes) -> f64 {
    match element.attribute("angle") {
        None | Some("rad") => 1.0,
        Some("deg") => 1.0_f64.to_radians(),
        Some(_) => {
            element.refuse_value("angle", "deg or rad", mistakes);
            1.0
        }
    }
}

/// The pose of an element; without a word about it, where its parent is.
pub(super) fn pose(element: Element<'_>, mistakes: &mut Mistakes) -> Transform {
    for (first, second) in [
        ("matrix", "xyz"),
        ("matrix", "rpy"),
        ("matrix", "quat"),
        ("quat", "rpy"),
    ] {
        if element.attribute(first).is_some() && element.attribute(second).is_some() {
            let fault = Fault::SaidTwice {
                first: first.to_owned(),
                second: second.to_owned(),
            };
            mistakes.push(element.place_of(second), fault);
            return Transform::IDENTITY;
        }
    }
    let unit = angle_unit(element, mistakes);
    let xyz = element.numbers("xyz", mistakes).unwrap_or_default();
    let made = if let Some(numbers) = element.numbers::<16>("matrix", mistakes) {
        let (rows, _) = numbers.as_chunks::<4>();
        let [a, b, c, d] =
            [0, 1, 2, 3].map(|row: usize| rows.get(row).copied().unwrap_or_default());
        Transform::from_matrix([a, b, c, d]).map_err(|error| ("matrix", error))
    } else if let Some(quat) = element.numbers::<4>("quat", mistakes) {
        Transform::from_xyz_quat(xyz, quat).map_err(|error| ("quat", error))
    } else {
        let rpy = element.numbers::<3>("rpy", mistakes).unwrap_or_default();
        Ok(Transform::from_xyz_rpy(xyz, rpy.map(|it| it * unit)))
    };
    made.unwrap_or_else(|(attribute, error)| {
        mistakes.push(element.place_of(attribute), error.into());
        Transform::IDENTITY
    })
}

/// How sure the pose of an element is, if it has a covariance.
pub(super) fn covariance(element: Element<'_>, mistakes: &mut Mistakes) -> Option<Covariance> {
    let unit = angle_unit(element, &mut Mistakes::new());
    if element.attribute("covariance").is_some() {
        if let Some(second) = ["sd_xyz", "sd_rpy"]
            .into_iter()
            .find(|name| element.attribute(name).is_some())
        {
            let fault = Fault::SaidTwice {
                first: "covariance".to_owned(),
                second: second.to_owned(),
            };
            mistakes.push(element.place_of(second), fault);
            return None;
        }
        let numbers = element.numbers::<36>("covariance", mistakes)?;
        let mut matrix = [[0.0; 6]; 6];
        for (row, found) in matrix.iter_mut().zip(numbers.as_chunks::<6>().0) {
            *row = *found;
        }
        let covariance = Covariance(matrix);
        if !covariance.is_plausible() {
            let expected = "a symmetric matrix with no variance below 0 and no correlation above 1";
            element.refuse_value("covariance", expected, mistakes);
            return None;
        }
        return Some(covariance);
    }
    let mut deviations = |name| {
        let found = element.numbers::<3>(name, mistakes)?;
        if found.iter().any(|it| *it < 0.0) {
            element.refuse_value(name, "3 numbers that are not below 0", mistakes);
            return None;
        }
        Some(found)
    };
    let (xyz, rpy) = (deviations("sd_xyz"), deviations("sd_rpy"));
    if xyz.is_none() && rpy.is_none() {
        return None;
    }
    let rpy = rpy.unwrap_or_default().map(|it| it * unit);
    Some(Covariance::from_deviations(xyz.unwrap_or_default(), rpy))
}
