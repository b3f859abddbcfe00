//! Tells cargo when the console has been built anew. `make web` builds it;
//! without it the binary shows a page that says so.

use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // A path that is not there would make every build a new one.
    let files = "../../web/dist";
    if Path::new(files).is_dir() {
        println!("cargo::rerun-if-changed={files}");
    }
}
