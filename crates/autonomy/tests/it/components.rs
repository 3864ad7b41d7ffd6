use crate::support::{heights, modelled, pose, ranges};
use bowline_autonomy::map::{
    TerrainMapComponent, TerrainMapParameters, TraverseMapComponent, TraverseMapParameters,
};
use bowline_component::{Health, Kind, Rig, Setting};
use bowline_msgs::Map;
use std::time::Duration;

const MODEL: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../models/raptor/raptor.xml"
);

const RAPTOR_UGV: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../models/raptor_ugv/raptor_ugv.xml"
);

fn terrain() -> Rig {
    Rig::new::<TerrainMapComponent>(TerrainMapParameters {
        vehicle: modelled(MODEL),
        sources: vec!["laser".to_owned()],
        ..TerrainMapParameters::default()
    })
}

/// A tenth of a second in which the vehicle stands and looks at the ground.
fn look(rig: &mut Rig) {
    for _ in 0..10 {
        let utime = rig.now().utime();
        let mut laser = ranges(utime, 0, vec![[4.0, 0.0, -1.0, 4.1]; 5]);
        "RoofLaser:ScanCenter".clone_into(&mut laser.frame);
        let mut at = pose(utime, 0.0, 0.0, 0.0);
        "INS:SenseCenter".clone_into(&mut at.frame);
        rig.send("laser", laser);
        rig.send("pose", at);
        rig.advance(Duration::from_millis(10));
    }
}

#[test]
fn the_terrain_map_is_published_at_its_rate_while_there_is_something_new() {
    let mut rig = terrain();
    for _ in 0..20 {
        look(&mut rig);
    }
    let maps: Vec<Map> = rig.take("terrain");
    assert!(
        (9..=11).contains(&maps.len()),
        "2 s at 5 Hz: {}",
        maps.len()
    );
    assert_eq!(*rig.health(), Health::Good);
    let last = &maps[maps.len() - 1];
    assert_eq!(last.names, ["height", "variance", "min", "max", "count"]);
    assert_eq!((last.n_rows, last.n_columns), (200, 200));
    assert!(last.cells[0].iter().flatten().any(|it| it.is_finite()));
}

#[test]
fn without_ranges_or_poses_there_is_no_map_and_health_has_the_reason() {
    for silent in ["laser", "pose"] {
        let mut rig = terrain();
        for _ in 0..5 {
            look(&mut rig);
        }
        let _ = rig.take::<Map>("terrain");
        for _ in 0..100 {
            let utime = rig.now().utime();
            if silent == "pose" {
                let mut laser = ranges(utime, 0, vec![[4.0, 0.0, -1.0, 4.1]; 5]);
                "RoofLaser:ScanCenter".clone_into(&mut laser.frame);
                rig.send("laser", laser);
            } else {
                let mut at = pose(utime, 0.0, 0.0, 0.0);
                "INS:SenseCenter".clone_into(&mut at.frame);
                rig.send("pose", at);
            }
            rig.advance(Duration::from_millis(10));
        }
        let maps: Vec<Map> = rig.take("terrain");
        assert!(
            maps.len() <= 1,
            "what was new may still be sent: {}",
            maps.len()
        );
        let Health::Degraded(why) = rig.health() else {
            panic!("{:?}", rig.health());
        };
        assert!(
            why.contains(&format!("nothing comes from {silent}")),
            "{why}"
        );
    }
}

#[test]
fn a_map_is_as_old_as_the_source_that_has_been_silent_for_longest() {
    let (left, right) = ("LeftLaser:ScanCenter", "RightLaser:ScanCenter");
    let mut rig = Rig::new::<TerrainMapComponent>(TerrainMapParameters {
        vehicle: modelled(RAPTOR_UGV),
        ..TerrainMapParameters::default()
    });
    let died = rig.now().utime() + 1_000_000;
    while rig.now().utime() < died + 1_000_000 {
        let utime = rig.now().utime();
        let mut at = pose(utime, 0.0, 0.0, 0.0);
        "INS:SenseCenter".clone_into(&mut at.frame);
        rig.send("pose", at);
        for (source, frame) in [("laser.left", left), ("laser.right", right)] {
            let mut laser = ranges(utime, 0, vec![[4.0, 0.0, 0.0, 4.0]; 5]);
            frame.clone_into(&mut laser.frame);
            if source == "laser.right" || utime <= died {
                rig.send(source, laser);
            }
        }
        rig.advance(Duration::from_millis(10));
    }
    let maps: Vec<Map> = rig.take("terrain");
    assert!(maps.len() >= 5, "there were maps while both were alive");
    let newest = maps.iter().map(|map| map.utime).max();
    assert!(
        newest.is_some_and(|newest| newest <= died),
        "a map is of {newest:?}, and one source died at {died}"
    );
}

#[test]
fn the_same_events_give_the_same_bytes() {
    let run = || {
        let mut rig = terrain();
        (0..5).for_each(|_| look(&mut rig));
        let maps: Vec<Map> = rig.take("terrain");
        maps.iter()
            .flat_map(|map| map.cells.iter().flatten().flatten().map(|it| it.to_bits()))
            .collect::<Vec<u32>>()
    };
    assert!(run() == run());
}

#[test]
fn each_terrain_map_is_judged_once() {
    let mut rig = Rig::new::<TraverseMapComponent>(TraverseMapParameters::default());
    assert!(matches!(rig.health(), Health::Degraded(_)), "nothing yet");
    rig.send("terrain", heights(20, 0.2, |_, _| 0.0));
    let maps: Vec<Map> = rig.take("traverse");
    assert_eq!(maps.len(), 1);
    assert_eq!(
        maps[0].names,
        ["traversability", "slope", "step", "roughness", "height"]
    );
    assert_eq!(*rig.health(), Health::Good);
    rig.advance(Duration::from_secs(2));
    assert!(
        matches!(rig.health(), Health::Degraded(_)),
        "it has grown stale"
    );
    rig.send("terrain", Map::default());
    let Health::Degraded(why) = rig.health() else {
        panic!("{:?}", rig.health());
    };
    assert!(why.contains("the terrain map"), "{why}");
}

#[test]
fn ports_have_default_channels() {
    let terrain = Kind::of::<TerrainMapComponent>("terrain_map", "");
    let model = ("model", Setting::Text(MODEL.to_owned()));
    let built = terrain.build(&[model]).expect("it has a model");
    let connections = |named: Option<&str>| -> Vec<Option<String>> {
        let ports = built.ports.iter();
        ports.map(|port| port.connection("map", named)).collect()
    };
    let expected = ["pose", "laser.left", "laser.right", "terrain"];
    let found: Vec<String> = connections(None).into_iter().flatten().collect();
    assert!(
        expected
            .iter()
            .all(|it| found.iter().any(|found| found == it)),
        "{found:?}"
    );
    assert!(
        connections(Some("other"))
            .iter()
            .all(|it| it.as_deref() == Some("other"))
    );
}

#[test]
fn component_without_model_or_source_names_what_it_needs() {
    let terrain = Kind::of::<TerrainMapComponent>("terrain_map", "");
    let refused = |settings: &[(&str, Setting)]| {
        let made = terrain.build(settings);
        made.err()
            .map(|error| error.to_string())
            .unwrap_or_default()
    };
    assert!(
        refused(&[]).contains("[vehicle] has no model"),
        "{}",
        refused(&[])
    );
    let model = ("model", Setting::Text(MODEL.to_owned()));
    let nothing = ("sources", Setting::List(Vec::new()));
    let why = refused(&[model.clone(), nothing]);
    assert!(why.contains("at least one source"), "{why}");
    let tiny = ("cell_m", Setting::Real(0.001));
    assert!(refused(&[model, tiny]).contains("cell_m"));
}
