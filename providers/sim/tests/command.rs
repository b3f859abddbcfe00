//! The program, as somebody meets it who starts it by hand.

use std::process::{Command, Output};

fn run(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_thermocline-sim"));
    command.env_clear().args(args).output().expect("it runs")
}

#[test]
fn help_says_what_it_is() {
    let help = run(&["--help"]);
    assert!(help.status.success());
    let text = String::from_utf8(help.stdout).unwrap();
    assert!(text.contains("Thermocline starts it by itself"), "{text}");
}

#[test]
fn without_its_environment_it_says_so_in_one_sentence() {
    let ran = run(&[]);
    assert_eq!(ran.status.code(), Some(1));
    let text = String::from_utf8(ran.stderr).unwrap();
    assert!(
        text.starts_with("thermocline-sim: THERMOCLINE_SIM_STATE_FILE is not set"),
        "{text}"
    );
    assert_eq!(text.lines().count(), 1);
}
