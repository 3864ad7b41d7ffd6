//! An `App` with transports, links and languages of its own, as another crate has them.

use crate::{mailbox, scratch, write};
use bowline::App;
use bowline::bus::{Bus, Scheme};
use bowline::lang::emit::code::Code;
use bowline::lang::emit::walk::{Site, Walker, walk};
use bowline::lang::emit::{EmitError, Job, Language, OutputFile, Setting, SettingKind};
use bowline::link::schedule::{Candidate, Choice, Scheduler, View};
use bowline::link::{carrier, schedule};
use bowline::msgs::Bookmark;
use bowline::wire::Message as _;
use bowline::wire::schema::{Type, TypeKind};
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

/// The exit code of a command line; `@file` is a file of the folder.
fn run(app: &App, folder: &Path, words: &str) -> ExitCode {
    let in_folder = |word: &str| match word.split_once('@') {
        Some((before, file)) => format!("{before}{}", folder.join(file).display()).into(),
        None => OsString::from(word),
    };
    let program = [OsString::from("extended")];
    app.run(program.into_iter().chain(words.split(' ').map(in_folder)))
}

/// The manual page of a verb, as the program writes it.
fn page(app: &App, folder: &Path, verb: &str) -> String {
    assert_eq!(run(app, folder, "man @pages"), ExitCode::SUCCESS);
    let path = folder.join(format!("pages/extended-{verb}.1"));
    std::fs::read_to_string(path).expect("the page was written")
}

#[test]
fn foreign_transport_is_known_to_every_verb_of_the_program() {
    let folder = scratch("extensions-transport");
    let app = App::new().name("extended").transports(&[&mailbox::SCHEME]);
    let robot = |scheme: &str| {
        let text = format!(
            "[robot]\nname = \"r\"\nbus = \"{scheme}://home\"\n[component.clock]\nkind = \"heartbeat\"\n"
        );
        write(&folder, &format!("{scheme}.toml"), &text)
    };
    let file = robot("mailbox");
    assert!(app.load(&file).is_ok());
    robot("pigeon");
    let check = |file: &str| run(&app, &folder, &format!("run @{file} --check"));
    assert_eq!(check("mailbox.toml"), ExitCode::SUCCESS);
    assert_eq!(check("pigeon.toml"), ExitCode::from(1));

    let url = format!("mailbox://extensions-{}", std::process::id());
    let bus = Bus::open(&url).expect("the process has it");
    let inbox = bus.events("mark").expect("an inbox");
    let message = r#"{"utime":7,"text":"here"}"#;
    let publish = format!("pub -l {url} mark bowline.bookmark_t {message}");
    assert_eq!(run(&app, &folder, &publish), ExitCode::SUCCESS);
    let event = inbox.recv_timeout(bowline_testing::patience::PATIENCE);
    let (_, event) = event.expect("the bus works").expect("it arrives");
    let mark = Bookmark::decode(&event.payload).expect("a bookmark");
    assert_eq!((mark.utime, mark.text.as_str()), (7, "here"));

    // Another program cannot have others in the same process.
    let other = App::new().transports(&[&OTHER]);
    assert_eq!(
        run(&other, &folder, "doctor --transports"),
        ExitCode::from(1)
    );
}

static OTHER: Scheme = Scheme {
    name: "other",
    ..MAILBOX_ROW
};

/// A row whose name Bowline has.
static MEMQ: Scheme = Scheme {
    name: "memq",
    ..MAILBOX_ROW
};

const MAILBOX_ROW: Scheme = Scheme {
    name: "",
    summary: "through mailboxes again",
    example: "other://NAME",
    options: &[],
    capabilities: &[],
    check: |_| Ok(()),
    open: |url| bowline::bus::transport::memq::SCHEME.open(url),
    examine: bowline::bus::diagnosis::examine_by_check,
    checks: &[],
};

#[test]
fn foreign_row_under_a_name_that_bowline_has_is_an_error() {
    let apps = [
        ("transport", App::new().transports(&[&MEMQ])),
        ("language", App::new().languages(&[FIELDS, FIELDS])),
        (
            "flag of gen",
            App::new().languages(&[Language {
                settings: &[Setting {
                    name: "c-cpath",
                    kind: SettingKind::Switch,
                    help: "another folder",
                }],
                ..FIELDS
            }]),
        ),
        ("scheduler of links", App::new().schedulers(&[FIRST, FIRST])),
        ("carrier of links", App::new().carriers(&[TUNNEL, TUNNEL])),
    ];
    for (noun, app) in apps {
        let error = app.check().expect_err(noun).to_string();
        assert!(
            error.starts_with(&format!("expected one {noun} ")),
            "{error}"
        );
    }
}

/// A scheduler of another crate.
#[derive(Debug)]
struct First;

impl Scheduler for First {
    fn pick(&mut self, _: &[Candidate], _: View) -> Choice {
        Choice::Send(0)
    }

    fn is_paced(&self) -> bool {
        false
    }
}

const FIRST: schedule::Row = schedule::Row {
    name: "first",
    about: "the first stream of the file that has anything",
    make: || Box::new(First),
};

const TUNNEL: carrier::Row = carrier::Row {
    name: "tunnel",
    about: "datagrams in a tunnel",
    is_secure: false,
    open: |opening| carrier::find("udp").expect("it is there").open(opening),
};

#[test]
fn foreign_scheduler_and_carrier_are_in_link_files_and_in_help() {
    let folder = scratch("extensions-link");
    let file = "[link]\nname = \"here\"\nscheduler = \"first\"\n[peer]\nname = \"there\"\n\
                [[path]]\ncarrier = \"tunnel\"\nlisten = \"127.0.0.1:0\"\n[send.\"pose\"]\n";
    write(&folder, "link.toml", file);
    let app = App::new()
        .name("extended")
        .schedulers(&[FIRST])
        .carriers(&[TUNNEL]);
    let check = "link @link.toml --check";
    assert_eq!(run(&app, &folder, check), ExitCode::SUCCESS);
    assert_eq!(run(&App::new(), &folder, check), ExitCode::from(1));
    let page = page(&app, &folder, "link");
    assert!(
        page.contains(FIRST.about) && page.contains(TUNNEL.about),
        "{page}"
    );
}

/// A language of another crate: a line for each member of each struct.
const FIELDS: Language = Language {
    name: "fields",
    short: Some('c'),
    summary: "the members of each type, a line each",
    dirs: &["fields-path"],
    settings: &[Setting {
        name: "fields-path",
        kind: SettingKind::Text("."),
        help: "where fields.txt goes",
    }],
    emit: emit_fields,
};

fn emit_fields(job: &Job<'_>) -> Result<Vec<OutputFile>, EmitError> {
    job.expect_all_defined()?;
    let mut code = Code::new();
    for (_, def) in job.defined() {
        code.open(def.full_name());
        if let TypeKind::Struct(body) = &def.kind {
            walk(job.types, body, &mut Lines(&mut code));
        }
        code.close_silently();
    }
    let path = job.path("fields-path", "fields.txt");
    let text = code.finish();
    Ok(vec![OutputFile { path, text }])
}

struct Lines<'c>(&'c mut Code);

impl Walker for Lines<'_> {
    fn takes_rows(&self, _: Type) -> bool {
        false
    }

    fn enter(&mut self, site: &Site<'_>) {
        let (name, index) = (&site.member.name, site.index());
        self.0.open(format!("each {index} of {name}"));
    }

    fn item(&mut self, site: &Site<'_>) {
        self.0.line(&site.member.name);
    }

    fn leave(&mut self, _: &Site<'_>) {
        self.0.close_silently();
    }
}

#[test]
fn foreign_language_has_its_flags_on_gen_and_prints_types() {
    let folder = scratch("extensions-language");
    write(
        &folder,
        "pose.lcm",
        "package sea; struct pose_t { double depth_m; double matrix[3][4]; }",
    );
    let app = App::new().name("extended").languages(&[FIELDS]);
    let emit = "gen --fields @out @pose.lcm";
    assert_eq!(run(&app, &folder, emit), ExitCode::SUCCESS);
    let text = std::fs::read_to_string(folder.join("out/fields.txt")).expect("it was written");
    let expected = "sea.pose_t\n    depth_m\n    each a of matrix\n        each b of matrix\n            matrix\n";
    assert_eq!(text, expected);
    // The one-letter flag stays that of C.
    assert_eq!(
        run(&app, &folder, "gen -c --c-cpath @c --c-hpath @c @pose.lcm"),
        ExitCode::SUCCESS
    );
    assert!(folder.join("c/sea_pose_t.c").exists());
    let page = page(&app, &folder, "gen");
    assert!(page.contains("where fields.txt goes"), "{page}");
}
