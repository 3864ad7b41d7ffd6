//! Any text is a robot or gets problems, each with a place and a text; a robot can be laid out and planned for every source.

use bowline_component::{Kind, kinds};
use bowline_host::graph::Graph;
use bowline_host::graph::layout::{Rect, Size, layout};
use bowline_host::robot::{LoadError, Loader, Programs, Source, parse};
use bowline_log::{Catalog, Schemas};
use std::path::Path;

const KINDS: &[Kind] = &[Kind::of::<kinds::Heartbeat>("heartbeat", "Beats.")];

/// A box of the drawing.
const BOX: Size = Size {
    width: 120.0,
    height: 60.0,
};

pub(crate) fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let loader = Loader {
        kinds: KINDS,
        types: &|_| Ok(Catalog::new(Schemas::default(), bowline_msgs::SCHEMA)),
        search_path: &[],
        here: None,
        presets: &[],
    };
    match parse(text, Path::new("/nowhere/robot.toml"), &loader) {
        Ok(loaded) => {
            let programs = Programs {
                host: &|_| vec!["host".into()],
                record: &|_| vec!["record".into()],
            };
            for source in [Source::Live, Source::Sim, Source::Log] {
                let graph = Graph::of_robot(&loaded.robot, source);
                let sizes = vec![BOX; graph.nodes.len()];
                let layout = layout(&graph, &sizes, &|end| {
                    f64::from(u16::try_from(end.end).unwrap_or(u16::MAX))
                });
                assert_eq!(layout.boxes.len(), graph.nodes.len());
                let within = |it: &Rect| {
                    it.x + it.width <= layout.width && it.y + it.height <= layout.height
                };
                assert!(layout.boxes.iter().all(within), "{layout:?}");
                assert_eq!(
                    graph.to_text(),
                    Graph::of_robot(&loaded.robot, source).to_text()
                );
                for host in loaded.robot.hosts().into_iter().chain(["here"]) {
                    loaded
                        .robot
                        .plan(source, host, &programs)
                        .check()
                        .expect("a checked robot has a plan");
                }
            }
        }
        Err(LoadError::Wrong(problems)) => {
            assert!(!problems.is_empty());
            assert!(
                problems
                    .iter()
                    .all(|problem| problem.place.line > 0 && !problem.to_string().is_empty())
            );
        }
        Err(error) => panic!("{error}"),
    }
}
