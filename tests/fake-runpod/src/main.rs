//! The fake as a program, to try the adapter without an account.

use std::net::SocketAddr;

use clap::Parser;
use thermocline_clock::{Clock, ManualClock};
use thermocline_fake_runpod::{FakeRunpod, Settings};

/// A RunPod that costs nothing, on this machine alone.
#[derive(Debug, Parser)]
#[command(name = "thermocline-fake-runpod", version)]
struct Arguments {
    /// Where the control API listens
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9400")]
    listen: SocketAddr,
    /// The API key that it accepts
    #[arg(long, value_name = "KEY", default_value = "fake-key")]
    key: String,
    /// Time stands still but for POST /fake/advance/SECONDS
    #[arg(long)]
    still: bool,
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let arguments = Arguments::parse();
    let system = Clock::system();
    let time = ManualClock::starting_at(system.wall());
    let clock = if arguments.still {
        time.clock()
    } else {
        system
    };
    let fake =
        FakeRunpod::start(arguments.listen, &arguments.key, clock, Settings::default()).await?;
    if arguments.still {
        fake.let_calls_move(time);
    }
    println!("# put this into thermocline.toml, and the key into RUNPOD_API_KEY");
    println!("[providers.runpod]\nkind = \"runpod\"");
    println!(
        "api_url = \"{}\"\njob_url = \"{}\"",
        fake.urls.api, fake.urls.jobs
    );
    println!(
        "pod_url = \"{}\"\nendpoint_url = \"{}\"",
        fake.urls.pod, fake.urls.endpoint
    );
    println!(
        "# faults: curl -X PUT {}/fake/faults -d '{{\"rate_limited\":3}}' -H content-type:application/json",
        fake.urls.api
    );
    println!("# truth:  curl {}/fake/truth", fake.urls.api);
    tokio::signal::ctrl_c().await
}
