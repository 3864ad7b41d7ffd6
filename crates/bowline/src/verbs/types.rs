//! `bowline types`: looking at types and messages.

use crate::input::{self, Usage};
use crate::{Outcome, output};
use anyhow::Context as _;
use bowline_lang::{Change, Compiled, Rules, Severity, Source, compile, diff, lint};
use bowline_wire::schema::TypeId;
use clap::{Args, Command, Subcommand};
use serde_json::{Value, json};
use std::io::Read as _;
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Print the fingerprint of every type
    #[command(after_help = "Example:\n  bowline types fingerprint types/*.lcm")]
    Fingerprint(Fingerprint),
    /// Find mistakes, fields without a comment and quantities without a unit
    #[command(after_help = "Example:\n  bowline types check types/")]
    Check(Check),
    /// Show what changed between two versions, and who must be rebuilt
    #[command(
        after_help = "Example:\n  bowline types diff old/types types\n\nExit code 1 if a fingerprint changed."
    )]
    Diff(Diff),
    /// Turn JSON into a message
    #[command(
        after_help = "Example:\n  echo '{\"utime\": 1, \"lat\": 45.5, \"lon\": -73.6, \"sog\": 3}' |\n    \
                            bowline types encode gps_rmc_t --types types > fix.bin"
    )]
    Encode(Encode),
    /// Turn a message into JSON; its fingerprint identifies its type, and the name goes to standard error
    #[command(after_help = "Example:\n  bowline types decode --types types < fix.bin")]
    Decode(Decode),
}

#[derive(Args, Debug)]
pub(crate) struct Fingerprint {
    /// .lcm files, or folders of them
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Turn mistakes that lcm-gen accepts into warnings
    #[arg(long)]
    lcm_compat: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Check {
    /// .lcm files, or folders of them
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Turn mistakes that lcm-gen accepts into warnings
    #[arg(long)]
    lcm_compat: bool,
    /// Look for mistakes only, not for missing comments and units
    #[arg(long)]
    no_lint: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Diff {
    /// The version before: a .lcm file or a folder
    old: PathBuf,
    /// The version after
    new: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct TypeSources {
    /// Where the types are: .lcm files, or folders of them
    #[arg(long, value_name = "DIR", default_value = "types")]
    types: Vec<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct Encode {
    /// The type's name, with its package if need be: `path_t` or `bowline.path_t`
    #[arg(value_name = "TYPE")]
    name: String,
    #[command(flatten)]
    sources: TypeSources,
}

#[derive(Args, Debug)]
pub(crate) struct Decode {
    #[command(flatten)]
    sources: TypeSources,
    /// Print on one line
    #[arg(long)]
    compact: bool,
}

pub(crate) fn build(command: Command) -> Command {
    Verb::augment_subcommands(command)
        .subcommand_required(true)
        .arg_required_else_help(true)
}

pub(crate) fn run(verb: Verb) -> anyhow::Result<Outcome> {
    match verb {
        Verb::Fingerprint(args) => fingerprint(&args),
        Verb::Check(args) => check(&args),
        Verb::Diff(args) => show_diff(&args),
        Verb::Encode(args) => encode(&args),
        Verb::Decode(args) => decode(&args),
    }
}

fn compile_strictly(
    files: &[PathBuf],
    lcm_compat: bool,
) -> anyhow::Result<(Vec<Source>, Compiled)> {
    let sources = input::read_sources(files)?;
    let compiled = compile(
        &sources,
        &Rules {
            lcm_compat,
            leaks: input::leaks(files),
            ..Rules::default()
        },
    );
    output::diagnostics(&compiled.diagnostics, &sources);
    Ok((sources, compiled))
}

fn outcome(is_ok: bool) -> Outcome {
    if is_ok {
        Outcome::Fine
    } else {
        Outcome::Diagnostics
    }
}

fn fingerprint(args: &Fingerprint) -> anyhow::Result<Outcome> {
    let (_, compiled) = compile_strictly(&args.files, args.lcm_compat)?;
    let types = &compiled.types;
    let mut rows: Vec<(String, String)> = types
        .iter()
        .filter_map(|(id, def)| Some((def.full_name(), types.fingerprint(id)?.to_string())))
        .collect();
    rows.sort();
    if args.json {
        let rows: Vec<Value> = rows
            .iter()
            .map(|(name, print)| json!({"name": name, "fingerprint": print}))
            .collect();
        output::line(&Value::from(rows).to_string())?;
    } else {
        for (name, print) in rows {
            output::line(&format!("{name} {print}"))?;
        }
    }
    Ok(outcome(compiled.is_ok()))
}

fn check(args: &Check) -> anyhow::Result<Outcome> {
    let (sources, compiled) = compile_strictly(&args.files, args.lcm_compat)?;
    let findings = if args.no_lint {
        Vec::new()
    } else {
        lint(&compiled, &sources)
    };
    output::diagnostics(&findings, &sources);
    let n_errors = compiled
        .diagnostics
        .iter()
        .filter(|diagnostic| diagnostic.severity == Severity::Error)
        .count();
    output::note(&format!(
        "{}: {}, {} missing comments or units",
        output::count(compiled.types.len() as u64, "type"),
        output::count(n_errors as u64, "error"),
        findings.len()
    ));
    Ok(outcome(compiled.is_ok() && findings.is_empty()))
}

fn show_diff(args: &Diff) -> anyhow::Result<Outcome> {
    let load = |path: &PathBuf| -> anyhow::Result<Compiled> {
        let (sources, compiled) = input::load_types(std::slice::from_ref(path))?;
        if !compiled.is_ok() {
            output::diagnostics(&compiled.diagnostics, &sources);
            anyhow::bail!(
                "{} does not compile, so it cannot be compared",
                path.display()
            );
        }
        Ok(compiled)
    };
    let (old, new) = (load(&args.old)?, load(&args.new)?);
    let changes = diff(&old.types, &new.types);
    if args.json {
        let changes: Vec<Value> = changes
            .iter()
            .map(|change| {
                json!({
                    "type": change.name,
                    "change": match change.change {
                        Change::Added => "added",
                        Change::Removed => "removed",
                        Change::Changed => "changed",
                    },
                    "old": change.old.map(|print| print.to_string()),
                    "new": change.new.map(|print| print.to_string()),
                    "breaking": change.is_breaking(),
                    "details": change.details,
                    "rebuild": change.rebuild,
                })
            })
            .collect();
        output::line(&Value::from(changes).to_string())?;
    } else if changes.is_empty() {
        output::line("no difference")?;
    } else {
        for change in &changes {
            output::line(&change.to_string())?;
        }
    }
    Ok(outcome(
        !changes.iter().any(bowline_lang::TypeChange::is_breaking),
    ))
}

/// Types to look messages up in: as many as can be understood.
fn load(sources: &TypeSources) -> anyhow::Result<Compiled> {
    if let Some(missing) = sources.types.iter().find(|path| !path.exists()) {
        let missing = missing.display();
        let message = format!(
            "expected types in {missing}, found no such file or folder: give their place with --types DIR"
        );
        return Err(Usage(message).into());
    }
    let (sources, compiled) = input::load_types(&sources.types)?;
    if !compiled.is_ok() {
        output::diagnostics(&compiled.diagnostics, &sources);
    }
    Ok(compiled)
}

fn encode(args: &Encode) -> anyhow::Result<Outcome> {
    let compiled = load(&args.sources)?;
    let types = &compiled.types;
    let id = find_type(&compiled, &args.name)?;
    let text = read_input()?;
    let value = types.from_json(id, &text)?;
    output::bytes(&types.encode(id, &value)?)?;
    Ok(Outcome::Fine)
}

fn find_type(compiled: &Compiled, name: &str) -> anyhow::Result<TypeId> {
    compiled.types.by_name(name).ok_or_else(|| {
        let short = name.rsplit('.').next().unwrap_or(name);
        let known = compiled.types.iter().map(|(_, def)| def.full_name());
        let near: Vec<String> = known.filter(|full| full.contains(short)).take(10).collect();
        let help = if near.is_empty() {
            String::new()
        } else {
            format!("; did you mean {}?", near.join(" or "))
        };
        Usage(format!(
            "expected the name of a known type, found {name:?}{help}"
        ))
        .into()
    })
}

fn decode(args: &Decode) -> anyhow::Result<Outcome> {
    let compiled = load(&args.sources)?;
    let types = &compiled.types;
    let message = read_input()?;
    let (id, value) = types.decode(&message)?;
    output::note(&format!(
        "{}, {} bytes",
        types.def(id).full_name(),
        message.len()
    ));
    output::line(&if args.compact {
        types.to_json(id, &value)
    } else {
        types.to_json_pretty(id, &value)
    })?;
    Ok(Outcome::Fine)
}

fn read_input() -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::io::stdin()
        .lock()
        .read_to_end(&mut bytes)
        .context("cannot read standard input")?;
    Ok(bytes)
}
