//! A row of the table of transports describes what its transport does.

use bowline_bus::{Capability, Scheme, Url, UrlOption};

/// What no transport has for an option.
const NO_OPTION: &str = "no-such-option";

/// Checks a row: its texts, its example, and that the options it documents are the options that its transport knows.
pub fn check_row(row: &'static Scheme) {
    let name = row.name;
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    assert!(
        !name.is_empty() && name.chars().all(is_plain),
        "expected lower-case letters and digits, found {name:?}"
    );
    for text in row.options.iter().map(|option| option.meaning) {
        check_line(name, text);
    }
    check_line(name, row.summary);
    assert!(
        row.checks.iter().all(|check| check.name.len() <= 14),
        "{name}: the names of the doctor's checks fit a column of 14 letters"
    );
    let example = Url::parse(row.example).unwrap();
    assert_eq!(example.scheme(), name, "the example is of the scheme");
    assert_eq!(
        (row.check)(&example),
        Ok(()),
        "{name}: the example is sound"
    );
    let examination = (row.examine)(row, &example);
    assert_eq!(examination.faults, [], "{name}: the example has no faults");
    let place = examination.place.expect("the example names a place");
    assert_eq!(
        place.group.is_some(),
        row.has(Capability::Multicast),
        "{name}: a transport has a group if and only if it uses multicast"
    );
    for option in row.options {
        check_option(row, option);
    }
    check_known_options(row);
}

fn check_line(name: &str, text: &str) {
    assert!(
        !text.is_empty() && !text.contains('\n'),
        "{name}: expected one line, found {text:?}"
    );
}

fn check_option(row: &Scheme, option: &UrlOption) {
    let UrlOption { name, sample, .. } = option;
    let url = with_option(row, name, sample);
    assert_eq!((row.check)(&url), Ok(()), "{url}: the sample is accepted");
}

/// A transport names the options that it knows when it finds another.
fn check_known_options(row: &Scheme) {
    let url = with_option(row, NO_OPTION, "1");
    let error = (row.check)(&url).expect_err("an option that is not known is refused");
    assert_eq!(error.unknown_option(), Some(NO_OPTION), "{error}");
    let mut documented: Vec<&str> = row.options.iter().map(|option| option.name).collect();
    assert!(
        documented.is_sorted(),
        "{}: options are sorted by name",
        row.name
    );
    if documented.is_empty() {
        documented.push("none");
    }
    let expected = format!("it has {}", documented.join(", "));
    assert!(
        error.what().ends_with(&expected),
        "expected {expected:?}, as the row documents; found {:?}",
        error.what()
    );
}

fn with_option(row: &Scheme, name: &str, value: &str) -> Url {
    let place = row.example.split('?').next().unwrap_or_default();
    Url::parse(&format!("{place}?{name}={value}")).unwrap()
}
