//! `bowline gen`: .lcm files to source code.

use crate::input::{self, Usage};
use crate::languages::{Flag, OWN_FLAGS};
use crate::{App, Outcome, output};
use anyhow::Context as _;
use bowline_lang::emit::{
    self, COMMON_SETTINGS, EmitError, Language, OutputFile, Setting, SettingKind, Settings,
};
use bowline_lang::{Rules, compile};
use clap::{Arg, ArgAction, ArgMatches, Command};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  bowline gen --rust src/msgs types/*.lcm
  bowline gen --python out/ --c out/ types/
  bowline gen -c --c-cpath src --c-hpath include --lcm-compat pose_t.lcm   (as lcm-gen)

A language's long flag takes a folder for all its files, or none for the present one; its short flag is lcm-gen's and \
takes none. Files whose contents would not change are left alone, so that builds do not start over. lcm-gen's Lua, C# and \
Go are not among the languages.";

pub(crate) fn build(app: &App, command: Command) -> Command {
    let [compat, prefix, lazy] = OWN_FLAGS;
    let mut command = command
        .after_help(EXAMPLES)
        .arg(
            Arg::new("files")
                .value_name("FILE")
                .num_args(1..)
                .value_parser(clap::value_parser!(PathBuf))
                .help(".lcm files, or folders of them"),
        )
        .arg(switch(compat))
        .arg(text(prefix.name, "").help(prefix.help))
        .arg(switch(lazy));
    for language in app.language_table() {
        let mut flag = Arg::new(language.name)
            .long(language.name)
            .value_name("DIR")
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("")
            .help_heading("Languages")
            .help(language.summary);
        if let Some(short) = language.short {
            flag = flag.short(short);
        }
        command = command
            .arg(flag)
            .args(language.settings.iter().map(setting_argument));
    }
    command.args(COMMON_SETTINGS.iter().map(setting_argument))
}

fn setting_argument(setting: &Setting) -> Arg {
    let arg = match setting.kind {
        SettingKind::Switch => switch(Flag {
            name: setting.name,
            help: setting.help,
        }),
        SettingKind::Text(default) => text(setting.name, default).help(setting.help),
    };
    arg.help_heading("Settings of languages")
}

fn switch(Flag { name, help }: Flag) -> Arg {
    Arg::new(name)
        .long(name)
        .action(ArgAction::SetTrue)
        .help(help)
}

fn text(name: &'static str, default: &'static str) -> Arg {
    let arg = Arg::new(name).long(name).value_name("TEXT");
    if default.is_empty() {
        arg
    } else {
        arg.default_value(default)
    }
}

/// Joins a language's flag and the folder after it: `--rust out/ a.lcm` means `--rust=out/ a.lcm`, while lcm-gen's
/// `--python a.lcm` has no folder, and `--python --ppath out/ in/` has named it already.
pub(crate) fn join_folders(app: &App, args: Vec<OsString>) -> Vec<OsString> {
    if args.get(1).is_none_or(|verb| verb != "gen") {
        return args;
    }
    let has_flag = |name: &str| {
        let flag = format!("--{name}");
        args.iter()
            .any(|arg| arg.to_string_lossy().split('=').next() == Some(&flag))
    };
    let languages = app.language_table().iter();
    let open_flags: Vec<String> = languages
        .filter(|language| !language.dirs.iter().any(|dir| has_flag(dir)))
        .map(|language| format!("--{}", language.name))
        .collect();
    let mut joined: Vec<OsString> = Vec::with_capacity(args.len());
    for arg in args {
        let is_folder = !arg.to_string_lossy().starts_with('-')
            && Path::new(&arg)
                .extension()
                .is_none_or(|extension| extension != "lcm");
        match joined.last_mut() {
            Some(flag) if is_folder && open_flags.iter().any(|open| *flag == **open) => {
                flag.push("=");
                flag.push(arg);
            }
            _ => joined.push(arg),
        }
    }
    joined
}

pub(crate) fn run(app: &App, matches: &ArgMatches) -> anyhow::Result<Outcome> {
    let languages = app.language_table().iter();
    let wanted: Vec<&Language> = languages
        .clone()
        .filter(|language| matches.contains_id(language.name))
        .collect();
    if wanted.is_empty() {
        let names: Vec<String> = languages
            .map(|language| format!("--{}", language.name))
            .collect();
        return Err(Usage(format!(
            "expected at least one of {}, found none",
            names.join(", ")
        ))
        .into());
    }
    if !matches.contains_id("files") {
        let folders = wanted
            .iter()
            .filter_map(|language| matches.get_one::<String>(language.name));
        let taken: Vec<&str> = folders
            .map(String::as_str)
            .filter(|folder| !folder.is_empty())
            .collect();
        let help = match taken.as_slice() {
            [] => String::new(),
            taken => format!("; {} is where the output goes", taken.join(" and ")),
        };
        return Err(Usage(format!(
            "expected .lcm files or folders of them, found none{help}"
        ))
        .into());
    }
    let paths: Vec<PathBuf> = matches
        .get_many("files")
        .into_iter()
        .flatten()
        .cloned()
        .collect();
    let sources = input::read_sources(&paths)?;
    let rules = Rules {
        lcm_compat: matches.get_flag("lcm-compat"),
        leaks: input::leaks(&paths),
        package_prefix: matches
            .get_one("package-prefix")
            .cloned()
            .unwrap_or_default(),
    };
    let compiled = compile(&sources, &rules);
    output::diagnostics(&compiled.diagnostics, &sources);
    if !compiled.is_ok() {
        return Ok(Outcome::Diagnostics);
    }
    let mut written = Written::default();
    for language in wanted {
        let emitted = emit::emit(language, &compiled.types, &settings(language, matches));
        for file in emitted.map_err(refusal)? {
            written.write(&file)?;
        }
    }
    output::note(&format!(
        "{}: {} written, {} unchanged",
        output::count(compiled.types.len() as u64, "type"),
        output::count(written.n_new, "file"),
        written.n_unchanged
    ));
    Ok(Outcome::Fine)
}

/// A setting that is wrong is wrong usage; types that a language cannot have are not.
fn refusal(error: EmitError) -> anyhow::Error {
    match error {
        EmitError::Setting { .. } => Usage(error.to_string()).into(),
        EmitError::Undefined { .. } | EmitError::OneFile { .. } => error.into(),
    }
}

fn settings(language: &Language, matches: &ArgMatches) -> Settings {
    let mut settings = Settings::default();
    for setting in language.settings.iter().chain(COMMON_SETTINGS) {
        match setting.kind {
            SettingKind::Switch if matches.get_flag(setting.name) => {
                settings.set(setting.name, "on");
            }
            SettingKind::Switch => {}
            SettingKind::Text(_) => {
                if let Some(text) = matches.get_one::<String>(setting.name) {
                    settings.set(setting.name, text);
                }
            }
        }
    }
    let folder = matches
        .get_one::<String>(language.name)
        .filter(|folder| !folder.is_empty());
    for dir in language.dirs {
        let is_explicit = matches.value_source(dir) == Some(clap::parser::ValueSource::CommandLine);
        if let (Some(folder), false) = (folder, is_explicit) {
            settings.set(dir, folder);
        }
    }
    settings
}

#[derive(Default)]
struct Written {
    n_new: u64,
    n_unchanged: u64,
}

impl Written {
    fn write(&mut self, file: &OutputFile) -> anyhow::Result<()> {
        let OutputFile { path, text } = file;
        if fs::read(path).is_ok_and(|old| old == text.as_bytes()) {
            self.n_unchanged += 1;
            return Ok(());
        }
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)
                .with_context(|| format!("cannot make the folder {}", folder.display()))?;
        }
        // Whole or not at all: a build that runs beside this one never sees half a file.
        let partial = path.with_added_extension("partial");
        fs::write(&partial, text).with_context(|| format!("cannot write {}", partial.display()))?;
        if let Err(error) = fs::rename(&partial, path) {
            let _left_behind = fs::remove_file(&partial);
            return Err(error).with_context(|| format!("cannot write {}", path.display()));
        }
        self.n_new += 1;
        Ok(())
    }
}
