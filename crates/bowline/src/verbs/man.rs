//! `bowline man`: a manual page for each verb, or the command-line reference of the documentation, from the tree of verbs.

mod reference;

use crate::{App, Outcome, output};
use anyhow::Context as _;
use clap::{Args, Command};
use clap_mangen::Man;
use std::fs;
use std::path::PathBuf;

const VERSION: &str = env!("CARGO_PKG_VERSION");

const EXAMPLES: &str = "\
Examples:
  bowline man ~/.local/share/man/man1     then `man bowline-log-record`
  bowline man pages && man -l pages/bowline-run.1
  bowline man --markdown docs/reference   a page of Markdown for each verb, with its subcommands

The Debian package installs the pages; the archive has them in share/man/man1.";

#[derive(Args, Debug)]
#[command(
    after_help = EXAMPLES
)]
pub(crate) struct Arguments {
    /// Write Markdown, a page for each verb with its subcommands, and an index
    #[arg(long)]
    markdown: bool,
    /// The folder to write them to; it is made if it is missing
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

pub(crate) fn run(app: &App, args: &Arguments) -> anyhow::Result<Outcome> {
    let folder = args.folder.display();
    fs::create_dir_all(&args.folder).with_context(|| format!("cannot make the folder {folder}"))?;
    let pages = if args.markdown {
        reference::pages(app)
    } else {
        pages(app)?
    };
    for (name, text) in &pages {
        fs::write(args.folder.join(name), text)
            .with_context(|| format!("cannot write {name} to {folder}"))?;
    }
    output::line(&format!("wrote {} pages to {folder}", pages.len()))?;
    Ok(Outcome::Fine)
}

/// The pages of all verbs that people see, by their file names.
fn pages(app: &App) -> anyhow::Result<Vec<(String, Vec<u8>)>> {
    let mut command = app.command().disable_help_subcommand(true);
    // Gives every verb its full name, as in `bowline log record`.
    command.build();
    let mut pages = Vec::new();
    add_pages(&command, app.program(), &mut pages)?;
    Ok(pages)
}

fn add_pages(
    command: &Command,
    name: &str,
    pages: &mut Vec<(String, Vec<u8>)>,
) -> anyhow::Result<()> {
    // Without a date, so that one source makes one page.
    let title = name.to_uppercase();
    let mut page = format!(".TH {title} 1 \"\" \"Bowline {VERSION}\" \"Bowline\"\n").into_bytes();
    let man = Man::new(command.clone());
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    let help = command.get_after_help().map(ToString::to_string);
    page.extend(notes(&help.unwrap_or_default()).into_bytes());
    pages.push((format!("{name}.1"), page));
    for verb in command.get_subcommands() {
        add_pages(verb, &format!("{name}-{}", verb.get_name()), pages)?;
    }
    Ok(())
}

/// What follows the options in `--help`: examples, and all else under the heading NOTES.
fn notes(text: &str) -> String {
    let mut roff = String::new();
    let mut heading = "";
    for paragraph in text.split("\n\n").filter(|it| !it.trim().is_empty()) {
        let (next, lines) = match paragraph.split_once(":\n") {
            Some(("Example" | "Examples", lines)) => ("EXAMPLES", lines),
            _ => ("NOTES", paragraph),
        };
        if heading != next {
            roff += &format!(".SH {next}\n");
            heading = next;
        }
        // Lines with an indent are in columns; others are sentences.
        let has_columns = lines.lines().any(|line| line.starts_with(' '));
        roff += if has_columns { ".PP\n.nf\n" } else { ".PP\n" };
        for line in lines.lines() {
            roff += &format!("{}\n", escaped(line));
            roff += if has_columns { "" } else { ".br\n" };
        }
        roff += if has_columns { ".fi\n" } else { "" };
    }
    roff
}

/// A line of text as roff takes it: quotes, tildes and hyphens stay those that a shell understands.
fn escaped(line: &str) -> String {
    // At the beginning of a line, a dot or an apostrophe would be a request.
    let mut escaped = String::from(if line.starts_with('.') { "\\&" } else { "" });
    for c in line.chars() {
        match c {
            '\\' => escaped += "\\e",
            '-' => escaped += "\\-",
            '\'' => escaped += "\\(aq",
            '`' => escaped += "\\(ga",
            '^' => escaped += "\\(ha",
            '~' => escaped += "\\(ti",
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the page of a verb must name: its options and the pages of the verbs below it.
    fn check(command: &Command, name: &str, pages: &[(String, Vec<u8>)]) -> usize {
        let file = format!("{name}.1");
        let (_, page) = pages
            .iter()
            .find(|(it, _)| *it == file)
            .unwrap_or_else(|| panic!("no {file}"));
        // Hyphens and apostrophes are escaped in roff.
        let page = String::from_utf8(page.clone()).unwrap();
        let page = page.replace("\\-", "-").replace("\\*(Aq", "'");
        for option in command.get_arguments().filter(|it| !it.is_hide_set()) {
            let Some(long) = option.get_long() else {
                continue;
            };
            assert!(page.contains(&format!("--{long}")), "{file}: --{long}");
        }
        let about = command.get_about().expect("a verb has a summary");
        let first = about.to_string().lines().next().unwrap().to_owned();
        assert!(page.contains(&first), "{file}: {first}");
        let mut n_pages = 1;
        for verb in command.get_subcommands() {
            let name = format!("{name}-{}", verb.get_name());
            assert!(page.contains(&format!("{name}(1)")), "{file}: {name}(1)");
            n_pages += check(verb, &name, pages);
        }
        n_pages
    }

    #[test]
    fn man_has_a_page_for_every_verb_with_all_of_its_options() {
        let app = App::new();
        let pages = pages(&app).unwrap();
        let n_pages = check(&app.command(), "bowline", &pages);
        assert_eq!(pages.len(), n_pages, "a page without a verb");
        assert!(pages.iter().any(|(name, _)| name == "bowline-log-record.1"));
    }

    #[test]
    fn notes_keep_columns_and_what_a_shell_must_see() {
        let text = "Examples:\n  bowline log -c 'a\\..*' ~\n\nIt ends with ^C.\n.lcm files, too.";
        let expected = ".SH EXAMPLES\n.PP\n.nf\n  bowline log \\-c \\(aqa\\e..*\\(aq \\(ti\n.fi\n.SH NOTES\n.PP\n\
                        It ends with \\(haC.\n.br\n\\&.lcm files, too.\n.br\n";
        assert_eq!(notes(text), expected);
    }
}
