//! A process that takes its time after a SIGTERM.
//!
//! Our containers run under Docker's init, so this is not process 1 and a
//! SIGTERM ends it unless it says otherwise. `std` has no word for that; the C
//! library that it is linked with has.

use std::process::exit;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

const SIGTERM: i32 = 15;
const LOOK_EVERY: Duration = Duration::from_millis(20);

static TOLD: AtomicBool = AtomicBool::new(false);

unsafe extern "C" {
    fn signal(number: i32, handler: extern "C" fn(i32)) -> usize;
}

extern "C" fn note(_number: i32) {
    TOLD.store(true, Ordering::Relaxed);
}

/// From now on a SIGTERM ends the process only `patience` later.
pub fn outlive(patience: Duration) {
    // SAFETY: the handler does nothing but store to an atomic.
    unsafe { signal(SIGTERM, note) };
    thread::spawn(move || {
        while !TOLD.load(Ordering::Relaxed) {
            thread::sleep(LOOK_EVERY);
        }
        thread::sleep(patience);
        exit(0)
    });
}
