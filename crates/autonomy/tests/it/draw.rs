//! Pictures and the page, from a drive that is made up.

use crate::support::{EXACT, Scene, beams, heights, view};
use bowline_autonomy::map::draw::{Layer, Palette, Picture, UNKNOWN};
use bowline_autonomy::map::replay::{Command, Decision, Frame, Goal, Replay, Voter};
use bowline_autonomy::map::{Chart as _, Limits, Terrain, TerrainSettings, traverse};
use bowline_geometry::Transform;
use bowline_testing::random::Random;

const HEIGHTS: Palette = Palette::Height {
    grade_m: 0.0,
    span_m: 1.0,
};

#[test]
fn heights_are_green_at_grade_red_below_and_blue_above() {
    let colour = |height: f32| HEIGHTS.colour(HEIGHTS.index(height));
    let largest = |rgb: [u8; 3]| (0..3).max_by_key(|at| rgb[*at]).expect("three");
    assert_eq!(
        [colour(0.0), colour(-0.6), colour(0.6)].map(largest),
        [1, 0, 2]
    );
    assert_eq!(colour(-50.0), colour(-1.0), "no redder than red");
    assert_eq!(colour(f32::NAN), UNKNOWN);
    assert_eq!(colour(f32::INFINITY), colour(1.0));
}

#[test]
fn what_can_be_driven_is_green_and_what_cannot_is_red() {
    let colour = |ratio: f32| Palette::Ratio.colour(Palette::Ratio.index(ratio));
    assert!(colour(1.0)[1] > colour(1.0)[0]);
    assert!(colour(0.0)[0] > colour(0.0)[1]);
    assert_eq!(colour(f32::NAN), UNKNOWN);
}

#[test]
fn a_span_is_light_at_its_low_end_and_dark_at_its_high_one() {
    let depths = Palette::Span {
        low: 2.0,
        high: 10.0,
    };
    let light = |depth: f32| {
        let colour = depths.colour(depths.index(depth));
        colour.iter().map(|it| u32::from(*it)).sum::<u32>()
    };
    let depths_m = [2.0, 4.0, 6.0, 8.0, 10.0];
    assert!(depths_m.windows(2).all(|two| light(two[0]) > light(two[1])));
    assert_eq!(light(-1.0), light(2.0), "no lighter than that");
    assert_eq!(depths.colour(depths.index(f32::NAN)), UNKNOWN);
    // All alike is a picture too.
    let flat = Palette::Span {
        low: 3.0,
        high: 3.0,
    };
    assert_ne!(flat.index(3.0), 0);
}

#[test]
fn a_ring_shows_what_is_in_it() {
    let map = heights(20, 1.0, |_, _| 0.0);
    let layer = Layer::new(&map, "height", HEIGHTS).expect("it is a map");
    let mut picture = Picture::new(&layer, 4);
    let before = picture.at(40, 40);
    picture.ring([10.0, 10.0], [1, 2, 3], 12.0);
    assert_eq!(picture.at(40, 40), before);
    assert_eq!(picture.at(46, 40), Some([1, 2, 3]));
}

#[test]
fn pictures_have_north_at_the_top() {
    let map = heights(
        4,
        1.0,
        |x, y| if x > 3.0 && y > 3.0 { 1.0 } else { f64::NAN },
    );
    let layer = Layer::new(&map, "height", HEIGHTS).expect("it is a map");
    let mut picture = Picture::new(&layer, 2);
    assert_eq!(picture.size(), (8, 8));
    assert_eq!(picture.at(7, 0), Some(HEIGHTS.colour(255)));
    assert_eq!(picture.at(0, 0), Some(UNKNOWN));
    picture.dot([0.5, 0.5], [1, 2, 3], 2.0);
    assert_eq!(picture.at(0, 7), Some([1, 2, 3]));
    // Far away, nowhere: nothing happens.
    picture.path(&[[-1e9, 0.0], [1e9, 0.0]], [9; 3], 1.0);
    picture.dot([f64::NAN, f64::INFINITY], [9; 3], 5.0);
    picture.vehicle([2.0, 2.0], 0.3);
    picture.arc([2.0, 2.0, 0.0], 0.5, 2.0, ([255; 3], 1.0));
}

#[test]
fn layers_and_pictures_can_be_read_back_as_png() {
    let map = heights(5, 1.0, |x, y| x - y);
    let layer = Layer::new(&map, "height", HEIGHTS).expect("it is a map");
    let bytes = layer.to_png().expect("it has cells");
    let mut reader = png::Decoder::new(std::io::Cursor::new(&bytes))
        .read_info()
        .expect("a PNG");
    let mut pixels = vec![0; reader.output_buffer_size().expect("small")];
    let info = reader.next_frame(&mut pixels).expect("a picture");
    assert_eq!((info.width, info.height), (5, 5));
    assert_eq!(pixels, layer.cells);
    assert!(Picture::new(&layer, 3).to_png().is_ok());
    let empty = Layer {
        columns: 0,
        rows: 0,
        cells: Vec::new(),
        ..layer.clone()
    };
    assert!(empty.to_png().is_err());
    let short = Layer {
        cells: vec![0; 3],
        ..layer
    };
    assert!(short.to_png().is_err(), "fewer cells than it says");
}

/// A vehicle that drives among boxes, and what it could have said.
fn drive() -> Replay {
    let scene = Scene {
        boxes: vec![
            ([8.0, 2.5, 0.0], [14.0, 6.0, 1.4]),
            ([16.0, -6.0, 0.0], [20.0, -2.0, 0.6]),
            ([27.0, -3.0, 0.0], [29.0, 4.0, 2.0]),
        ],
        ..Scene::default()
    };
    let settings = TerrainSettings {
        size_m: 30.0,
        cell_m: 0.2,
        ..TerrainSettings::default()
    };
    let mut terrain = Terrain::new(settings).expect("it is a map");
    let mut random = Random::new(3);
    let mut frames = Vec::new();
    for step in 0..60_i32 {
        let (x, heading) = (
            f64::from(step) * 0.33,
            0.25 * (f64::from(step) * 0.12).sin(),
        );
        let y = 2.0 * (f64::from(step) * 0.06).sin();
        terrain.centre_on([x, y]);
        for fine in 0..10_i32 {
            let ahead = 0.033 * f64::from(fine);
            for (side, down) in [(0.4, 0.35), (-0.4, 0.21)] {
                let car = Transform::from_xyz_rpy([x + ahead, y, 0.0], [0.0, 0.0, heading]);
                let laser = car * Transform::from_xyz_rpy([1.5, side, 1.8], [0.0, down, 0.0]);
                let points = scene.scan(&laser, &beams(361, 3.0), &EXACT, || 5.0 * random.normal());
                terrain.fuse(&points, EXACT, &view(laser), i64::from(step) * 330_000);
            }
        }
        frames.push(frame(&terrain, step, [x, y, heading]));
    }
    Replay {
        title: "Raptor among blocks".to_owned(),
        summary: "A made-up drive, for looking at the page. </script><b>&".to_owned(),
        outline_m: [2.9, 1.3, 0.4],
        goals: vec![
            Goal {
                name: "gate".to_owned(),
                place_m: [12.0, 0.0],
            },
            Goal {
                name: "trailer".to_owned(),
                place_m: [24.0, -1.0],
            },
        ],
        frames,
    }
}

fn frame(terrain: &Terrain, step: i32, [x, y, heading]: [f64; 3]) -> Frame {
    let map = terrain.to_map("map", 0);
    let judged = traverse(&map, &Limits::default()).expect("it is a map");
    let arcs = (-12..=12_i8).map(|at| f32::from(at) * 0.025);
    let totals = arcs.map(|curvature| {
        let total = 0.8 - 6.0 * (curvature - 0.05).abs();
        let by = if curvature > 0.2 { "hazard" } else { "" };
        (curvature, total, by.to_owned())
    });
    let totals: Vec<_> = totals.collect();
    let voter = |name: &str, reason: &str| Voter {
        name: name.to_owned(),
        reason: reason.to_owned(),
        arcs: totals
            .iter()
            .map(|(c, v, by)| (*c, *v, !by.is_empty() && name == "hazard"))
            .collect(),
    };
    Frame {
        utime: 1_000_000 + i64::from(step) * 330_000,
        vehicle: Some([x, y, heading]),
        truth: Some([x + 0.05, y - 0.1, heading]),
        terrain: Some(Layer::new(&map, "max", HEIGHTS).expect("a plane")),
        traverse: Some(Layer::new(&judged, "traversability", Palette::Ratio).expect("a plane")),
        plan: (0..20)
            .map(|at| [x + 0.5 * f64::from(at), y - 0.02 * f64::from(at * at) * 0.5])
            .collect(),
        voters: vec![
            voter("hazard", "a wall ahead on the left, 4.2 m"),
            voter("waypoint", "gate is 11 degrees to the left"),
            voter("path_planner", "on the plan, 0.1 m off"),
        ],
        decision: Some(Decision {
            is_stopped: false,
            curvature_per_m: 0.05,
            speed_mps: 1.8,
            reason: "the middle of the widest good arcs; as fast as hazard allows".to_owned(),
            arcs: totals.clone(),
            faults: vec!["teleop: silent for 3.1 s".to_owned()],
        }),
        command: Some(Command {
            steering_rad: 0.09,
            speed_mps: 1.8,
        }),
        notes: vec!["goal 1 of 2".to_owned()],
    }
}

#[test]
fn the_page_is_one_file_that_needs_no_network() {
    let page = drive().to_html().expect("it has maps");
    if let Some(path) = option_env!("BOWLINE_REPLAY_PAGE") {
        std::fs::write(path, &page).expect("the page can be written");
    }
    assert!(!page.contains("://"), "no address");
    assert!(!page.contains("/*REPLAY*/"), "the gap is filled");
    assert_eq!(
        page.matches("</script>").count(),
        1,
        "texts do not end the script"
    );
    assert!(page.contains("<title>Raptor among blocks</title>"));
    assert!(
        page.len() < 2_000_000,
        "60 frames with two maps each: {}",
        page.len()
    );
}

#[test]
fn a_page_without_frames_is_a_page() {
    let page = Replay::default().to_html().expect("nothing can go wrong");
    assert!(page.contains("\"frames\":[]"));
}
