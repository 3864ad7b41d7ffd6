use crate::{bowline_in, scratch, stderr, stdout};

#[test]
fn the_demo_runs_anywhere_and_shows_the_papers_fingerprints() {
    let output = bowline_in(&scratch("demo"), &["demo"], b"");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("bowline.path_t 0x9ab3ca4022072a1e"));
    assert!(stdout(&output).contains("waypoints[1].position[0] is 120.5"));
}
