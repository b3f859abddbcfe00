//! A thousand clients that never finish their head.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::json;
use thermocline_support::backend::{FakeBackend, Reply};
use thermocline_support::client::RawClient;
use thermocline_support::process::{Setup, raise_open_files};

const CLIENTS: usize = 1000;
const LIMIT: Duration = Duration::from_secs(12);

#[tokio::test]
async fn slow_heads_are_cut_off_while_requests_are_served() {
    if raise_open_files() < 4 * CLIENTS as u64 {
        eprintln!("skipped: too few files may be open");
        return;
    }
    let backend = FakeBackend::start(Reply::ok("hello")).await;
    let server = Setup::new().start().await;
    let spec = json!({ "name": "m", "tiers": { "dedicated": { "url": backend.url() } } });
    server.admin.deploy(spec).await;
    let began = now();
    let slow = (0..CLIENTS).map(|_| slow_client(&server));
    let mut slow = join_all(slow).await;
    let opened = began.elapsed();

    let mut served = 0;
    let mut client = server.client().await;
    let cut_off = join_all(slow.iter_mut().map(RawClient::read_to_end_raw));
    tokio::pin!(cut_off);
    loop {
        tokio::select! {
            biased;
            cut_off = &mut cut_off => {
                assert!(cut_off.iter().all(Result::is_ok));
                break;
            }
            answer = client.request("GET", "/d/m/").send() => {
                assert_eq!(answer.unwrap().status, 200);
                served += 1;
            }
        }
    }
    let took = began.elapsed();
    eprintln!(
        "{CLIENTS} opened in {opened:?}, all closed after {took:?}, {served} requests served"
    );
    assert!(served > 0);
    assert!(took <= LIMIT + opened, "{took:?}");
}

async fn slow_client(server: &thermocline_support::process::Server) -> RawClient {
    let mut client = server.client().await;
    client
        .send_raw("GET /d/m/ HTTP/1.1\r\nhost: x\r\n")
        .await
        .unwrap();
    client
}

#[allow(clippy::disallowed_methods)] // the case has a bound in real time
fn now() -> Instant {
    Instant::now()
}
