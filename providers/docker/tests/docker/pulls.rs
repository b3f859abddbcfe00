//! An image that takes longer to come than a create may take. No registry is
//! within a test's reach, so the daemon is one of our own here.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use serde_json::json;
use thermocline_clock::ManualClock;
use thermocline_docker::{DockerProvider, Limits};
use thermocline_provider::{InstanceRequest, Provider, ProviderErrorKind, ProviderState};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;

const FOUND: &str = r#"{"Id":"77d83b64492d","State":{"Status":"running"},
  "Config":{"Labels":{"thermocline.owner":"home","thermocline.instance":"KEY"}},
  "NetworkSettings":{"Ports":{"80/tcp":[{"HostIp":"127.0.0.1","HostPort":"49153"}]}}}"#;

/// A daemon whose one image comes when `image` turns true.
struct Daemon {
    image: watch::Sender<bool>,
    pulls: AtomicUsize,
}

impl Daemon {
    async fn listen(self: Arc<Self>, listener: UnixListener) {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let daemon = Arc::clone(&self);
            tokio::spawn(async move { daemon.serve(stream).await });
        }
    }

    async fn serve(&self, stream: UnixStream) {
        let mut stream = BufReader::new(stream);
        let path = read_request(&mut stream).await;
        let (status, body) = self.answer(&path).await;
        let answer = format!(
            "HTTP/1.1 {status} x\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        );
        let _ = stream.write_all(answer.as_bytes()).await;
    }

    async fn answer(&self, path: &str) -> (u16, &'static str) {
        let image = *self.image.borrow();
        match path {
            "/version" => (200, r#"{"ApiVersion":"1.41"}"#),
            "/containers/create" if image => (201, r#"{"Id":"77d83b64492d","Warnings":[]}"#),
            "/containers/create" => (404, r#"{"message":"No such image: big:1"}"#),
            "/images/create" => {
                self.pulls.fetch_add(1, Ordering::Relaxed);
                self.image.subscribe().wait_for(|here| *here).await.unwrap();
                (200, "{\"status\":\"Pull complete\"}\n")
            }
            "/containers/77d83b64492d/start" => (204, ""),
            "/containers/77d83b64492d/json" => (200, FOUND),
            other => panic!("nobody was to ask for {other}"),
        }
    }
}

/// Reads a request whole and returns its path without version and query.
async fn read_request(stream: &mut BufReader<UnixStream>) -> String {
    let (mut start, mut length) = (String::new(), 0);
    stream.read_line(&mut start).await.unwrap();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.unwrap();
        match line.trim().to_lowercase().split_once(": ") {
            Some(("content-length", value)) => length = value.parse().unwrap(),
            Some(_) => {}
            None => break,
        }
    }
    stream.read_exact(&mut vec![0; length]).await.unwrap();
    let path = start.split([' ', '?']).nth(1).unwrap();
    path.strip_prefix("/v1.41").unwrap_or(path).to_owned()
}

fn request() -> InstanceRequest {
    let request = json!({
        "owner": "home", "deployment": "big", "tier": "local", "image": "big:1", "port": 80,
        "ready_path": "/",
    });
    serde_json::from_value(request).unwrap()
}

#[tokio::test]
async fn a_pull_goes_on_after_its_create_and_the_next_one_joins_it() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("docker.sock");
    let daemon = Arc::new(Daemon {
        image: watch::Sender::new(false),
        pulls: AtomicUsize::new(0),
    });
    tokio::spawn(Arc::clone(&daemon).listen(UnixListener::bind(&socket).unwrap()));
    let manual = ManualClock::starting_at(SystemTime::UNIX_EPOCH);
    let endpoint = format!("unix://{}", socket.display());
    let provider = DockerProvider::connect(&endpoint, Limits::default(), manual.clock()).unwrap();
    let create = || {
        let provider = provider.clone();
        tokio::spawn(async move { provider.create("KEY", &request()).await })
    };

    let first = create();
    until(|| daemon.pulls.load(Ordering::Relaxed) == 1).await;
    manual.advance(Duration::from_secs(60));
    let error = first.await.unwrap().unwrap_err();
    assert_eq!(error.kind, ProviderErrorKind::Unavailable);
    assert_eq!(error.detail, "the image is still being pulled");

    let second = create();
    daemon.image.send_replace(true);
    until(|| {
        manual.advance(Duration::from_millis(20));
        second.is_finished()
    })
    .await;
    let made = second.await.unwrap().unwrap();
    assert_eq!(made.state, ProviderState::Ready);
    assert_eq!(daemon.pulls.load(Ordering::Relaxed), 1);
}

async fn until(mut reached: impl FnMut() -> bool) {
    while !reached() {
        tokio::task::yield_now().await;
    }
}
