use std::os::unix::fs::PermissionsExt;
use std::time::SystemTime;

use proptest::prelude::*;
use tempfile::TempDir;
use thermocline_clock::ManualClock;

use super::*;

/// A workstation with two GPUs.
const TWO: &str = "\
0, GPU-8f2f1f0e-6b0c-4f0e-9a63-0d6d1a4b8c11, NVIDIA GeForce RTX 4090, 24564, 23812, [N/A]
1, GPU-3b9f4a52-0c55-43f2-8f19-6a1f0f6f2d77, NVIDIA GeForce RTX 3060, 12288, 12041, [N/A]
";
/// A server: one GPU whole, one cut into slices, one lost.
const SERVER: &str = "\
0, GPU-0a4ed2a1-1f44-4d9c-8f4e-9b2d9d9f1c01, NVIDIA A100-SXM4-80GB, 81920, 81038, Disabled
1, GPU-0a4ed2a1-1f44-4d9c-8f4e-9b2d9d9f1c02, NVIDIA A100-SXM4-80GB, 81920, 81901, Enabled
2, GPU-0a4ed2a1-1f44-4d9c-8f4e-9b2d9d9f1c03, NVIDIA A100-SXM4-80GB, [GPU is lost], [GPU is lost], [GPU is lost]
";
/// Memory is shared with the CPU and not told apart.
const NO_FREE: &str = "0, GPU-5e1a, NVIDIA GB10, 122880, [N/A], [N/A]\n";

/// An `nvidia-smi` that runs `script`.
struct Installed {
    folder: TempDir,
    time: ManualClock,
}

impl Installed {
    fn with(script: &str) -> Self {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join(NAME);
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        let time = ManualClock::starting_at(SystemTime::UNIX_EPOCH);
        Installed { folder, time }
    }

    fn saying(text: &str, code: i32) -> Self {
        Installed::with(&format!("cat <<'END'\n{text}END\nexit {code}"))
    }

    fn probe(&self) -> SmiProbe {
        SmiProbe {
            program: self.folder.path().join(NAME).into(),
            clock: self.time.clock(),
        }
    }

    async fn read(&self) -> Result<Vec<Gpu>, ProbeError> {
        self.probe().read().await
    }
}

fn failure(said: Result<Vec<Gpu>, ProbeError>) -> String {
    said.unwrap_err().to_string()
}

#[tokio::test]
async fn every_gpu_is_told_of_with_what_is_taken() {
    let gpus = Installed::saying(TWO, 0).read().await.unwrap();
    assert_eq!(gpus.len(), 2);
    assert_eq!(
        gpus[1],
        Gpu {
            index: 1,
            uuid: Some("GPU-3b9f4a52-0c55-43f2-8f19-6a1f0f6f2d77".to_owned()),
            name: "NVIDIA GeForce RTX 3060".to_owned(),
            total: 12288 << 20,
            used: Some(247 << 20),
        }
    );
}

#[tokio::test]
async fn what_cannot_be_had_whole_is_left_out_and_the_rest_keep_their_numbers() {
    let gpus = Installed::saying(SERVER, 0).read().await.unwrap();
    let told: Vec<_> = gpus.iter().map(|gpu| gpu.index).collect();
    assert_eq!(told, [0]);
    let shared = Installed::saying(NO_FREE, 0).read().await.unwrap();
    assert_eq!((shared[0].total, shared[0].used), (120 << 30, None));
}

#[tokio::test]
async fn a_machine_without_gpus_has_none() {
    let none = Installed::saying("No devices were found\n", NO_DEVICE);
    assert_eq!(none.read().await, Ok(vec![]));
    let absent = SmiProbe {
        program: "/nowhere/nvidia-smi".into(),
        clock: Clock::system(),
    };
    assert_eq!(absent.read().await, Ok(vec![]));
}

#[tokio::test]
async fn a_driver_that_fails_is_told_in_its_words() {
    let said =
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\nMore.\n";
    assert_eq!(
        failure(Installed::saying(said, 9).read().await),
        "nvidia-smi failed: NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."
    );
    let garbage = Installed::saying("<html>\u{7}\n", 0).read().await;
    assert_eq!(failure(garbage), "nvidia-smi failed: not a GPU: <html>");
    let floods = Installed::with("yes").read().await;
    assert_eq!(failure(floods), "nvidia-smi failed: it says too much");
    let killed = Installed::with("kill -9 $$").read().await;
    assert_eq!(
        failure(killed),
        "nvidia-smi failed: it ended with signal: 9 (SIGKILL)"
    );
}

#[tokio::test]
async fn one_that_hangs_is_ended_in_time() {
    let hangs = Installed::with("exec sleep 600");
    let probe = hangs.probe();
    let (read, ()) = tokio::join!(probe.read(), async {
        hangs.time.advance(READ_WITHIN);
    });
    assert_eq!(read, Err(ProbeError::Silent(NAME)));
}

proptest! {
    /// Whatever it writes is read without a panic, and never as more than was written.
    #[test]
    fn anything_may_be_written(text in "[ -~\n,]{0,200}", total in any::<u64>(), free in any::<u64>()) {
        let line = format!("0, GPU-1, X, {total}, {free}, [N/A]\n");
        for text in [text, line] {
            if let Ok(gpus) = rows::gpus(&text) {
                prop_assert!(gpus.len() <= text.lines().count());
                prop_assert!(gpus.iter().all(|g| g.used.is_none_or(|used| used <= g.total)));
            }
        }
    }
}
