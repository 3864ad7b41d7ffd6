//! A way made cheaper: from state to state, the closed form to the farthest state that can be reached so.

use super::{Run, Way, closing};
use crate::Place;
use crate::plan::model::Action;

/// How often a closed form is tried for one way.
const MAX_TRIES: u32 = 400;

impl Run<'_> {
    /// Makes the best way cheaper where that is possible.
    pub(super) fn straighten(&mut self) {
        let Some(best) = self.best.take() else {
            return;
        };
        let best = self.straightened(&best.actions).unwrap_or(best);
        self.best = Some(best);
    }

    fn straightened(&self, actions: &[Action]) -> Option<Way> {
        let start = self.problem.start;
        let states: Vec<Place> = states_along(&start, actions);
        // What each action costs on its own, so that pieces can be compared.
        let costs: Vec<f64> = actions
            .iter()
            .zip(&states)
            .map(|(action, from)| self.cost_of_piece(from, action))
            .collect::<Option<_>>()?;
        let mut way = Way {
            cost_m: 0.0,
            actions: Vec::new(),
        };
        let mut n_tries = 0;
        let mut at = 0;
        while at < actions.len() {
            let (to, cost_m, piece) = self
                .shortcut(&states, &costs, at, &mut n_tries)
                .unwrap_or_else(|| (at + 1, costs[at], vec![actions[at]]));
            way.cost_m += cost_m;
            way.actions.extend(piece);
            at = to;
        }
        Some(way)
    }

    /// The farthest state that a closed form leads to at less cost, with that cost.
    fn shortcut(
        &self,
        states: &[Place],
        costs: &[f64],
        at: usize,
        n_tries: &mut u32,
    ) -> Option<(usize, f64, Vec<Action>)> {
        for to in (at + 2..states.len()).rev() {
            if *n_tries >= MAX_TRIES {
                return None;
            }
            *n_tries += 1;
            let actions = closing::between(&self.problem.model, &states[at], &states[to]);
            let within_m = costs[at..to].iter().sum::<f64>() - 1e-6;
            if let Some(cost_m) = self.cost_along(&states[at], &actions, within_m) {
                return Some((to, cost_m, actions));
            }
        }
        None
    }
}

/// Where each action begins, and the end.
pub(crate) fn states_along(start: &Place, actions: &[Action]) -> Vec<Place> {
    let mut states = vec![*start];
    let mut state = *start;
    for action in actions {
        state = action.advance(&state);
        states.push(state);
    }
    states
}
