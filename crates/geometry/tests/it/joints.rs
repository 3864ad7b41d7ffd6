use super::support::{apart, model};
use bowline_geometry::{Accepted, Model, SetJointError, Transform, TransformError};
use std::f64::consts::PI;

const BODY: &str = r#"<body name="B"><frame name="Near"/><frame name="Far" xyz="1 0 0"/><frame name="Other" xyz="0 1 0"/></body>"#;

/// Three bodies: a pan unit on a slide, with nothing else.
fn pan(joint: &str) -> Model {
    let assembly = format!(
        r#"<assembly name="Pan">
             <use body="b.xml" as="Base"/><use body="b.xml" as="Head"/><use body="b.xml" as="Tip"/>
             <constraint name="Pan" from="Base:Far" to="Head:Near">{joint}</constraint>
             <constraint name="Slide" from="Head:Far" to="Tip:Near"><prismatic axis="1 0 0" min_m="0" max_m="2"/></constraint>
           </assembly>"#
    );
    model(&[("a.xml", &assembly), ("b.xml", BODY)])
}

const LIMITED: &str = r#"<revolute min_deg="-90" max_deg="90" channel="pan.angle" field="angle_rad" scale="0.5" offset="0.1"/>"#;

fn tip(model: &Model, utime: i64) -> Result<Transform, TransformError> {
    let (tip, base) = (model.frame("Tip:Near")?, model.frame("Base:Near")?);
    model.transform_at(tip, base, utime)
}

#[test]
fn a_chain_of_joints_is_where_their_values_put_it() {
    let mut model = pan(LIMITED);
    let (pan, slide) = (model.joint("Pan").unwrap(), model.joint("Slide").unwrap());
    assert_eq!(model.set(pan, PI / 2.0, 10), Ok(Accepted::WithinLimits));
    assert_eq!(model.set(slide, 0.5, 10), Ok(Accepted::WithinLimits));
    let found = model.transform_by_name("Tip:Near", "Base:Near").unwrap();
    let expected = Transform::from_xyz_rpy([1.0, 1.5, 0.0], [0.0, 0.0, PI / 2.0]);
    assert!(apart(&found, &expected) < 1e-15, "{found:?}");
    assert!(apart(&tip(&model, 10).unwrap(), &expected) < 1e-15);
}

#[test]
fn values_between_two_times_are_interpolated_and_others_are_refused() {
    let mut model = pan(LIMITED);
    let (pan, slide) = (model.joint("Pan").unwrap(), model.joint("Slide").unwrap());
    assert!(matches!(tip(&model, 0), Err(TransformError::Untold { .. })));
    let error = model
        .transform_by_name("Tip:Near", "Base:Near")
        .unwrap_err();
    let told = error.to_string();
    assert!(
        told.contains("\"Pan\"") || told.contains("\"Slide\""),
        "{told}"
    );
    for (utime, angle) in [(100, 0.0), (200, 1.0), (300, -1.0)] {
        model.set(pan, angle, utime).unwrap();
        model.set(slide, 0.0, utime).unwrap();
    }
    for (utime, angle) in [(100, 0.0), (150, 0.5), (200, 1.0), (225, 0.5), (300, -1.0)] {
        let found = tip(&model, utime).unwrap().rpy()[2];
        assert!((found - angle).abs() < 1e-12, "{utime}: {found}");
    }
    let before = tip(&model, 99).unwrap_err();
    assert!(
        matches!(
            before,
            TransformError::TooOld {
                oldest: 100,
                asked: 99,
                ..
            }
        ),
        "{before}"
    );
    let after = tip(&model, 301).unwrap_err();
    assert!(
        matches!(
            after,
            TransformError::NotYet {
                newest: 300,
                asked: 301,
                ..
            }
        ),
        "{after}"
    );
    // What no joint is between needs no time.
    let (a, b) = (
        model.frame("Tip:Near").unwrap(),
        model.frame("Tip:Far").unwrap(),
    );
    assert!(model.transform_at(a, b, i64::MAX).is_ok());
}

#[test]
fn a_joint_is_asked_for_only_when_it_is_between() {
    let mut model = pan(LIMITED);
    let slide = model.joint("Slide").unwrap();
    model.set(slide, 1.0, 0).unwrap();
    assert!(model.transform_by_name("Tip:Near", "Head:Near").is_ok());
    let error = model
        .transform_by_name("Tip:Near", "Base:Near")
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("angle_rad of the channel \"pan.angle\""),
        "{error}"
    );
}

#[test]
fn a_turn_without_limits_goes_the_short_way() {
    let mut model = pan("<revolute/>");
    let (pan, slide) = (model.joint("Pan").unwrap(), model.joint("Slide").unwrap());
    for (utime, angle) in [(0, 3.0), (100, -3.0), (200, 3.0 + 4.0 * PI)] {
        model.set(pan, angle, utime).unwrap();
        model.set(slide, 0.0, utime).unwrap();
    }
    for utime in [50, 150] {
        let yaw = tip(&model, utime).unwrap().rpy()[2];
        assert!((yaw.abs() - PI).abs() < 1e-12, "{utime}: {yaw}");
    }
}

#[test]
fn values_beyond_limits_are_taken_and_counted_and_nonsense_is_refused_and_counted() {
    let mut model = pan(LIMITED);
    let pan = model.joint("Pan").unwrap();
    let before = model.epoch();
    assert_eq!(model.set(pan, 1.6, 5), Ok(Accepted::BeyondLimits));
    assert!(model.epoch() > before);
    let epoch = model.epoch();
    assert!(matches!(
        model.set(pan, f64::NAN, 6),
        Err(SetJointError::NotANumber { .. })
    ));
    assert!(matches!(
        model.set(pan, 0.0, 4),
        Err(SetJointError::Older { newest: 5, .. })
    ));
    assert_eq!(model.epoch(), epoch, "nothing changed");
    let info = model.joints().find(|it| it.id == pan).unwrap();
    assert_eq!((info.n_beyond_limits, info.n_refused), (1, 2));
    assert_eq!(info.newest, Some((5, 1.6)));
    let feed = info.feed().unwrap();
    assert_eq!(
        (feed.channel.as_str(), feed.field.as_str()),
        ("pan.angle", "angle_rad")
    );
    assert!((feed.value(2.0) - 1.1).abs() < 1e-15);
}

#[test]
fn history_is_bounded_and_can_be_forgotten() {
    let mut model = pan(LIMITED);
    let pan = model.joint("Pan").unwrap();
    for utime in 0..5_000 {
        model.set(pan, 0.0, utime).unwrap();
    }
    let oldest = model.joints().next().unwrap().oldest_utime.unwrap();
    assert!(oldest > 3_000, "{oldest}");
    model.forget_values();
    assert!(model.joints().all(|it| it.newest.is_none()));
    assert!(matches!(
        model.transform_by_name("Head:Near", "Base:Near"),
        Err(TransformError::Untold { .. })
    ));
    model.set(pan, 0.5, -7).unwrap();
    assert!(model.transform_by_name("Head:Near", "Base:Near").is_ok());
}

#[test]
fn a_joint_that_follows_moves_with_the_one_that_leads() {
    let assembly = r#"<assembly name="Gripper">
        <use body="b.xml" as="Palm"/><use body="b.xml" as="Left"/><use body="b.xml" as="Right"/>
        <constraint name="LeftFinger" from="Palm:Near" to="Left:Near"><prismatic axis="0 1 0"/></constraint>
        <constraint name="RightFinger" from="Palm:Far" to="Right:Near">
          <prismatic axis="0 1 0" follows="LeftFinger" scale="-1" offset="0.25"/>
        </constraint>
      </assembly>"#;
    let mut model = model(&[("a.xml", assembly), ("b.xml", BODY)]);
    let [left, right] = ["LeftFinger", "RightFinger"].map(|name| model.joint(name).unwrap());
    model.set(left, 0.0, 0).unwrap();
    model.set(left, 0.5, 100).unwrap();
    assert!(matches!(
        model.set(right, 0.0, 100),
        Err(SetJointError::Follows { .. })
    ));
    let at = |utime| {
        let (right, palm) = (
            model.frame("Right:Near").unwrap(),
            model.frame("Palm:Far").unwrap(),
        );
        model.transform_at(right, palm, utime).unwrap().xyz()[1]
    };
    assert!((at(100) - -0.25).abs() < 1e-15);
    assert!((at(50) - 0.0).abs() < 1e-15);
}
