//! Hostile messages cannot make a decoder allocate: what it takes is in proportion to the bytes that are there. Nor can
//! many channels make a bus grow.

use crate::our_types;
use bowline_bus::{Bus, Queue};
use bowline_lang::{Rules, Source, compile};
use bowline_msgs::TYPES;
use bowline_wire::schema::TypeSet;
use std::alloc::System;
use std::cell::Cell;
use std::fmt::Debug;

/// What generated code may allocate for each byte of input: a `String` has at least 5 of them and takes 24.
const TYPED_MULTIPLE: usize = 8;
/// What a dynamic value may: a struct of one byte is a box in an array.
const DYNAMIC_MULTIPLE: usize = 128;
/// For the error, whatever the input.
const SLACK: usize = 4096;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Counts what each thread allocates.
struct Counting;

thread_local! {
    static ALLOCATED: Cell<usize> = const { Cell::new(0) };
    /// What was allocated and not freed, by this thread. It may free what others allocated.
    static HELD: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

/// Adds to what the thread holds.
fn hold(n_bytes: isize) {
    // Gone while its thread ends, when nothing is counted.
    let _gone = HELD.try_with(|held| {
        held.set(held.get() + n_bytes);
        let _gone = PEAK.try_with(|peak| peak.set(peak.get().max(held.get())));
    });
}

#[expect(unsafe_code, reason = "counting allocations takes an allocator")]
// SAFETY: everything is handed to the system's allocator as it came.
unsafe impl std::alloc::GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: std::alloc::Layout) -> *mut u8 {
        // Gone while its thread ends, when nothing counts.
        let _gone = ALLOCATED.try_with(|allocated| allocated.set(allocated.get() + layout.size()));
        hold(layout.size().cast_signed());
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: std::alloc::Layout) {
        hold(-layout.size().cast_signed());
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(ptr, layout) }
    }
}

/// All that is allocated by `work`, freed or not.
fn allocated<T>(work: impl FnOnce() -> T) -> usize {
    let before = ALLOCATED.get();
    let result = work();
    let after = ALLOCATED.get();
    drop(result);
    after - before
}

/// The most that the thread held at once during `work`.
fn peak(work: impl FnOnce()) -> isize {
    PEAK.set(HELD.get());
    work();
    PEAK.get()
}

#[test]
fn a_bus_needs_no_more_memory_for_many_channels_than_for_those_that_it_remembers() {
    // What one more allocation of the same kind may differ by.
    const SLACK: isize = 64 << 10;
    let bus = Bus::open("memq://").expect("the bus opens");
    let inbox = bus.inbox();
    let subscribed = inbox.subscribe("C.*7", Queue::default());
    subscribed.expect("a pattern");
    let publish = |numbers: std::ops::Range<u32>| {
        for number in numbers {
            let published = bus.publish_bytes(&format!("C{number}"), b"");
            published.expect("it is published");
            while inbox.try_recv().expect("the bus works").is_some() {}
        }
    };
    let before = HELD.get();
    // More than twice what is remembered.
    let some = peak(|| publish(0..40_000)) - before;
    let many = peak(|| publish(40_000..160_000)) - before;
    println!("{some} bytes for 40,000 channels, {many} for 160,000");
    assert!(some > 0, "the routes are on this thread");
    assert!(many <= some + SLACK, "{some}, then {many}");
}

/// Bodies that claim more than they hold.
fn lies() -> Vec<Vec<u8>> {
    let mut bodies = Vec::new();
    for n_bytes in [0, 20, 1000, 100_000] {
        for fill in [0x00, 0x01, 0x7f, 0xff] {
            bodies.push(vec![fill; n_bytes]);
        }
        for length in [1_u32, 100, 70_000, 0x7fff_ffff] {
            bodies.push(length.to_be_bytes().repeat(n_bytes / 4 + 1));
        }
    }
    bodies
}

#[test]
fn generated_decoders_allocate_in_proportion_to_the_message() {
    for entry in TYPES {
        for body in lies() {
            let message = [&entry.fingerprint.0.to_be_bytes(), &body[..]].concat();
            let n = allocated(|| (entry.recode)(&message));
            // Decoded once, encoded once.
            assert!(
                n <= (TYPED_MULTIPLE + 1) * message.len() + SLACK,
                "{}: {n} for {}",
                entry.name,
                message.len()
            );
        }
    }
}

#[test]
fn the_dynamic_decoder_allocates_in_proportion_to_the_message() {
    let awkward = compile(
        &[Source::new(
            "awkward.lcm",
            "struct byte_t { int8_t x; } struct bytes_t { int32_t n; byte_t xs[n]; } struct e_t { } \
             struct es_t { int32_t n; e_t es[n]; } struct grid_t { int32_t n; int32_t m; int8_t x[n][m]; } \
             struct tree_t { int8_t n; tree_t kids[n]; } struct strings_t { int32_t n; string s[n]; } \
             struct fixed_t { string s[100000]; e_t e[60000]; byte_t b[100000]; }",
        )],
        &Rules::default(),
    );
    assert!(awkward.is_ok(), "{:?}", awkward.diagnostics);
    for types in [awkward.types, our_types()] {
        for (id, def) in types.iter() {
            for body in lies() {
                check(&types, id, &def.name, &body);
            }
        }
    }
}

fn check(
    types: &TypeSet,
    id: bowline_wire::schema::TypeId,
    name: &(impl Debug + ?Sized),
    body: &[u8],
) {
    let fingerprint = types.fingerprint(id).expect("the type is complete");
    let message = [&fingerprint.0.to_be_bytes(), body].concat();
    let n = allocated(|| types.decode(&message));
    // Elements without bytes are bounded by number, and take one value each.
    let free = 2 * size_of::<bowline_wire::Value<'_>>() * bowline_wire::MAX_FREE_ELEMENTS;
    let limit = DYNAMIC_MULTIPLE * message.len() + SLACK + if n_free(types, id) { free } else { 0 };
    assert!(n <= limit, "{name:?}: {n} for {} bytes", message.len());
}

/// Whether a type has elements that take no bytes.
fn n_free(types: &TypeSet, id: bowline_wire::schema::TypeId) -> bool {
    let members = types.as_struct(id).map_or(&[][..], |body| &body.members);
    members
        .iter()
        .any(|member| types.min_size_of(member.ty) == 0)
}
