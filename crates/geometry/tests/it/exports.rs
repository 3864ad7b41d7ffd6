use super::support::{any_assembly, apart, raptor, read};
use bowline_geometry::{Body, Disk, Format, Loaded, Model, load, to_sdf, to_svg, to_tree};
use bowline_testing::random::cases;
use proptest::prelude::*;

fn raptor_model() -> Model {
    let loaded = load(&raptor(), &mut Disk).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    Model::new(loaded.assembly).unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

fn upsv_model() -> Model {
    let path = raptor().with_file_name("../upsv/upsv.xml");
    let loaded = load(&path, &mut Disk).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    Model::new(loaded.assembly).unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

#[test]
fn a_vessel_that_was_exported_reads_back_with_hull_thrusters_and_sensors() {
    let model = upsv_model();
    let again = again(&model);
    assert_same_frames(&model, &again);
    let bodies = model.assembly().bodies.iter();
    for (body, read) in bodies.zip(&again.assembly().bodies) {
        assert_eq!(plain(body), plain(read), "{}", body.name);
    }
}

/// An element as it is written: word, name, frame, attributes.
type Plain<'b> = (&'b str, [Option<&'b str>; 2], Vec<(&'b str, &'b str)>);

fn plain(body: &Body) -> Vec<Plain<'_>> {
    let elements = body.elements.iter().map(|element| {
        let given = element.attributes.iter();
        let given = given.map(|it| (it.name.as_str(), it.value.as_str()));
        let identity = [element.name.as_deref(), element.frame.as_deref()];
        (element.word.as_str(), identity, given.collect())
    });
    let mut elements: Vec<Plain<'_>> = elements.collect();
    // Sensors come after what is no sensor in SDF.
    elements.sort();
    elements
}

fn again(model: &Model) -> Model {
    let (text, _) = to_sdf(model);
    let loaded = read(&[("out.sdf", &text)]);
    let Loaded {
        format,
        assembly,
        notes,
    } = loaded.unwrap_or_else(|mistakes| panic!("{mistakes}\n{text}"));
    assert_eq!(format, Format::Sdf);
    assert!(notes.is_empty(), "{notes:?}");
    Model::new(assembly).unwrap_or_else(|mistakes| panic!("{mistakes}\n{text}"))
}

/// Asserts that two models have the same frames, in the same places, whatever the values of their joints.
fn assert_same_frames(model: &Model, again: &Model) {
    let names = |model: &Model| -> Vec<String> {
        let mut names: Vec<String> = model
            .frames()
            .map(|id| model.name_of(id).to_owned())
            .collect();
        names.sort();
        names
    };
    let all = names(model);
    assert_eq!(all, names(again));
    let [told, told_again] = [model, again].map(|model| {
        let mut model = model.clone();
        let joints: Vec<_> = model
            .joints()
            .map(|it| (it.id, it.name.len(), it.joint.follows.is_some()))
            .collect();
        for (nth, (id, length, follows)) in joints.into_iter().enumerate() {
            if !follows {
                // By order and name, which both have in common.
                model
                    .set(id, 0.1 * nth as f64 + 0.01 * length as f64, 0)
                    .expect("a joint takes numbers");
            }
        }
        model
    });
    for foi in &all {
        for reference in all.iter().step_by(5) {
            match (
                told.transform_by_name(foi, reference),
                told_again.transform_by_name(foi, reference),
            ) {
                (Ok(expected), Ok(found)) => {
                    assert!(apart(&expected, &found) < 1e-12, "{foi} in {reference}");
                }
                (Err(_), Err(_)) => {}
                other => panic!("{foi} in {reference}: {other:?}"),
            }
        }
    }
}

#[test]
fn what_was_exported_reads_back_to_the_same_frames_joints_and_sensors() {
    let model = raptor_model();
    let again = again(&model);
    assert_same_frames(&model, &again);
    for (body, found) in model.assembly().bodies.iter().zip(&again.assembly().bodies) {
        assert_eq!(plain(body), plain(found), "{}", body.name);
        assert_eq!(body.mass.is_some(), found.mass.is_some());
    }
    for (joint, found) in model.joints().zip(again.joints()) {
        assert_eq!(joint.name, found.name);
        assert_eq!(joint.joint, found.joint);
    }
    assert_eq!(model.assembly().tolerance, again.assembly().tolerance);
}

#[test]
fn export_lists_what_it_leaves_out() {
    let (_, notes) = to_sdf(&raptor_model());
    let notes: Vec<String> = notes.iter().map(ToString::to_string).collect();
    assert!(
        matches!(notes.as_slice(), [note] if note.contains("\"InsToGps\" closes a loop")),
        "{notes:?}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(64)))]

    #[test]
    fn any_model_survives_its_export(assembly in any_assembly()) {
        let model = Model::new(assembly).unwrap_or_else(|mistakes| panic!("{mistakes}"));
        assert_same_frames(&model, &again(&model));
    }

    #[test]
    fn any_model_can_be_drawn(assembly in any_assembly()) {
        let model = Model::new(assembly).unwrap_or_else(|mistakes| panic!("{mistakes}"));
        let tree = to_tree(&model);
        for body in model.body_list() {
            prop_assert!(tree.contains(body));
        }
        let svg = to_svg(&model);
        prop_assert!(!svg.contains("NaN") && !svg.contains("inf"));
        prop_assert_eq!(svg.matches("<circle").count(), 3 * model.frames().count());
    }
}

#[test]
fn the_tree_names_everything_and_its_loops() {
    let tree = to_tree(&raptor_model());
    for part in [
        "Raptor\n",
        "TopCenterRail ── FleaMount ─▶ Flea:BottomCenter",
        "Shaft ── Pan (turns with angle_rad of pan.angle) ─▶ PanHead:Shaft",
        "[laser Scanner in ScanCenter, 37.5 Hz]",
        "loops\n  InsToGps: INS:SenseCenter ──▶ GpsAntenna:PhaseCenter closes INS - GpsAntenna - Raptor with 2.8 mm and 0.000 deg",
    ] {
        assert!(tree.contains(part), "expected {part:?} in\n{tree}");
    }
}

#[test]
fn the_picture_is_sound_xml_with_every_name_in_every_view() {
    let model = raptor_model();
    let svg = to_svg(&model);
    let document = roxmltree::Document::parse(&svg).expect("a picture is XML");
    let texts: Vec<&str> = document
        .descendants()
        .filter_map(|node| node.text())
        .collect();
    for frame in model.frames() {
        let name = model.name_of(frame);
        let n_shown = texts.iter().filter(|text| **text == name).count();
        // An element's text and its text node are both found.
        assert_eq!(n_shown, 6, "{name}");
    }
    for title in ["left", "front"] {
        assert!(texts.contains(&title));
    }
}
