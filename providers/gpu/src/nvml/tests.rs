use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::SystemTime;

use thermocline_clock::ManualClock;

use super::*;

const GIB: u64 = 1 << 30;

fn seen(uuid: &str, total: u64) -> Seen {
    Seen {
        uuid: uuid.to_owned(),
        name: "NVIDIA A100".to_owned(),
        total,
        used: GIB,
    }
}

/// Three GPUs: one whole, one lost, one in two slices.
struct Three;

impl Library for Three {
    fn count(&self) -> Result<u32, String> {
        Ok(3)
    }

    fn gpus(&self, index: u32) -> Result<Vec<Seen>, String> {
        match index {
            0 => Ok(vec![seen("GPU-0", 80 * GIB)]),
            1 => Err("the GPU has fallen off the bus".to_owned()),
            _ => Ok(vec![seen("MIG-a", 40 * GIB), seen("MIG-b", 20 * GIB)]),
        }
    }
}

/// Answers never.
struct Hangs;

impl Library for Hangs {
    fn count(&self) -> Result<u32, String> {
        while !LET_GO.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
        Ok(0)
    }

    fn gpus(&self, _: u32) -> Result<Vec<Seen>, String> {
        Ok(Vec::new())
    }
}

static LET_GO: AtomicBool = AtomicBool::new(false);

/// Cannot be read.
struct Broken;

impl Library for Broken {
    fn count(&self) -> Result<u32, String> {
        Err("uninitialized".to_owned())
    }

    fn gpus(&self, _: u32) -> Result<Vec<Seen>, String> {
        Ok(Vec::new())
    }
}

async fn read(open: Open) -> Result<Vec<Gpu>, ProbeError> {
    NvmlProbe::over(open, Clock::system()).read().await
}

#[tokio::test]
async fn a_broken_gpu_keeps_its_number_and_slices_count_as_gpus() {
    let gpus = read(|| Ok(Some(Box::new(Three)))).await.unwrap();
    let told: Vec<_> = gpus.iter().map(|g| (g.index, g.uuid.as_deref())).collect();
    let all = [(0, Some("GPU-0")), (2, Some("MIG-a")), (3, Some("MIG-b"))];
    assert_eq!(told, all);
    assert_eq!((gpus[0].total, gpus[0].used), (80 * GIB, Some(GIB)));
}

#[tokio::test]
async fn a_machine_without_the_library_has_no_gpus() {
    assert_eq!(read(|| Ok(None)).await, Ok(vec![]));
    let wrong_version = read(|| Err("the driver is of another version".to_owned())).await;
    assert_eq!(
        wrong_version.unwrap_err().to_string(),
        "NVML failed: the driver is of another version"
    );
}

#[tokio::test]
async fn a_library_that_failed_is_loaded_anew() {
    static LOADED: AtomicU32 = AtomicU32::new(0);
    let probe = NvmlProbe::over(
        || match LOADED.fetch_add(1, Ordering::AcqRel) {
            0 => Ok(Some(Box::new(Broken))),
            _ => Ok(Some(Box::new(Three))),
        },
        Clock::system(),
    );
    assert!(probe.read().await.is_err());
    assert_eq!(probe.read().await.unwrap().len(), 3);
    assert_eq!(probe.read().await.unwrap().len(), 3);
    assert_eq!(LOADED.load(Ordering::Acquire), 2);
}

#[tokio::test]
async fn a_driver_that_hangs_is_asked_by_one_thread_alone() {
    let time = ManualClock::starting_at(SystemTime::UNIX_EPOCH);
    let probe = NvmlProbe::over(|| Ok(Some(Box::new(Hangs))), time.clock());
    let silent = Err(ProbeError::Silent("NVML"));
    let (first, ()) = tokio::join!(probe.read(), async {
        time.advance(READ_WITHIN);
    });
    assert_eq!(first, silent);
    assert_eq!(
        probe.read().await,
        silent,
        "at once, on a clock that stands"
    );
    LET_GO.store(true, Ordering::Release);
}
