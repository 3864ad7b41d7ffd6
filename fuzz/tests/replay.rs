//! Every target over its corpus, and over seeded variants of it, in the ordinary build.
//!
//! libFuzzer finds inputs (`make soak`); what it found is committed in `corpus/` and runs here every time. The variants
//! are not a search: they keep a parser honest near what is known, at the price of a second or two.

use bowline_fuzz::{TARGETS, Target};
use bowline_testing::random::Random;
use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::BTreeSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// Variants of a corpus for each target. Together with the committed inputs they take about ten seconds.
const N_VARIANTS: usize = 400;
/// No single allocation is larger, whatever the input claims: the fuzzer's own limit.
const MAX_ALLOCATION: usize = 256 << 20;

#[global_allocator]
static ALLOCATOR: Limited = Limited;

/// Refuses allocations that only a hostile length could ask for; the process then ends with the size in its message.
struct Limited;

#[expect(unsafe_code, reason = "a limit on allocations takes an allocator")]
// SAFETY: what is within the limit is the system's allocator's; null is its documented answer for the rest.
unsafe impl GlobalAlloc for Limited {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() > MAX_ALLOCATION {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(ptr, layout) }
    }
}

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

/// The names in a folder, sorted, so that every machine replays in the same order.
fn names(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("expected {}: {error}", folder.display()));
    entries
        .map(|entry| entry.expect("a folder that can be read").file_name())
        .map(|name| name.into_string().expect("names in the corpus are ASCII"))
        .collect()
}

/// One input cut short, with bytes changed, or continued with another.
fn variant(inputs: &[(String, Vec<u8>)], random: &mut Random) -> (String, Vec<u8>) {
    let (name, bytes) = &inputs[random.below(inputs.len())];
    let mut bytes = bytes.clone();
    match random.below(3) {
        0 => bytes.truncate(random.below(bytes.len().max(1))),
        1 => {
            let (_, other) = &inputs[random.below(inputs.len())];
            bytes.truncate(random.below(bytes.len() + 1));
            bytes.extend(&other[random.below(other.len() + 1)..]);
        }
        _ => {
            for _ in 0..=random.below(4) {
                let at = random.below(bytes.len().max(1));
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = [0x00, 0xff, 0x80, byte.wrapping_add(1)][random.below(4)];
                }
            }
        }
    }
    (format!("a variant of {name}"), bytes)
}

/// Runs one target over all its inputs; the first that breaks a promise is kept, and named.
fn replay(target: &Target) {
    let name = target.name;
    let folder = corpus().join(name);
    let mut inputs: Vec<(String, Vec<u8>)> = Vec::new();
    for file in names(&folder) {
        let bytes = fs::read(folder.join(&file)).expect("a file of the corpus");
        inputs.push((file, bytes));
    }
    assert!(
        !inputs.is_empty(),
        "expected inputs in {}, found none",
        folder.display()
    );
    let mut random = Random::new(20_261_118);
    let variants: Vec<_> = (0..N_VARIANTS)
        .map(|_| variant(&inputs, &mut random))
        .collect();
    for (file, bytes) in inputs.iter().chain(&variants) {
        if catch_unwind(AssertUnwindSafe(|| (target.run)(bytes))).is_err() {
            let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.input"));
            fs::write(&kept, bytes).expect("the target folder can be written");
            panic!(
                "{name}: {file} breaks a promise (above); the input is {}",
                kept.display()
            );
        }
    }
    println!(
        "{name}: {} inputs, {} variants",
        inputs.len(),
        variants.len()
    );
}

#[test]
fn every_target_holds_over_its_corpus_and_its_variants() {
    for target in TARGETS {
        replay(target);
    }
}

#[test]
fn targets_are_sorted_and_each_has_a_corpus() {
    let rows: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
    assert!(rows.is_sorted_by(|a, b| a < b), "{rows:?}");
    let folders = names(&corpus());
    assert!(
        rows.iter().copied().eq(folders.iter()),
        "expected one folder of corpus/ for each of {rows:?}, found {folders:?}"
    );
}
