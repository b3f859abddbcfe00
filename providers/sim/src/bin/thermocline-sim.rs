//! The simulated cloud as a program of its own; started by `ensure_running`.

#[tokio::main]
async fn main() -> std::io::Result<()> {
    thermocline_sim::run_child().await
}
