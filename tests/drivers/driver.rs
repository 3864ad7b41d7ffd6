// Answers questions with generated Rust: driver FOLDER. The table of types follows below.
//
// Reads FOLDER/questions, decodes each message owned and borrowed, encodes both, and writes FOLDER/answers. An empty
// message asks for the fingerprint. The formats are in tests/src/cases.rs.

use bowline_wire::{IntoOwned, Message};

fn round_trip<O, B>(owned: Result<O, String>, borrowed: Result<B, String>) -> Result<Vec<u8>, String>
where
    O: Message + PartialEq,
    B: Message + IntoOwned<Owned = O>,
{
    let (owned, borrowed) = match (owned, borrowed) {
        (Err(error), Err(_)) => return Err(error),
        (Ok(owned), Ok(borrowed)) => (owned, borrowed),
        (Ok(_), Err(error)) => return Ok(format!("only the owned type decodes: {error}").into_bytes()),
        (Err(error), Ok(_)) => return Ok(format!("only the borrowed type decodes: {error}").into_bytes()),
    };
    let message = owned.encode().map_err(|error| error.to_string())?;
    let again = borrowed.encode().map_err(|error| error.to_string())?;
    let third = borrowed.into_owned().encode().map_err(|error| error.to_string())?;
    if message == again && message == third { Ok(message) } else { Ok(b"owned and borrowed differ".to_vec()) }
}

macro_rules! answer {
    ($owned:ty, $borrowed:ty, $message:expr) => {
        if $message.is_empty() {
            Ok(<$owned as Message>::FINGERPRINT.0.to_be_bytes().to_vec())
        } else {
            round_trip(
                <$owned as Message>::decode($message).map_err(|error| error.to_string()),
                <$borrowed as Message>::decode($message).map_err(|error| error.to_string()),
            )
        }
    };
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
