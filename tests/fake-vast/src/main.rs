//! The fake as a program, to try the adapter without an account.

use std::net::SocketAddr;

use clap::Parser;
use thermocline_clock::Clock;
use thermocline_fake_vast::{FakeVast, Settings};

/// A Vast.ai that costs nothing, on this machine alone.
#[derive(Debug, Parser)]
#[command(name = "thermocline-fake-vast", version)]
struct Arguments {
    /// Where it listens
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9500")]
    listen: SocketAddr,
    /// The API key that it accepts
    #[arg(long, value_name = "KEY", default_value = "fake-key")]
    key: String,
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let Arguments { listen, key } = Arguments::parse();
    let fake = FakeVast::start(listen, &key, Clock::system(), Settings::default()).await?;
    println!("# put this into thermocline.toml, and the key into VAST_API_KEY");
    println!(
        "[providers.vast]\nkind = \"vast\"\nbase_url = \"{}\"",
        fake.url
    );
    println!(
        "# faults: curl -X PUT {}/fake/faults -d '{{\"taken_offers\":3}}' -H content-type:application/json",
        fake.url
    );
    println!("# truth:  curl {}/fake/truth", fake.url);
    tokio::signal::ctrl_c().await
}
