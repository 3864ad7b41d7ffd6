use crate::{bowline_in, scratch, stderr, stdout, types_folder};
use std::fs;

#[test]
fn the_demo_runs_anywhere_and_shows_the_papers_fingerprints() {
    let output = bowline_in(&scratch("demo"), &["demo", "messages"], b"");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("bowline.path_t 0x9ab3ca4022072a1e"));
    assert!(stdout(&output).contains("waypoints[1].position[0] is 120.5"));
}

#[test]
fn vehicles_need_this_program_only_and_leave_a_page_that_needs_nothing_else() {
    // Reviewed by hand on 2026-11-18: goals_m of robots/raptor.toml has three places and that of robots/igvc.toml six; the
    // nearest of both are 29 m away or more, which is farther than five seconds of driving at the 2 m/s and 1.2 m/s that their
    // arbiters allow. How far they come is held to those speeds below, and is the same every time.
    let shows = [
        ("raptor", 3, (4, 2.0), "waypoint"),
        ("igvc", 6, (5, 1.2), "avoidance"),
    ];
    for (name, n_goals, (gone_m, max_speed_mps), voter) in shows {
        let robot = types_folder().join(format!("../robots/{name}.toml"));
        let robot = fs::read_to_string(robot).expect("a robot file");
        assert_eq!(n_goals_of(&robot), n_goals, "{name}");
        assert!(f64::from(gone_m) <= 5.0 * max_speed_mps, "{name}");
        let expected = format!("0 of {n_goals} goals reached, {gone_m} m driven");
        let folder = scratch(&format!("demo-{name}"));
        // Twice: what the first one left does not stand in the way.
        for _ in 0..2 {
            let args = ["demo", name, "--film", "-o", "drive", "--for", "5s"];
            let output = bowline_in(&folder, &args, b"");
            assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
            let said = stdout(&output);
            let expected = format!("{expected}, 0 contacts");
            assert!(said.contains(&expected), "{said}");
        }
        let page = folder.join(format!("drive/{name}.html"));
        let page = fs::read_to_string(page).expect("a page");
        assert!(page.contains("goal 3") && page.contains(voter));
        for elsewhere in ["src=\"http", "href=\"http", "url(http", "fetch("] {
            assert!(!page.contains(elsewhere), "{elsewhere}");
        }
    }
}

/// How many places `goals_m` of a robot file has.
fn n_goals_of(robot: &str) -> usize {
    let (_, goals) = robot.split_once("goals_m = [").expect("it has goals");
    let (goals, _) = goals.split_once(']').expect("they end");
    let without_comments = goals
        .lines()
        .map(|it| it.split('#').next().unwrap_or_default());
    let numbers = without_comments.flat_map(|it| it.split(','));
    numbers.filter(|it| !it.trim().is_empty()).count() / 2
}
