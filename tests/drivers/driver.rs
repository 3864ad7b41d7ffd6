// Answers questions with generated Rust: driver FOLDER. The table of types follows below.
//
// Reads FOLDER/questions, decodes each message owned, borrowed and into a value that is there, encodes all three, and
// writes FOLDER/answers. An empty message asks for the fingerprint. The formats are in tests/src/cases.rs.

use bowline_wire::{Decode, IntoOwned, Message};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

#[global_allocator]
static ALLOCATOR: Counting = Counting;
static N_ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

/// Counts allocations. This program has one thread.
struct Counting;

// SAFETY: everything is handed to the system's allocator as it came; what grows comes by way of `alloc`.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        N_ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(ptr, layout) }
    }
}

/// Decodes a message into a value that had the same one before, which allocates nothing where `reuses` is set.
fn decode_again<'m, M: Message + Decode<'m>>(reuses: bool, message: &'m [u8]) -> Result<Vec<u8>, String> {
    let mut value = M::decode(message).map_err(|error| error.to_string())?;
    let before = N_ALLOCATIONS.load(Ordering::Relaxed);
    value.decode_into(message).map_err(|error| format!("decoded once, but not again: {error}"))?;
    let n = N_ALLOCATIONS.load(Ordering::Relaxed) - before;
    if reuses && n > 0 {
        return Ok(format!("decoded again with {n} allocations").into_bytes());
    }
    value.encode().map_err(|error| error.to_string())
}

/// What the type makes of the message; decoding and encoding again.
fn round_trip<'m, M: Message + Decode<'m>>(message: &'m [u8]) -> Result<(M, Vec<u8>), String> {
    let value = M::decode(message).map_err(|error| error.to_string())?;
    let encoded = value.encode().map_err(|error| error.to_string())?;
    Ok((value, encoded))
}

/// For a type that borrows, both kinds, and from the one to the other.
fn round_trips<'m, O, B>(message: &'m [u8]) -> Result<Vec<u8>, String>
where
    O: Message + Decode<'m>,
    B: Message + Decode<'m> + IntoOwned<Owned = O>,
{
    match (round_trip::<O>(message), round_trip::<B>(message)) {
        (Err(error), Err(_)) => Err(error),
        (Ok((_, owned)), Ok((value, borrowed))) => {
            let third = value.into_owned().encode().map_err(|error| error.to_string())?;
            if owned == borrowed && owned == third { Ok(owned) } else { Ok(b"owned and borrowed differ".to_vec()) }
        }
        (Ok(_), Err(error)) => Ok(format!("only the owned type decodes: {error}").into_bytes()),
        (Err(error), Ok(_)) => Ok(format!("only the borrowed type decodes: {error}").into_bytes()),
    }
}

/// What both ways of decoding make of a message, if that is the same.
fn once_and_again<'m, O: Message + Decode<'m>>(
    once: Result<Vec<u8>, String>,
    reuses: bool,
    message: &'m [u8],
) -> Result<Vec<u8>, String> {
    let again = decode_again::<O>(reuses, message);
    if once.is_ok() && once != again { again.or_else(|error| Ok(error.into_bytes())) } else { once }
}

macro_rules! answer {
    ($reuses:expr, $owned:ty, $message:expr) => {
        if $message.is_empty() {
            fingerprint::<$owned>()
        } else {
            once_and_again::<$owned>(round_trip::<$owned>($message).map(|(_, bytes)| bytes), $reuses, $message)
        }
    };
    ($reuses:expr, $owned:ty, $borrowed:ty, $message:expr) => {
        if $message.is_empty() {
            fingerprint::<$owned>()
        } else {
            once_and_again::<$owned>(round_trips::<$owned, $borrowed>($message), $reuses, $message)
        }
    };
}

fn fingerprint<M: Message>() -> Result<Vec<u8>, String> {
    Ok(M::FINGERPRINT.0.to_be_bytes().to_vec())
}

fn block<'q>(questions: &mut &'q [u8]) -> &'q [u8] {
    let (len, rest) = questions.split_first_chunk().expect("a question is a name and a message");
    let (block, rest) = rest.split_at(u32::from_be_bytes(*len) as usize);
    *questions = rest;
    block
}

fn main() {
    let folder = std::path::PathBuf::from(std::env::args_os().nth(1).expect("expected FOLDER"));
    let questions = std::fs::read(folder.join("questions")).expect("the folder has questions");
    let mut rest = questions.as_slice();
    let mut answers = Vec::new();
    while !rest.is_empty() {
        let name = std::str::from_utf8(block(&mut rest)).expect("names are text");
        let (status, reply) = match answer(name, block(&mut rest)) {
            Ok(message) => (0, message),
            Err(why) => (1, why.into_bytes()),
        };
        answers.push(status);
        answers.extend((reply.len() as u32).to_be_bytes());
        answers.extend(reply);
    }
    std::fs::write(folder.join("answers"), answers).expect("the folder can be written");
}
