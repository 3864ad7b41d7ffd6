//! `bowline completions`: what a shell needs to complete a command line, from the tree of verbs.

use crate::{App, Outcome, output};
use clap::Args;
use clap_complete::Shell;

const EXAMPLES: &str = "\
Examples:
  bowline completions bash > ~/.local/share/bash-completion/completions/bowline
  bowline completions zsh > ~/.zfunc/_bowline     with `fpath+=~/.zfunc` before `compinit` in ~/.zshrc
  bowline completions fish > ~/.config/fish/completions/bowline.fish

The Debian package installs those of bash, zsh and fish; the archive has them below share/.";

#[derive(Args, Debug)]
#[command(
    after_help = EXAMPLES
)]
pub(crate) struct Arguments {
    #[arg(value_name = "SHELL", value_enum)]
    shell: Shell,
}

pub(crate) fn run(app: &App, args: &Arguments) -> anyhow::Result<Outcome> {
    output::bytes(&script(app, args.shell))?;
    Ok(Outcome::Fine)
}

fn script(app: &App, shell: Shell) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut app.command(), app.program(), &mut script);
    script
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Command, ValueEnum as _};

    /// Every long option of every verb that people see, with the verb that has it.
    fn options(command: &Command, found: &mut Vec<(String, String)>) {
        for option in command.get_arguments().filter(|it| !it.is_hide_set()) {
            let long = option.get_long().map(str::to_owned);
            found.extend(long.map(|long| (command.get_name().to_owned(), long)));
        }
        for verb in command.get_subcommands() {
            options(verb, found);
        }
    }

    #[test]
    fn completions_name_every_verb_and_option_in_every_shell() {
        let app = App::new();
        let mut expected = Vec::new();
        options(&app.command(), &mut expected);
        assert!(expected.contains(&("record".to_owned(), "split-mb".to_owned())));
        for shell in Shell::value_variants() {
            let script = String::from_utf8(script(&app, *shell)).unwrap();
            for (verb, option) in &expected {
                let has = |word: &str| script.contains(word);
                assert!(has(verb) && has(option), "{shell}: {verb} --{option}");
            }
            // What the binary starts itself as is nothing to complete.
            assert!(!script.contains("keeper"), "{shell}");
        }
    }
}
