use std::path::Path;
use std::sync::OnceLock;

use tempfile::TempDir;
use thermocline_store::Store;

/// The store's file.
pub(super) const STORE: &str = "store.db";

/// A folder with a new store; in memory where the machine has such a place: a
/// crash of a process loses nothing there either.
pub(super) fn folder() -> TempDir {
    let folder = empty_folder();
    std::fs::write(folder.path().join(STORE), new_store()).unwrap();
    folder
}

fn empty_folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    match memory.is_dir() {
        true => TempDir::new_in(memory).unwrap(),
        false => TempDir::new().unwrap(),
    }
}

/// The bytes of a store that nothing was written to yet, made once.
fn new_store() -> &'static [u8] {
    static BYTES: OnceLock<Vec<u8>> = OnceLock::new();
    BYTES.get_or_init(|| {
        let folder = empty_folder();
        let file = folder.path().join(STORE);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let store = Store::open(&format!("sqlite://{}", file.display()))
                .await
                .unwrap();
            store.close().await;
        });
        std::fs::read(file).unwrap()
    })
}
