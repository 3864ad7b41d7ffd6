//! The command-line reference: what `--help` prints, as Markdown.
//!
//! In: the tree of verbs, and the table of component kinds. Out: a page for each verb, with a section for each subcommand, a
//! page of the kinds, and an index page.

use crate::App;
use clap::Command;

/// Columns of the text: a page of the documentation shows so many without scrolling.
const WIDTH: usize = 100;

/// The pages by file name. The index is first.
pub(super) fn pages(app: &App) -> Vec<(String, Vec<u8>)> {
    let mut command = app
        .command()
        .disable_help_subcommand(true)
        .term_width(WIDTH);
    // Gives every verb its full name, as in `bowline log record`.
    command.build();
    let program = app.program();
    let mut index = format!(
        "# Command line\n\nEach page is the output of `{program} VERB --help`.\n\n| verb | what it does |\n| --- | --- |\n"
    );
    let mut pages = Vec::new();
    for verb in command.get_subcommands().filter(|it| !it.is_hide_set()) {
        let name = verb.get_name();
        index += &format!("| [`{program} {name}`]({name}.md) | {} |\n", summary(verb));
        let mut page = String::new();
        add_section(verb, &format!("{program} {name}"), 1, &mut page);
        pages.push((format!("{name}.md"), page.into_bytes()));
    }
    index += "\nRobot files name [kinds of components](kinds.md).\n";
    pages.push(("kinds.md".to_owned(), kinds(app).into_bytes()));
    pages.insert(0, ("index.md".to_owned(), index.into_bytes()));
    pages
}

/// The kinds that robot files can name.
fn kinds(app: &App) -> String {
    let program = app.program();
    let mut page = format!(
        "# Component kinds\n\n`{program} run --explain KIND` shows the parameters and ports of a kind.\n\n\
         | kind | what it does |\n| --- | --- |\n"
    );
    for kind in app.kind_table() {
        page += &format!("| `{}` | {} |\n", kind.name, cell(kind.summary));
    }
    page
}

/// The help of a verb, then that of its subcommands one level below.
fn add_section(verb: &Command, name: &str, level: usize, page: &mut String) {
    let marks = "#".repeat(level);
    // Trailing blanks are of no use in a page, and differ between versions of clap.
    let help = verb.clone().term_width(WIDTH).render_help().to_string();
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    if !page.is_empty() {
        page.push('\n');
    }
    *page += &format!("{marks} {name}\n\n```text\n{}\n```\n", lines.join("\n"));
    for below in verb.get_subcommands().filter(|it| !it.is_hide_set()) {
        let name = format!("{name} {}", below.get_name());
        add_section(below, &name, level + 1, page);
    }
}

fn summary(verb: &Command) -> String {
    verb.get_about()
        .map_or_else(String::new, |about| cell(&about.to_string()))
}

/// Text as a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
