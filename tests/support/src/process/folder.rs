use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A temporary folder; the simulated clouds that were started in it end with it.
#[derive(Debug)]
pub(super) struct Folder(TempDir);

impl Folder {
    pub(super) fn new() -> Self {
        Folder(TempDir::new().expect("a temporary folder"))
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Where the simulated cloud `name` can be found.
    pub(super) fn cloud(&self, name: &str) -> PathBuf {
        self.path(&format!("thermocline-sim-{name}.json"))
    }

    fn clouds(&self) -> Vec<PathBuf> {
        let files = std::fs::read_dir(self.0.path()).into_iter().flatten();
        let paths = files.flatten().map(|file| file.path());
        paths.filter(|path| is_cloud(path)).collect()
    }
}

fn is_cloud(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.starts_with("thermocline-sim-") && name.ends_with(".json"))
}

impl Drop for Folder {
    fn drop(&mut self) {
        let clouds = self.clouds();
        if clouds.is_empty() {
            return;
        }
        // A drop may happen within a runtime, which must not be blocked on itself.
        let stopping = std::thread::spawn(move || stop(&clouds));
        let _a_test_may_be_panicking = stopping.join();
    }
}

fn stop(clouds: &[PathBuf]) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let Ok(runtime) = runtime else { return };
    for cloud in clouds {
        let _gone_already = runtime.block_on(thermocline_sim::stop(cloud));
    }
}
