//! Any text is a robot or gets problems, each with a place and a text; a robot can be drawn and planned for every source.

use bowline_component::{Kind, kinds};
use bowline_host::graph::Graph;
use bowline_host::robot::{LoadError, Loader, Programs, Source, parse};
use bowline_log::{Catalog, Schemas};
use std::path::Path;

const KINDS: &[Kind] = &[Kind::of::<kinds::Heartbeat>("heartbeat", "Beats.")];

pub(crate) fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let loader = Loader {
        kinds: KINDS,
        types: &|_| Ok(Catalog::new(Schemas::default())),
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
                assert!(graph.to_svg().ends_with("</svg>\n"));
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
