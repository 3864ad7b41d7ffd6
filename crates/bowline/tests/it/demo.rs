use crate::{bowline_in, scratch, stderr, stdout};
use std::fs;

#[test]
fn the_demo_runs_anywhere_and_shows_the_papers_fingerprints() {
    let output = bowline_in(&scratch("demo"), &["demo"], b"");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("bowline.path_t 0x9ab3ca4022072a1e"));
    assert!(stdout(&output).contains("waypoints[1].position[0] is 120.5"));
}

#[test]
fn the_raptor_needs_this_program_only_and_leaves_a_page_that_needs_nothing_else() {
    let folder = scratch("demo-raptor");
    // Twice: what the first one left does not stand in the way.
    for _ in 0..2 {
        let args = ["demo", "raptor", "-o", "drive", "--for", "5s"];
        let output = bowline_in(&folder, &args, b"");
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let said = stdout(&output);
        assert!(
            said.contains("0 of 3 goals reached, 4 m driven, 0 contacts"),
            "{said}"
        );
    }
    let page = fs::read_to_string(folder.join("drive/raptor.html")).expect("a page");
    assert!(page.contains("goal 3") && page.contains("waypoint"));
    for elsewhere in ["src=\"http", "href=\"http", "url(http", "fetch("] {
        assert!(!page.contains(elsewhere), "{elsewhere}");
    }
}
