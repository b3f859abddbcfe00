use std::net::TcpListener;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

/// Below what Linux gives to outgoing connections: one of those would keep a
/// server that was killed from coming back.
const FIRST: u16 = 10_000;
const BEHIND_LAST: u16 = 32_000;

/// The ports of one server.
pub(crate) struct Ports {
    pub(crate) amqp: u16,
    pub(crate) distribution: u16,
    pub(crate) epmd: u16,
}

impl Ports {
    /// Three that nobody has now, elsewhere for each process.
    pub(crate) fn free() -> Self {
        static NEXT: AtomicU16 = AtomicU16::new(0);
        let step = |_| {
            let step = u32::from(NEXT.fetch_add(1, Ordering::Relaxed));
            let span = u32::from(BEHIND_LAST - FIRST);
            FIRST + ((std::process::id() * 13 + step) % span) as u16
        };
        let mut free = (0..BEHIND_LAST - FIRST).map(step).filter(|it| is_free(*it));
        let mut port = || free.next().expect("a free port");
        Ports {
            amqp: port(),
            distribution: port(),
            epmd: port(),
        }
    }

    /// Waits for the end of a server that was killed: it goes on while the
    /// kernel writes for it.
    pub(crate) async fn wait_until_free(&self) {
        while !is_free(self.amqp) || !is_free(self.distribution) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

fn is_free(port: u16) -> bool {
    TcpListener::bind(("127.0.0.1", port)).is_ok()
}
