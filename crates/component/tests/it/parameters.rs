//! Parameters: defaults, types, limits, words.

use bowline_component::{Change, Parameters as _, Setting};
use std::time::Duration;

bowline_component::parameters! {
    /// One of each.
    struct All {
        /// A number.
        number: f64 = 2.5, within -10.0..=10.0 => live;
        /// A count.
        count: i64 = 3, within 1..=5;
        /// A switch.
        switch: bool = true;
        /// A word.
        word: String = "left".into(), within ["left", "right"];
        /// A while.
        patience: Duration = Duration::from_millis(250), within Duration::ZERO..=Duration::from_secs(5);
        /// Numbers.
        gains: Vec<f64> = vec![1.0, 2.0];
        /// Words.
        names: Vec<String> = vec![];
    }
}

#[test]
fn what_is_wrong_with_a_value_is_said() {
    let cases = [
        (
            "number",
            "11",
            "parameter \"number\" must be -10.0 to 10.0, found 11",
        ),
        (
            "number",
            "\"a\"",
            "parameter \"number\" is a number, found the text \"a\"",
        ),
        (
            "number",
            "nan",
            "parameter \"number\" must be -10.0 to 10.0, found nan",
        ),
        (
            "count",
            "1.5",
            "parameter \"count\" is a whole number, found the number 1.5",
        ),
        ("count", "9", "parameter \"count\" must be 1 to 5, found 9"),
        (
            "switch",
            "1",
            "parameter \"switch\" is a boolean, found the whole number 1",
        ),
        (
            "word",
            "up",
            "parameter \"word\" must be one of \"left\", \"right\", found \"up\"",
        ),
        (
            "patience",
            "6s",
            "parameter \"patience\" must be \"0s\" to \"5s\", found \"6s\"",
        ),
        (
            "patience",
            "soon",
            "parameter \"patience\" is a duration such as \"700ms\" or \"3s\", found the text \"soon\"",
        ),
        (
            "gains",
            "[1, \"x\"]",
            "parameter \"gains\" is a list of numbers, found the list [1, \"x\"]",
        ),
        (
            "numbr",
            "1",
            "there is no parameter \"numbr\": did you mean \"number\"?",
        ),
        ("zebra", "1", "there is no parameter \"zebra\""),
    ];
    for (name, text, expected) in cases {
        let mut all = All::default();
        let error = all.set(name, &Setting::parse(text).unwrap()).unwrap_err();
        assert_eq!(error.to_string(), expected, "{name} = {text}");
        assert_eq!(
            format!("{all:?}"),
            format!("{:?}", All::default()),
            "nothing has changed"
        );
    }
}

#[test]
fn what_is_set_is_read_back_as_it_would_be_written() {
    let cases = [
        ("number", "-3", "-3.0"),
        ("count", "4", "4"),
        ("switch", "false", "false"),
        ("word", "right", "\"right\""),
        ("patience", "1500ms", "\"1500ms\""),
        ("patience", "2s", "\"2s\""),
        ("gains", "[1, 2.5]", "[1.0, 2.5]"),
        ("names", "[\"a\", \"b\"]", "[\"a\", \"b\"]"),
    ];
    for (name, text, expected) in cases {
        let mut all = All::default();
        all.set(name, &Setting::parse(text).unwrap()).unwrap();
        let read = all.get(name).unwrap();
        assert_eq!(read.to_string(), expected);
        all.set(name, &Setting::parse(&read.to_string()).unwrap())
            .unwrap();
        assert_eq!(all.get(name).unwrap(), read);
    }
}

#[test]
fn the_table_documents_everything() {
    let all = All::default();
    assert!(!all.table().is_empty());
    for parameter in all.table() {
        assert!(!parameter.doc.trim().is_empty());
        assert_eq!((parameter.default)(), all.get(parameter.name).unwrap());
    }
    let live: Vec<&str> = all
        .table()
        .iter()
        .filter(|parameter| parameter.change == Change::Live)
        .map(|parameter| parameter.name)
        .collect();
    assert_eq!(live, ["number"]);
    let number = &all.table()[0];
    assert_eq!(number.limits.unwrap()(), "-10.0 to 10.0");
}

#[test]
fn text_that_is_no_value_is_refused_with_examples() {
    for text in ["", "[1", "\"open", "{ a = 1 }", "1979-05-27"] {
        let error = Setting::parse(text).unwrap_err();
        assert!(error.to_string().contains("such as 0.4"), "{error}");
    }
}
