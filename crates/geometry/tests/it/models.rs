use super::support::{any_assembly, any_transform, apart, body, frame, search};
use bowline_geometry::{
    Assembly, Constraint, FindFrameError, FrameName, Model, Transform, TransformError,
};
use bowline_testing::random::cases;
use proptest::prelude::*;

/// A value for each joint that differs from the others.
fn value_of(name: &str) -> f64 {
    let number: f64 = name
        .trim_start_matches('c')
        .parse()
        .expect("joints are numbered");
    (number * 0.7).sin()
}

fn told(assembly: Assembly) -> Model {
    let mut model = Model::new(assembly).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let joints: Vec<_> = model
        .joints()
        .map(|it| (it.id, it.name.to_owned()))
        .collect();
    for (joint, name) in joints {
        // From elsewhere to its value, so that asking between the two would give something else.
        model
            .set(joint, -value_of(&name), 0)
            .expect("a joint takes numbers");
        model
            .set(joint, value_of(&name), 1_000)
            .expect("and later ones");
    }
    model
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(128)))]

    #[test]
    fn the_compiled_model_answers_as_drdcs_search_does(assembly in any_assembly()) {
        let model = told(assembly.clone());
        for foi in model.frames() {
            for reference in model.frames() {
                let name = |id| FrameName::parse(model.name_of(id)).expect("a frame has a full name");
                let expected = search(&assembly, &value_of, &name(foi), &name(reference));
                let found = model.transform(foi, reference);
                let at = model.transform_at(foi, reference, 1_000);
                match (expected, found, at) {
                    (Some(expected), Ok(found), Ok(at)) => {
                        prop_assert!(apart(&expected, &found) < 1e-9);
                        prop_assert!(apart(&expected, &at) < 1e-9);
                    }
                    (None, Err(TransformError::NotConnected { .. }), Err(TransformError::NotConnected { .. })) => {}
                    other => prop_assert!(false, "{other:?}"),
                }
            }
        }
    }

    #[test]
    fn any_way_leads_to_the_same_place(assembly in any_assembly()) {
        let model = told(assembly);
        let frames: Vec<_> = model.frames().collect();
        for (&a, (&b, &c)) in frames.iter().zip(frames.iter().rev().zip(frames.iter().cycle().skip(3))) {
            let (Ok(c_from_b), Ok(b_from_a)) = (model.transform(b, c), model.transform(a, b)) else {
                continue;
            };
            let c_from_a = model.transform(a, c).expect("connected with the same frame");
            prop_assert!(apart(&c_from_a, &(c_from_b * b_from_a)) < 1e-9);
        }
    }

    #[test]
    fn every_frame_is_reached_in_its_part_and_no_other(assembly in any_assembly()) {
        let model = told(assembly);
        let parts = model.parts();
        let part_of = |body: usize| parts.iter().position(|part| part.contains(&body));
        for a in model.frames() {
            for b in model.frames() {
                let [in_a, in_b] = [a, b].map(|it| part_of(model.body_of(it).expect("a frame has a body")));
                prop_assert_eq!(model.transform(a, b).is_ok(), in_a == in_b);
                prop_assert_eq!(model.path(a, b).is_ok(), in_a == in_b);
            }
        }
    }

    #[test]
    fn names_and_handles_agree(assembly in any_assembly()) {
        let model = told(assembly);
        for foi in model.frames() {
            let name = model.name_of(foi).to_owned();
            prop_assert_eq!(model.frame(&name), Ok(foi));
            let by_name = model.transform_by_name(&name, "b0:origin");
            let origin = model.frame("b0:origin").expect("the first body has an origin");
            prop_assert_eq!(by_name, model.transform(foi, origin));
        }
    }

    #[test]
    fn a_loop_is_off_by_what_was_measured_wrong(
        poses in prop::collection::vec(any_transform(), 4..9),
        off in any_transform(),
        reversed in any::<bool>(),
    ) {
        // A ring: every body after the one before it, the last back to the first.
        let n_bodies = poses.len();
        let mut assembly = Assembly { name: "ring".to_owned(), ..Assembly::default() };
        assembly.bodies = (0..n_bodies).map(body).collect();
        let mut around = Transform::IDENTITY;
        for (idx, pose) in poses.iter().enumerate() {
            let next = (idx + 1) % n_bodies;
            let is_last = next == 0;
            let step = if is_last { around.inverse() * off } else { *pose };
            around = around * step;
            assembly.bodies[idx].frames.push(frame("out", Transform::IDENTITY));
            assembly.bodies[next].frames.push(frame("in", Transform::IDENTITY));
            let (from, to) = (FrameName::new(format!("b{idx}"), "out"), FrameName::new(format!("b{next}"), "in"));
            let (from, to, step) = if reversed { (to, from, step.inverse()) } else { (from, to, step) };
            assembly.constraints.push(Constraint {
                name: format!("c{idx}"), from, to, from_from_to: step, ..Constraint::default()
            });
        }
        let model = Model::new(assembly).unwrap_or_else(|mistakes| panic!("{mistakes}"));
        let [found] = model.loops() else {
            panic!("expected one loop, found {:?}", model.loops());
        };
        prop_assert_eq!(found.bodies.len(), n_bodies);
        prop_assert_eq!(found.constraints.len(), n_bodies);
        // A turn is as large from wherever it is seen; a shift as large as the place of the loop makes it.
        prop_assert!((found.angle_rad - off.angle_rad()).abs() < 1e-7, "{found:?}");
    }
}

#[test]
fn open_ring_reports_its_closure_error_in_millimetres() {
    for (gap_m, angle_rad) in [(0.0, 0.0), (0.004, 0.0), (0.02, 0.0)] {
        let mut assembly = Assembly {
            name: "ring".to_owned(),
            ..Assembly::default()
        };
        assembly.bodies = (0..3).map(body).collect();
        for (idx, pose) in [
            Transform::from_xyz([1.0, 0.0, 0.0]),
            Transform::from_xyz([0.0, 1.0, 0.0]),
            Transform::from_xyz_rpy([-1.0 + gap_m, -1.0, 0.0], [0.0, 0.0, angle_rad]),
        ]
        .into_iter()
        .enumerate()
        {
            let next = (idx + 1) % 3;
            assembly.bodies[idx]
                .frames
                .push(frame("out", Transform::IDENTITY));
            assembly.bodies[next]
                .frames
                .push(frame("in", Transform::IDENTITY));
            assembly.constraints.push(Constraint {
                name: format!("c{idx}"),
                from: FrameName::new(format!("b{idx}"), "out"),
                to: FrameName::new(format!("b{next}"), "in"),
                from_from_to: pose,
                ..Constraint::default()
            });
        }
        let model = Model::new(assembly).expect("loops are allowed");
        let [found] = model.loops() else {
            panic!("expected one loop");
        };
        assert!((found.distance_m - gap_m).abs() < 1e-12, "{found:?}");
        assert!((found.angle_rad - angle_rad).abs() < 1e-12, "{found:?}");
        assert_eq!(model.open_loops().count(), usize::from(gap_m > 0.005));
        let text = found.describe(&model);
        assert!(text.contains(&format!("{:.1} mm", gap_m * 1e3)), "{text}");
        assert!(
            text.contains("b0") && text.contains("b1") && text.contains("b2"),
            "{text}"
        );
    }
}

#[test]
fn names_that_are_not_there_are_answered_with_what_was_meant() {
    let mut assembly = Assembly {
        name: "two".to_owned(),
        bodies: vec![body(0), body(1)],
        ..Assembly::default()
    };
    assembly.bodies[0].name = "Raptor".to_owned();
    assembly.bodies[1].name = "Flea".to_owned();
    assembly.bodies[1]
        .frames
        .push(frame("ImagePlane", Transform::IDENTITY));
    let model = Model::new(assembly).expect("unconnected bodies are a model");
    for (name, expected) in [
        ("Flea:ImagePlan", "did you mean \"Flea:ImagePlane\"?"),
        ("Flee:ImagePlane", "did you mean \"Flea\"?"),
        ("Flea", "expected a frame as Body:Frame"),
        ("Flea:Wheel", "one of the body's frames origin, ImagePlane"),
        ("Boat:Wheel", "one of the bodies Raptor, Flea"),
    ] {
        let found = model
            .frame(name)
            .expect_err("there is no such frame")
            .to_string();
        assert!(found.contains(expected), "{name}: {found}");
    }
    let error = model.transform_by_name("Flea:ImagePlane", "Raptor:origin");
    let error = error.expect_err("nothing connects them").to_string();
    assert!(
        error.contains("Flea:ImagePlane in one part (Flea)"),
        "{error}"
    );
    assert!(
        error.contains("Raptor:origin in another (Raptor)"),
        "{error}"
    );
    assert!(matches!(
        model.frame_list("Flee").map(|_| ()),
        Err(FindFrameError::NoSuchBody { .. })
    ));
    assert_eq!(model.body_list().collect::<Vec<_>>(), ["Raptor", "Flea"]);
    let frames: Vec<&str> = model.frame_list("Flea").expect("there is a Flea").collect();
    assert_eq!(frames, ["origin", "ImagePlane"]);
}

#[test]
fn handles_of_another_model_are_refused() {
    let two = || Assembly {
        name: "two".to_owned(),
        bodies: vec![body(0), body(1)],
        ..Assembly::default()
    };
    let mut large = two();
    large.bodies.push(body(2));
    let large = Model::new(large).expect("three bodies are a model");
    let small = Model::new(two()).expect("two bodies are a model");
    let foreign = large.frame("b2:origin").expect("it is there");
    let own = small.frame("b0:origin").expect("it is there");
    assert_eq!(
        small.transform(foreign, own),
        Err(TransformError::ForeignHandle)
    );
    assert_eq!(
        small.transform_at(own, foreign, 0),
        Err(TransformError::ForeignHandle)
    );
    assert_eq!(small.name_of(foreign), "");
}
