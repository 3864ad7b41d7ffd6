use crate::{bowline_in, scratch, stderr, stdout};
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
    let shows = [
        ("raptor", "0 of 3 goals reached, 4 m driven", "waypoint"),
        ("igvc", "0 of 6 goals reached, 5 m driven", "avoidance"),
    ];
    for (name, expected, voter) in shows {
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
