//! Help texts as they fit the terminal: prose is wrapped once, where the width is known.

use clap::Command;

/// The same verbs, with prose that is not wrapped yet after their options. Examples stay as they are.
pub(crate) fn unwrapped(mut command: Command) -> Command {
    let help = command.get_after_help().map(ToString::to_string);
    if let Some(help) = help {
        command = command.after_help(unwrap_prose(&help));
    }
    command.mut_subcommands(unwrapped)
}

/// Joins the lines of sentences that were broken for the width of a source file.
fn unwrap_prose(text: &str) -> String {
    let mut joined = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        joined += line;
        let is_prose = |line: &str| !line.is_empty() && !line.starts_with(' ');
        let ends = line.ends_with(['.', ':', ';', '?']);
        let goes_on = is_prose(line) && !ends && lines.peek().is_some_and(|next| is_prose(next));
        if lines.peek().is_some() {
            joined.push(if goes_on { ' ' } else { '\n' });
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_joined_and_examples_stay() {
        let text = "\
Examples:
  bowline ps          all
                      of them

A process is stopped, finished or
given up. It waits for those
it depends on.
Exit code 0 if all is well; 1 if
none was received.";
        let expected = "\
Examples:
  bowline ps          all
                      of them

A process is stopped, finished or given up. It waits for those it depends on.
Exit code 0 if all is well; 1 if none was received.";
        assert_eq!(unwrap_prose(text), expected);
    }

    /// What is broken by hand is broken again on a narrower screen, and every other line is a word long.
    #[test]
    fn no_verb_breaks_its_sentences_by_hand() {
        fn check(command: &Command) {
            let help = command.get_after_help().map(ToString::to_string);
            let help = help.unwrap_or_default();
            assert_eq!(unwrap_prose(&help), help, "{}", command.get_name());
            command.get_subcommands().for_each(check);
        }
        check(&crate::App::new().command());
    }
}
