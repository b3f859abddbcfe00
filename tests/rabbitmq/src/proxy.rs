use std::io;
use std::sync::{Arc, Weak};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// The network between a client and a server on this machine.
pub struct Proxy {
    port: u16,
    weather: Arc<watch::Sender<Weather>>,
}

/// What the network does.
#[derive(Clone, Default)]
struct Weather {
    /// Nothing passes, and nobody is told.
    stalled: bool,
    /// The same of what the server says alone.
    deaf: bool,
    /// What a client says before it is deaf.
    cue: Option<Vec<u8>>,
    /// Rises with each cut; a connection of before is closed.
    cuts: u64,
}

impl Proxy {
    /// Passes on whatever connects to what listens on `port`.
    pub async fn before(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let weather = Arc::new(watch::Sender::new(Weather::default()));
        let proxy = Proxy {
            port: listener.local_addr().expect("an address").port(),
            weather,
        };
        tokio::spawn(accept(listener, port, Arc::downgrade(&proxy.weather)));
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

    /// Once a client has said `cue`, holds back whatever the server answers.
    pub fn deafen_after(&self, cue: &[u8]) {
        self.weather
            .send_modify(|weather| weather.cue = Some(cue.to_owned()));
    }

    /// Passes on again what the server answers.
    pub fn hear(&self) {
        self.weather.send_modify(|weather| weather.deaf = false);
    }
}

impl Weather {
    /// Whether `said` changes it.
    fn takes_cue(&mut self, said: &[u8]) -> bool {
        let heard = |cue: &mut Vec<u8>| said.windows(cue.len()).any(|it| it == cue);
        let taken = self.cue.take_if(heard).is_some();
        self.deaf |= taken;
        taken
    }
}

async fn accept(listener: TcpListener, port: u16, weather: Weak<watch::Sender<Weather>>) {
    let Some(mut over) = weather.upgrade().map(|it| it.subscribe()) else {
        return;
    };
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            // The proxy is gone.
            _ = over.wait_for(|_| false) => return,
        };
        if let Ok((client, _)) = accepted {
            tokio::spawn(relay(client, port, weather.clone(), over.clone()));
        }
    }
}

async fn relay(
    client: TcpStream,
    port: u16,
    cues: Weak<watch::Sender<Weather>>,
    mut weather: watch::Receiver<Weather>,
) {
    let cuts = weather.borrow().cuts;
    let Ok(server) = TcpStream::connect(("127.0.0.1", port)).await else {
        return;
    };
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let listened = |said: &[u8]| {
        if let Some(weather) = cues.upgrade() {
            weather.send_if_modified(|weather| weather.takes_cue(said));
        }
    };
    let held = |weather: &Weather| weather.stalled || weather.deaf;
    tokio::select! {
        _ = pass(from_client, to_server, weather.clone(), |it| it.stalled, listened) => {}
        _ = pass(from_server, to_client, weather.clone(), held, |_| {}) => {}
        _ = weather.wait_for(|weather| weather.cuts != cuts) => {}
    }
}

async fn pass(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut weather: watch::Receiver<Weather>,
    held: impl Fn(&Weather) -> bool,
    listened: impl Fn(&[u8]),
) -> io::Result<()> {
    let mut chunk = vec![0; 16 << 10];
    loop {
        let length = from.read(&mut chunk).await?;
        let _ = weather.wait_for(|weather| !held(weather)).await;
        if length == 0 {
            return Ok(());
        }
        listened(&chunk[..length]);
        to.write_all(&chunk[..length]).await?;
    }
}
