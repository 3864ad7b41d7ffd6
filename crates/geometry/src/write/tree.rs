//! A model as a tree of text: what hangs from what, by which constraint.

use crate::assembly::{Constraint, JointKind};
use crate::model::{Loop, Model};

/// Draws a model's bodies, frames and constraints, each part from its first body on, then its loops.
#[must_use]
pub fn to_tree(model: &Model) -> String {
    let assembly = model.assembly();
    let mut children: Vec<Vec<(usize, usize)>> = vec![Vec::new(); assembly.bodies.len()];
    for body in 0..assembly.bodies.len() {
        if let Some((constraint, parent)) = model.parent_of(body) {
            children[parent].push((constraint, body));
        }
    }
    children.iter_mut().for_each(|it| it.sort_unstable());
    let mut text = String::new();
    for part in model.parts() {
        let Some(&first) = part.first() else {
            continue;
        };
        text += &format!("{}\n", assembly.bodies[first].name);
        // A stack in place of recursion: chains may be as long as there are bodies.
        let mut waiting: Vec<Branch> = Vec::new();
        grow(model, &children, first, "", &mut text, &mut waiting);
        while let Some(branch) = waiting.pop() {
            let constraint = &assembly.constraints[branch.constraint];
            let body = &assembly.bodies[branch.body].name;
            let (tee, bar) = if branch.is_last {
                ("└─ ", "   ")
            } else {
                ("├─ ", "│  ")
            };
            text += &format!("{}{tee}{}\n", branch.indent, crossing(constraint, body));
            let indent = format!("{}{bar}", branch.indent);
            grow(
                model,
                &children,
                branch.body,
                &indent,
                &mut text,
                &mut waiting,
            );
        }
    }
    for (nth, it) in model.loops().iter().enumerate() {
        if nth == 0 {
            text += "loops\n";
        }
        text += &format!("  {}\n", describe(model, it));
    }
    text
}

struct Branch {
    constraint: usize,
    body: usize,
    indent: String,
    is_last: bool,
}

/// Writes what is on a body, and has its branches wait.
fn grow(
    model: &Model,
    children: &[Vec<(usize, usize)>],
    body: usize,
    indent: &str,
    text: &mut String,
    waiting: &mut Vec<Branch>,
) {
    let declared = &model.assembly().bodies[body];
    let bar = if children[body].is_empty() {
        " "
    } else {
        "│"
    };
    let frames: Vec<&str> = declared.frames.iter().map(|it| it.name.as_str()).collect();
    for line in wrapped(&frames) {
        *text += &format!("{indent}{bar}    {line}\n");
    }
    for sensor in declared.sensors() {
        let (word, rate_hz) = (&sensor.word, sensor.rate_hz());
        let [name, frame] = [&sensor.name, &sensor.frame].map(|it| it.as_deref().unwrap_or("?"));
        *text += &format!("{indent}{bar}    [{word} {name} in {frame}, {rate_hz} Hz]\n");
    }
    let last = children[body].last().copied();
    for &(constraint, next) in children[body].iter().rev() {
        waiting.push(Branch {
            constraint,
            body: next,
            indent: indent.to_owned(),
            is_last: Some((constraint, next)) == last,
        });
    }
}

fn wrapped(names: &[&str]) -> Vec<String> {
    const WIDTH: usize = 76;
    let mut lines: Vec<String> = Vec::new();
    for name in names {
        match lines.last_mut() {
            Some(line) if line.chars().count() + name.chars().count() + 2 <= WIDTH => {
                *line += &format!(", {name}");
            }
            Some(_) | None => lines.push((*name).to_owned()),
        }
    }
    lines
}

/// `Frame ── Constraint ──▶ Body:Frame`, from the side that is nearer to the first body.
fn crossing(constraint: &Constraint, body: &str) -> String {
    let (near, far, line) = if constraint.to.body == body {
        (&constraint.from.frame, &constraint.to, ["──", "─▶"])
    } else {
        (&constraint.to.frame, &constraint.from, ["◀─", "──"])
    };
    let [begin, end] = line;
    format!(
        "{near} {begin} {}{} {end} {far}",
        constraint.name,
        motion(constraint)
    )
}

fn motion(constraint: &Constraint) -> String {
    let Some(joint) = &constraint.joint else {
        return String::new();
    };
    let word = match joint.kind {
        JointKind::Revolute => "turns",
        JointKind::Prismatic => "slides",
    };
    match (&joint.feed, &joint.follows) {
        (Some(feed), _) => format!(" ({word} with {} of {})", feed.field, feed.channel),
        (None, Some(follows)) => format!(" ({word} with {})", follows.constraint),
        (None, None) => format!(" ({word})"),
    }
}

/// A loop in words.
pub(crate) fn describe(model: &Model, it: &Loop) -> String {
    let assembly = model.assembly();
    let constraint = &assembly.constraints[it.closed_by];
    let bodies: Vec<&str> = it
        .bodies
        .iter()
        .map(|idx| assembly.bodies[*idx].name.as_str())
        .collect();
    format!(
        "{}: {} ──▶ {} closes {} with {:.1} mm and {:.3} deg",
        constraint.name,
        constraint.from,
        constraint.to,
        bodies.join(" - "),
        it.distance_m * 1e3,
        it.angle_rad.to_degrees()
    )
}

impl Loop {
    /// Which bodies it leads through, what closes it, and how well.
    #[must_use]
    pub fn describe(&self, model: &Model) -> String {
        describe(model, self)
    }
}
