//! A daemon that is absent, silent, or comes back.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use futures_util::StreamExt;
use thermocline_clock::ManualClock;
use thermocline_docker::{DockerProvider, Limits};
use thermocline_policy::Tier;
use thermocline_provider::{OfferQuery, Provider, ProviderErrorKind};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::{JoinHandle, JoinSet};

use crate::support::{endpoint, key, on_docker, provider};

const LOCAL: OfferQuery = OfferQuery {
    tier: Tier::Local,
    vram_mib: 0,
    gpus: 0,
};

/// A socket that is the daemon's while it is open, and gone while it is not.
struct Gate {
    socket: PathBuf,
    open: Option<JoinHandle<()>>,
}

impl Gate {
    fn at(socket: PathBuf) -> Self {
        Gate { socket, open: None }
    }

    fn endpoint(&self) -> String {
        format!("unix://{}", self.socket.display())
    }

    fn open(&mut self) {
        let listener = UnixListener::bind(&self.socket).unwrap();
        let daemon = endpoint().replace("unix://", "");
        self.open = Some(tokio::spawn(pass(listener, daemon)));
    }

    /// As when the daemon stops: its connections break, its socket goes.
    async fn close(&mut self) {
        let open = self.open.take().unwrap();
        open.abort();
        let _ = open.await;
        std::fs::remove_file(&self.socket).unwrap();
    }
}

async fn pass(listener: UnixListener, daemon: String) {
    let mut connections = JoinSet::new();
    loop {
        let (mut client, _) = listener.accept().await.unwrap();
        let daemon = daemon.clone();
        connections.spawn(async move {
            let mut daemon = UnixStream::connect(daemon).await.unwrap();
            let _ = tokio::io::copy_bidirectional(&mut client, &mut daemon).await;
        });
    }
}

fn unavailable<T: std::fmt::Debug>(answer: Result<T, thermocline_provider::ProviderError>) {
    let error = answer.unwrap_err();
    assert_eq!(error.kind, ProviderErrorKind::Unavailable, "{error}");
    assert_eq!(error.detail, "the Docker daemon does not run");
}

#[tokio::test]
async fn a_daemon_that_stops_is_unavailable_until_it_is_back() {
    on_docker(async |ground| {
        let dir = tempfile::tempdir().unwrap();
        let mut gate = Gate::at(dir.path().join("docker.sock"));
        let provider = provider(&gate.endpoint(), Limits::default());
        let (key, request) = (key(), ground.request(&[]));
        unavailable(provider.create(&key, &request).await);
        assert!(!provider.offers(LOCAL).await.unwrap()[0].available);

        gate.open();
        let made = provider.create(&key, &request).await.unwrap();
        assert!(provider.offers(LOCAL).await.unwrap()[0].available);

        gate.close().await;
        unavailable(provider.get(&made.id).await);
        unavailable(provider.list(&ground.owner, None).await);
        unavailable(provider.delete(&made.id).await);
        unavailable(provider.create(&key, &request).await);

        gate.open();
        assert_eq!(provider.get(&made.id).await.unwrap(), Some(made));
    })
    .await;
}

#[tokio::test]
async fn a_watch_outlives_the_daemon_and_says_when_it_may_have_missed_something() {
    on_docker(async |ground| {
        let dir = tempfile::tempdir().unwrap();
        let mut gate = Gate::at(dir.path().join("docker.sock"));
        let manual = ManualClock::starting_at(SystemTime::UNIX_EPOCH);
        let provider =
            DockerProvider::connect(&gate.endpoint(), Limits::default(), manual.clock()).unwrap();
        let mut hints = provider.watch(&ground.owner);
        assert!(
            futures_util::poll!(hints.next()).is_pending(),
            "nobody is there"
        );

        gate.open();
        for _ in 0..2 {
            manual.advance(Duration::from_secs(30));
            hints.next().await.unwrap();
            gate.close().await;
            assert!(futures_util::poll!(hints.next()).is_pending());
            gate.open();
        }
    })
    .await;
}

/// No Docker is needed for this one.
#[tokio::test]
async fn a_daemon_that_never_answers_is_given_up_at_the_limit() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("docker.sock");
    let silent = UnixListener::bind(&socket).unwrap();
    let manual = ManualClock::starting_at(SystemTime::UNIX_EPOCH);
    let endpoint = format!("unix://{}", Path::new(&socket).display());
    let provider = DockerProvider::connect(&endpoint, Limits::default(), manual.clock()).unwrap();

    let look = tokio::spawn(async move { provider.get("some-container").await });
    let (_held, _) = silent.accept().await.unwrap();
    manual.advance(Duration::from_secs(9));
    assert!(!look.is_finished());
    manual.advance(Duration::from_secs(1));
    let error = look.await.unwrap().unwrap_err();
    assert_eq!(error.kind, ProviderErrorKind::Unavailable);
    assert!(
        error.detail.contains("did not answer within 10s"),
        "{error}"
    );
}
