use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The `thermocline` binary: `THERMOCLINE_BIN` where that is set, else built
/// beside the test that runs, once per test run.
///
/// # Panics
/// When it cannot be built.
pub fn binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| match std::env::var_os("THERMOCLINE_BIN") {
        Some(binary) => PathBuf::from(binary),
        None => built(),
    })
}

fn built() -> PathBuf {
    let test = std::env::current_exe().expect("the test's own path");
    // TARGET/PROFILE/deps/TEST
    let profile = test.ancestors().nth(2).expect("a target folder");
    let target = profile.parent().expect("a target folder");
    once_per_run(profile, || build(target, profile.ends_with("release")));
    profile.join("thermocline")
}

/// Every test is a process of its own under nextest; the first one builds.
fn once_per_run(profile: &Path, build: impl FnOnce()) {
    let run = std::env::var("NEXTEST_RUN_ID").unwrap_or_default();
    let stamp = profile.join("thermocline-built-for-run");
    let lock = File::create(profile.join("thermocline-build.lock")).expect("a lock file");
    lock.lock().expect("the lock");
    let done = std::fs::read_to_string(&stamp).unwrap_or_default();
    if run.is_empty() || done != run {
        build();
        std::fs::write(stamp, run).expect("a stamp");
    }
}

fn build(target: &Path, release: bool) {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command
        .args(["build", "--quiet", "--locked", "--package", "thermocline"])
        .arg("--target-dir")
        .arg(target)
        .current_dir(env!("CARGO_MANIFEST_DIR"));
    if release {
        command.arg("--release");
    }
    let status = command.status().expect("cargo runs");
    assert!(status.success(), "the binary cannot be built");
}
