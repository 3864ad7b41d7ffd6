//! What hulls and thrusters say about themselves.

use crate::hull::{Hull, Thruster};
use crate::mistake::Mistakes;
use crate::xml::{Element, NOT_NEGATIVE, POSITIVE, RATIO};

pub(super) fn hull(element: Element<'_>, mistakes: &mut Mistakes) -> Option<Hull> {
    let sizes = &["length_m", "beam_m", "windage_m2", "munk_ratio"];
    let water = &["added_mass", "linear_drag", "quadratic_drag"];
    element.allow(&[sizes, water], mistakes);
    for name in ["length_m", "beam_m", "added_mass", "linear_drag"] {
        element.required(name, mistakes);
    }
    let length_m = element.number_in("length_m", POSITIVE, mistakes);
    let beam_m = element.number_in("beam_m", POSITIVE, mistakes);
    let added_mass = none_negative(element, "added_mass", mistakes);
    let linear_drag = none_negative(element, "linear_drag", mistakes);
    let quadratic_drag = none_negative(element, "quadratic_drag", mistakes);
    let windage_m2 = none_negative(element, "windage_m2", mistakes);
    let munk_ratio = element.number_in("munk_ratio", RATIO, mistakes);
    Some(Hull {
        place: element.place(),
        length_m: length_m?,
        beam_m: beam_m?,
        added_mass: added_mass?,
        linear_drag: linear_drag?,
        quadratic_drag: quadratic_drag.unwrap_or_default(),
        munk_ratio: munk_ratio.unwrap_or(1.0),
        windage_m2: windage_m2.unwrap_or_default(),
    })
}

fn none_negative<const N: usize>(
    element: Element<'_>,
    name: &str,
    mistakes: &mut Mistakes,
) -> Option<[f64; N]> {
    element.attribute(name)?;
    let found = element.numbers::<N>(name, mistakes)?;
    if found.iter().any(|it| *it < 0.0) {
        element.refuse_value(name, format_args!("{N} numbers, none below 0"), mistakes);
        return None;
    }
    Some(found)
}

pub(super) fn thruster(element: Element<'_>, mistakes: &mut Mistakes) -> Option<Thruster> {
    element.allow(
        &[&["name", "frame", "ahead_n", "astern_n", "lag_s"]],
        mistakes,
    );
    element.required("ahead_n", mistakes);
    let ahead_n = element.number_in("ahead_n", POSITIVE, mistakes);
    let astern_n = match element.attribute("astern_n") {
        Some(_) => element.number_in("astern_n", NOT_NEGATIVE, mistakes),
        // Alike both ways.
        None => ahead_n,
    };
    let lag_s = element.number_in("lag_s", NOT_NEGATIVE, mistakes);
    let name = element.required_name("name", mistakes);
    let frame = element.required_name("frame", mistakes);
    Some(Thruster {
        name: name?,
        place: element.place(),
        frame: frame?,
        ahead_n: ahead_n?,
        astern_n: astern_n?,
        lag_s: lag_s.unwrap_or(0.0),
    })
}
