//! Fingerprints of random types.

use bowline_tests::cases::{Answer, Case, read_answers};
use bowline_tests::drivers::{FINGERPRINTS, Run};
use bowline_tests::peers::Peers;
use bowline_tests::report::Failures;
use bowline_tests::trees::{Tree, compile_all};
use std::path::Path;

const N_TREES: u64 = 1000;

#[test]
fn fingerprints_of_random_types_equal_the_reference() {
    let peers = Peers::find();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fingerprints");
    let trees: Vec<Tree> = (0..N_TREES).map(Tree::random).collect();
    let types = compile_all(&trees).types;
    let failures = Failures::default();
    let [first, second] = &FINGERPRINTS;
    let mut n_left = trees.len();
    for (run, earlier) in [(first, None), (second, Some(first))] {
        let mine = |tree: &&Tree| {
            run.encoder.builds(tree) && earlier.is_none_or(|run: &Run| !run.encoder.builds(tree))
        };
        let mine: Vec<&Tree> = trees.iter().filter(mine).collect();
        n_left -= mine.len();
        run.encoder.build(&peers, &folder, &mine);
        let cases: Vec<Case> = mine
            .iter()
            .flat_map(|tree| {
                Case::fingerprints(&types, usize::try_from(tree.seed).unwrap(), tree.seed)
            })
            .collect();
        let answers = read_answers(
            &run.ask(&peers, &folder, &types, &cases.iter().collect::<Vec<_>>())
                .join("answers"),
        );
        assert_eq!(answers.len(), cases.len(), "{}", run.name);
        for (case, answer) in cases.iter().zip(answers) {
            let expected = Answer::Yes(case.expected(&types).unwrap());
            if answer != expected {
                let what = case.describe(&types, &trees[case.tree]);
                failures.add(format!(
                    "{}: expected {answer:?}, found {expected:?}: {what}",
                    run.name
                ));
            }
        }
    }
    assert_eq!(n_left, 0, "trees that no reference answers for");
    failures.check();
}
