use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// The network between a client and a server on this machine.
pub struct Proxy {
    port: u16,
    weather: watch::Sender<Weather>,
}

/// What the network does.
#[derive(Clone, Copy, Default)]
struct Weather {
    /// Nothing passes, and nobody is told.
    stalled: bool,
    /// Rises with each cut; a connection of before is closed.
    cuts: u64,
}

impl Proxy {
    /// Passes on whatever connects to what listens on `port`.
    pub async fn before(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let weather = watch::Sender::new(Weather::default());
        let proxy = Proxy {
            port: listener.local_addr().expect("an address").port(),
            weather,
        };
        tokio::spawn(accept(listener, port, proxy.weather.subscribe()));
        proxy
    }

    /// The server's address through it, with credentials.
    pub fn url(&self) -> String {
        crate::server::url(self.port)
    }

    /// Closes every connection that there is.
    pub fn cut(&self) {
        self.weather.send_modify(|weather| weather.cuts += 1);
    }

    /// Holds back whatever is sent, until it is told otherwise. Connections
    /// are accepted and stay open.
    pub fn stall(&self, stalled: bool) {
        self.weather
            .send_modify(|weather| weather.stalled = stalled);
    }
}

async fn accept(listener: TcpListener, port: u16, mut weather: watch::Receiver<Weather>) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            // The proxy is gone.
            _ = weather.wait_for(|_| false) => return,
        };
        if let Ok((client, _)) = accepted {
            tokio::spawn(relay(client, port, weather.clone()));
        }
    }
}

async fn relay(client: TcpStream, port: u16, mut weather: watch::Receiver<Weather>) {
    let cuts = weather.borrow().cuts;
    let Ok(server) = TcpStream::connect(("127.0.0.1", port)).await else {
        return;
    };
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    tokio::select! {
        _ = pass(from_client, to_server, weather.clone()) => {}
        _ = pass(from_server, to_client, weather.clone()) => {}
        _ = weather.wait_for(|weather| weather.cuts != cuts) => {}
    }
}

async fn pass(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut weather: watch::Receiver<Weather>,
) -> io::Result<()> {
    let mut chunk = vec![0; 16 << 10];
    loop {
        let length = from.read(&mut chunk).await?;
        let _ = weather.wait_for(|weather| !weather.stalled).await;
        if length == 0 {
            return Ok(());
        }
        to.write_all(&chunk[..length]).await?;
    }
}
