//! Promises of the layout, over random graphs.

use super::super::{End, Flow, Graph, Node, Role};
use super::*;
use bowline_component::Need;
use proptest::prelude::*;

/// Nodes, each with flows and the numbers of their channels.
fn graph(nodes: &[Vec<(bool, u8)>]) -> Graph {
    let end = |(is_writer, channel): &(bool, u8)| End {
        flow: if *is_writer {
            Flow::Writes
        } else {
            Flow::Reads
        },
        port: "port".to_owned(),
        channel: Some(format!("channel{channel}")),
        message: None,
        answer: None,
        need: Need::Optional,
    };
    let node = |(at, ends): (usize, &Vec<(bool, u8)>)| Node {
        name: format!("node{at}"),
        what: String::new(),
        role: Role::Component,
        past: None,
        process: None,
        host: None,
        experiment: None,
        ends: ends.iter().map(end).collect(),
    };
    Graph {
        title: "random".to_owned(),
        nodes: nodes.iter().enumerate().map(node).collect(),
    }
}

fn laid_out(graph: &Graph) -> Layout {
    let size = |node: &Node| Size {
        width: 100.0,
        height: 40.0 + 10.0 * node.ends.len() as f64,
    };
    let sizes: Vec<Size> = graph.nodes.iter().map(size).collect();
    layout(graph, &sizes, &|id| 45.0 + 10.0 * id.end as f64)
}

fn overlap(one: &Rect, two: &Rect) -> bool {
    one.x < two.x + two.width
        && two.x < one.x + one.width
        && one.y < two.y + two.height
        && two.y < one.y + one.height
}

proptest! {
    #[test]
    fn boxes_never_overlap_and_wires_never_cross_them(
        nodes in prop::collection::vec(prop::collection::vec((any::<bool>(), 0..12_u8), 0..5), 0..30),
    ) {
        let graph = graph(&nodes);
        let layout = laid_out(&graph);
        prop_assert_eq!(layout.boxes.len(), nodes.len());
        for (at, one) in layout.boxes.iter().enumerate() {
            for two in &layout.boxes[at + 1..] {
                prop_assert!(!overlap(one, two), "{one:?} {two:?}");
            }
            prop_assert!(one.x >= 0.0 && one.y >= 0.0);
            prop_assert!(one.x + one.width <= layout.width && one.y + one.height <= layout.height);
        }
        for wire in &layout.wires {
            for [(from_x, y), (to_x, _)] in &wire.lanes {
                let lane = Rect { x: from_x.min(*to_x), y: *y, width: (to_x - from_x).abs(), height: 0.1 };
                prop_assert!(layout.boxes.iter().all(|it| !overlap(it, &lane)), "{wire:?}");
            }
        }
        prop_assert_eq!(&layout, &laid_out(&graph));
    }
}

#[test]
fn readers_stand_to_the_right_of_writers_and_circles_turn_round() {
    let chain = graph(&[
        vec![(true, 1)],
        vec![(false, 1), (true, 2)],
        vec![(false, 2), (false, 1), (true, 3)],
        vec![(false, 3), (true, 4)],
    ]);
    let layout = laid_out(&chain);
    let lefts: Vec<f64> = layout.boxes.iter().map(|it| it.x).collect();
    assert!(lefts.is_sorted_by(|one, two| one < two), "{lefts:?}");
    assert!(layout.wires.iter().all(|wire| !wire.is_back));
    let circle = graph(&[vec![(true, 1), (false, 2)], vec![(false, 1), (true, 2)]]);
    let layout = laid_out(&circle);
    let backs: Vec<bool> = layout.wires.iter().map(|wire| wire.is_back).collect();
    assert_eq!(backs, [false, true]);
    let own = laid_out(&graph(&[vec![(true, 1), (false, 1)]]));
    assert!(own.wires[0].is_back);
}
