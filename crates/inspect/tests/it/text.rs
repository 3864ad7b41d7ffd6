//! Numbers and text as people read them.

use bowline_inspect::text::{
    DOUBLE_DIGITS, FLOAT_DIGITS, bandwidth, duration, four_letters, printable, quoted, rate, short,
    size, steady, time_of_field,
};

#[test]
fn numbers_that_change_keep_their_width() {
    #[rustfmt::skip]
    let cases = [
        (0.0, " 0.000000"), (-0.0, "-0.000000"), (1.5, " 1.500000"), (-1.5, "-1.500000"), (9.999_999_9, " 10.00000"),
        (123.456_789, " 123.4568"), (999_999.4, " 999999.4"), (1e7, " 1.0000e7"), (1e12, " 1.000e12"), (-2e-4, "-2.000e-4"),
        (0.001, " 0.001000"), (1e-300, " 1.0e-300"), (3.402_823_4e38, " 3.403e38"), (f64::MIN_POSITIVE, " 2.2e-308"),
    ];
    for (value, expected) in cases {
        assert_eq!(steady(value, FLOAT_DIGITS), expected);
        assert_eq!(expected.len(), FLOAT_DIGITS + 2, "{value}");
        let double = steady(value, DOUBLE_DIGITS);
        assert_eq!(double.len(), DOUBLE_DIGITS + 2, "{value}: {double:?}");
    }
    assert_eq!(steady(f64::NAN, FLOAT_DIGITS), " NaN");
    assert_eq!(steady(f64::NEG_INFINITY, FLOAT_DIGITS), "-inf");
}

#[test]
fn single_numbers_have_the_fewest_exact_digits() {
    #[rustfmt::skip]
    let cases = [
        (0.5, "0.5"), (1.0, "1"), (-std::f64::consts::PI, "-3.14159"), (1.5e9, "1.5e9"), (123_456_789.0, "123456789"),
        (1e-5, "1e-5"), (0.000_1, "0.0001"), (-0.0, "-0"), (f64::NAN, "NaN"), (f64::INFINITY, "inf"), (1e300, "1e300"),
    ];
    for (value, expected) in cases {
        assert_eq!(short(value), expected);
    }
}

#[test]
fn a_moment_is_a_date_where_the_field_is_called_so() {
    let date = "2025-11-16 05:10:56.250000Z";
    for (name, value, expected) in [
        ("utime", 1_763_269_856_250_000, Some(date)),
        ("log_first_utime", 1_763_269_856_250_000, Some(date)),
        ("timestamp", 1_763_269_856_250, Some(date)),
        ("timestamp", 1_763_269_856_250_000_000, Some(date)),
        ("utime", 7, None),
        ("utime", i64::MIN, None),
        ("serial", 1_763_269_856_250_000, None),
    ] {
        assert_eq!(time_of_field(name, value).as_deref(), expected, "{name}");
    }
}

#[test]
fn sizes_rates_and_durations_are_for_people() {
    for (bytes, text) in [
        (999, "999 B"),
        (1_000, "1.0 kB"),
        (212_992, "212 kB"),
        (4 << 20, "4.1 MB"),
        (8 << 30, "8.5 GB"),
    ] {
        assert_eq!(size(bytes), text);
    }
    assert_eq!(bandwidth(1_250_000.0), "1.2 MB/s");
    for (hz, text) in [
        (0.5, "0.50 Hz"),
        (9.999, "10.0 Hz"),
        (49.8, "49.8 Hz"),
        (100.0, "100 Hz"),
        (1_200.0, "1.20 kHz"),
    ] {
        assert_eq!(rate(hz), text);
    }
    for (ns, text) in [
        (999, "999 ns"),
        (3_400_000, "3.40 ms"),
        (5_000_000_000, "5.00 s"),
        (125_000_000_000, "2 min 5 s"),
        (12_000_000_000_000, "3 h 20 min"),
    ] {
        assert_eq!(duration(ns), text);
    }
}

#[test]
fn nothing_that_a_terminal_obeys_is_shown() {
    assert_eq!(printable("\x1b[31mred\n\u{202e}x"), "?[31mred??x");
    #[rustfmt::skip]
    let cases: [(&[u8], &str); 7] = [
        (b"", r#""""#),
        ("d\u{e9}j\u{e0} \u{6f22}".as_bytes(), "\"d\u{e9}j\u{e0} \u{6f22}\""),
        (b"a\"b\\c", r#""a\"b\\c""#),
        (b"\x1b]0;x\x07\n", r#""\x1b]0;x\x07\n""#),
        (b"caf\xe9", r#""caf\xe9""#),
        ("\u{202e}\u{9b}".as_bytes(), r#""\u{202e}\u{9b}""#),
        (b"12345678901", r#""1234567890"..."#),
    ];
    for (bytes, expected) in cases {
        assert_eq!(quoted(bytes, 10), expected);
    }
}

#[test]
fn four_letters_are_read_out_of_a_number_that_has_them() {
    assert_eq!(four_letters(0x5945_5247).as_deref(), Some("GREY"));
    assert_eq!(four_letters(0x2036_3159).as_deref(), Some("Y16"));
    for other in [0, 1, -1, 0x1b5b_3031, i64::MAX] {
        assert_eq!(four_letters(other), None);
    }
}
