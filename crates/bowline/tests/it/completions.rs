//! `bowline completions`, in the shell that every machine has.

use super::{bowline_in, scratch, stdout, write};
use std::process::Command;

/// What bash offers after these words, the last of which is being typed.
fn offered(script: &str, words: &[&str]) -> Vec<String> {
    let folder = scratch(&format!("completions {}", words.join(" ")));
    write(&folder, "bowline.bash", script);
    // As bash calls a completion: the words, the index of the last, and the command, the word and the one before it.
    let program = format!(
        "set -u; source ./bowline.bash; COMP_WORDS=({}); COMP_CWORD={}; COMPREPLY=(); _bowline bowline '{}' '{}'; \
         printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        words.join(" "),
        words.len() - 1,
        words[words.len() - 1],
        words[words.len() - 2],
    );
    let output = Command::new("bash")
        .args(["--noprofile", "--norc", "-c", &program])
        .current_dir(&folder)
        .output()
        .expect("bash runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && errors.is_empty(),
        "{words:?}: {errors}"
    );
    stdout(&output).lines().map(str::to_owned).collect()
}

#[test]
fn completions_in_bash_offer_the_verbs_and_options_that_begin_as_typed() {
    let folder = scratch("completions");
    let script = stdout(&bowline_in(&folder, &["completions", "bash"], b""));
    let cases: [(&[&str], &[&str]); 4] = [
        (&["bowline", "lo"], &["log", "logs"]),
        (&["bowline", "log", "rec"], &["record", "recover"]),
        (&["bowline", "station", "--tls-c"], &["--tls-cert"]),
        (&["bowline", "completions", "z"], &["zsh"]),
    ];
    for (words, expected) in cases {
        assert_eq!(offered(&script, words), expected, "{words:?}");
    }
}

#[test]
fn completions_of_an_unknown_shell_are_wrong_usage() {
    let output = bowline_in(&scratch("completions tcsh"), &["completions", "tcsh"], b"");
    assert_eq!(output.status.code(), Some(2));
}
