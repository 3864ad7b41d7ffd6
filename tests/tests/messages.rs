//! Messages of random types, through every language's generated code.

use bowline_tests::cases::{Answer, Ask, Case, read_answers};
use bowline_tests::drivers::{DIALECTS, Extra, RUNS, Run};
use bowline_tests::dump::hex;
use bowline_tests::peers::Peers;
use bowline_tests::report::{Failures, Job, in_two_threads};
use bowline_tests::sweep;
use bowline_tests::trees::{Tree, compile_all};
use bowline_wire::schema::TypeSet;
use std::path::{Path, PathBuf};

/// Other trees than those of the fingerprints.
const FIRST_SEED: u64 = 10_000;
/// In a sample, and in the whole.
const N_TREES: [u64; 2] = [250, 1000];
const N_MESSAGES: usize = 3;

struct Bench {
    peers: Peers,
    folder: PathBuf,
    trees: Vec<Tree>,
    types: TypeSet,
    cases: Vec<Case>,
    failures: Failures,
}

#[test]
fn messages_of_random_types_are_byte_equal_in_every_language() {
    let bench = Bench::new();
    bench.check_dynamic();
    let builds = DIALECTS.iter().map(|dialect| -> Job<'_> {
        Box::new(|| {
            let trees: Vec<&Tree> = bench
                .trees
                .iter()
                .filter(|tree| dialect.builds(tree))
                .collect();
            dialect.build(&bench.peers, &bench.folder, &trees);
        })
    });
    in_two_threads(builds.collect());
    in_two_threads(
        RUNS.iter()
            .map(|run| -> Job<'_> { Box::new(|| bench.check_run(run)) })
            .collect(),
    );
    bench.failures.check();
}

impl Bench {
    fn new() -> Self {
        let n_trees = sweep::pick("trees of types", N_TREES[0], N_TREES[1]);
        let trees: Vec<Tree> = (FIRST_SEED..FIRST_SEED + n_trees)
            .map(Tree::random)
            .collect();
        let types = compile_all(&trees).types;
        let mut cases = Vec::new();
        for (place, tree) in trees.iter().enumerate() {
            cases.extend(Case::fingerprints(&types, place, tree.seed));
            cases.extend(Case::messages(&types, place, tree, N_MESSAGES));
        }
        let name = if sweep::is_whole() {
            "messages-whole"
        } else {
            "messages"
        };
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        Self {
            peers: Peers::find(),
            folder,
            trees,
            types,
            cases,
            failures: Failures::default(),
        }
    }

    fn fail(&self, who: &str, case: &Case, expected: &str, found: &str) {
        let what = case.describe(&self.types, &self.trees[case.tree]);
        self.failures.add(format!(
            "{who}: {what}\nexpected {expected}\nfound    {found}"
        ));
    }

    /// The codec that needs no generated code, which made the messages, and JSON.
    fn check_dynamic(&self) {
        for case in &self.cases {
            match &case.ask {
                Ask::Fingerprint => {}
                Ask::Cut(cut) => {
                    if let Ok(value) = self.types.decode_as(case.id, cut) {
                        self.fail("dynamic codec", case, "an error", &format!("{value:?}"));
                    }
                }
                Ask::Message { message, .. } => {
                    if let Err(found) = self.dynamic_round_trip(case, message) {
                        self.fail("dynamic codec", case, &hex(message), &found);
                    }
                }
            }
        }
    }

    fn dynamic_round_trip(&self, case: &Case, message: &[u8]) -> Result<(), String> {
        let value = self
            .types
            .decode_as(case.id, message)
            .map_err(|error| error.to_string())?;
        let json = self.types.to_json(case.id, &value);
        let read = self
            .types
            .from_json(case.id, json.as_bytes())
            .map_err(|error| format!("{error} in {json}"))?;
        for (how, value) in [("decoded", &value), ("through JSON", &read)] {
            let again = self
                .types
                .encode(case.id, value)
                .map_err(|error| error.to_string())?;
            if again != message {
                return Err(format!("{how}: {}", hex(&again)));
            }
        }
        Ok(())
    }

    fn check_run(&self, run: &Run) {
        let cases: Vec<&Case> = self
            .cases
            .iter()
            .filter(|case| run.can(&self.trees[case.tree], &case.ask))
            .collect();
        let place = run.ask(&self.peers, &self.folder, &self.types, &cases);
        self.check_answers(run, &cases, &read_answers(&place.join("answers")));
        for extra in run.encoder.language.extras {
            match extra {
                Extra::Dumps => self.check_dumps(run, &cases, &place.join("dumps")),
                Extra::Builds => self.check_built(run, &cases, &read_answers(&place.join("built"))),
            }
        }
    }

    fn check_answers(&self, run: &Run, cases: &[&Case], answers: &[Answer]) {
        assert_eq!(answers.len(), cases.len(), "answers of {}", run.name);
        for (case, answer) in cases.iter().zip(answers) {
            self.check_answer(run.name, run, case, answer);
        }
    }

    fn check_answer(&self, who: &str, run: &Run, case: &Case, answer: &Answer) {
        if !case.is_answered_by(&self.types, answer, run.encoder.encoded) {
            let expected = case
                .expected(&self.types)
                .map_or("an error".to_string(), |bytes| hex(&bytes));
            self.fail(who, case, &expected, &show(answer));
        }
    }

    fn check_dumps(&self, run: &Run, cases: &[&Case], path: &Path) {
        let dumps = std::fs::read_to_string(path).expect("the driver wrote dumps");
        assert_eq!(dumps.lines().count(), cases.len(), "dumps of {}", run.name);
        for (case, found) in cases.iter().zip(dumps.lines()) {
            let expected =
                case.expected_dump(&self.types, run.decoder.decoded, run.decoder.language.bytes);
            if !matches!(case.ask, Ask::Cut(_)) && expected != found {
                self.fail(&format!("{}, meaning", run.name), case, &expected, found);
            }
        }
    }

    fn check_built(&self, run: &Run, cases: &[&Case], answers: &[Answer]) {
        assert_eq!(answers.len(), cases.len(), "built by {}", run.name);
        for (case, answer) in cases
            .iter()
            .zip(answers)
            .filter(|(case, _)| matches!(case.ask, Ask::Message { .. }))
        {
            self.check_answer(&format!("{}, built from text", run.name), run, case, answer);
        }
    }
}

fn show(answer: &Answer) -> String {
    match answer {
        Answer::Yes(bytes) => hex(bytes),
        Answer::No(why) => format!("an error: {why}"),
    }
}
