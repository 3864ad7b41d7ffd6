//! The last piece in closed form, and pieces between two states: as if nothing were in the way. The caller checks.

use super::Problem;
use crate::plan::dubins;
use crate::plan::model::{Action, Model, Spot};
use crate::{Place, within_half_turn};

/// Turns smaller than this are left out.
const LEAST_RAD: f64 = 1e-6;
/// Drives shorter than this are left out.
const LEAST_M: f64 = 1e-6;

/// The actions that lead to the goal of a problem; none if there is no such way.
pub(crate) fn to_goal(problem: &Problem, from: &Place) -> Vec<Action> {
    let Problem { goal, model, .. } = problem;
    if let Some(heading) = goal.heading {
        let [x_m, y_m] = goal.at_m;
        return between(model, from, &Place::new(x_m, y_m, heading.heading_rad));
    }
    let [x_m, y_m] = from.see(goal.at_m);
    let mut actions = match model.spot {
        Spot::Turns => turn_and_drive(model, [x_m, y_m]),
        Spot::Never => arcs(model, dubins::to_point([x_m, y_m], model.min_radius_m())),
    };
    // The vehicle need not stand on the very point. Half of the tolerance is left to the follower.
    if let Some(last) = actions.last_mut()
        && last.control.turn_radps.abs() <= 0.0
    {
        let left_m = (last.length_m() - goal.tolerance_m / 2.0).max(0.0);
        last.duration_s = left_m / last.control.speed_mps.abs();
    }
    actions.retain(|action| action.duration_s > 0.0);
    actions
}

/// The actions that lead from one state to another; none if there is no such way.
pub(crate) fn between(model: &Model, from: &Place, to: &Place) -> Vec<Action> {
    let [x_m, y_m] = from.see(to.position_m());
    let turned_rad = within_half_turn(to.heading_rad - from.heading_rad);
    match model.spot {
        Spot::Never => {
            let goal = Place::new(x_m, y_m, turned_rad);
            arcs(model, dubins::to_pose(&goal, model.min_radius_m()))
        }
        Spot::Turns => {
            let mut actions = turn_and_drive(model, [x_m, y_m]);
            let so_far: f64 = actions.iter().map(Action::turned_rad).sum();
            let rest_rad = within_half_turn(turned_rad - so_far);
            if rest_rad.abs() > LEAST_RAD {
                actions.push(model.turn(rest_rad));
            }
            actions
        }
    }
}

fn turn_and_drive(model: &Model, [x_m, y_m]: [f64; 2]) -> Vec<Action> {
    let distance_m = x_m.hypot(y_m);
    let mut actions = Vec::new();
    if distance_m < LEAST_M {
        return actions;
    }
    let bearing_rad = y_m.atan2(x_m);
    if bearing_rad.abs() > LEAST_RAD {
        actions.push(model.turn(bearing_rad));
    }
    actions.push(model.arc(0.0, distance_m));
    actions
}

fn arcs(model: &Model, way: Option<dubins::Way>) -> Vec<Action> {
    let pieces = way.into_iter().flat_map(|way| {
        way.pieces(model.min_radius_m())
            .map(|(curvature, length_m)| model.arc(curvature, length_m))
    });
    pieces.collect()
}
