//! Gateways over real sockets that do not do as they should.

use std::time::{Duration, SystemTime};

use sha2::{Digest, Sha256};
use thermocline_clock::ManualClock;
use thermocline_wire::fleet::{Claim, Grant, Job, frame};
use thermocline_worker::{CallError, Gateways, HttpGateways};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

const PAYLOAD: &str = "payload";

/// Grants a claim, sends so many bytes of its payload, and then nothing any more.
async fn silent_after(bytes: usize, listener: TcpListener, sent: oneshot::Sender<TcpStream>) {
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut read = Vec::new();
    while !read.ends_with(b"}") {
        stream.read_buf(&mut read).await.unwrap();
    }
    let mut body = frame(&grant()).unwrap();
    body.extend_from_slice(&PAYLOAD.as_bytes()[..bytes]);
    let head = format!(
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(&body).await.unwrap();
    stream.write_all(b"\r\n").await.unwrap();
    sent.send(stream).unwrap();
}

fn grant() -> Grant {
    let digest = Sha256::digest(PAYLOAD);
    Grant {
        run: "1".into(),
        remaining_ms: 3_600_000,
        method: "POST".into(),
        target: "/".into(),
        headers: Vec::new(),
        payload_bytes: PAYLOAD.len() as u64,
        sha256: digest.iter().map(|byte| format!("{byte:02x}")).collect(),
        generation: "1".into(),
    }
}

fn job(reply_to: String) -> Job {
    Job {
        id: "job".into(),
        deployment: "m".into(),
        remaining_ms: 3_600_000,
        reply_to,
        ticket: "ticket".into(),
        payload_bytes: PAYLOAD.len() as u64,
        traceparent: None,
        failures: Vec::new(),
    }
}

fn claim() -> Claim {
    Claim {
        worker: "gpu-1".into(),
        incarnation: "1".into(),
        ticket: "ticket".into(),
        attempts: 0,
    }
}

#[tokio::test]
async fn a_gateway_that_goes_silent_in_a_payload_is_not_waited_for() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let job = job(format!("http://{}", listener.local_addr().unwrap()));
    let time = ManualClock::starting_at(SystemTime::UNIX_EPOCH);
    let gateways = HttpGateways::new("token", &[], time.clock());
    let (sent, silent) = oneshot::channel();
    tokio::spawn(silent_after(3, listener, sent));
    let claim = claim();
    let mut claiming = gateways.claim(&job, &claim);
    let _open = tokio::select! {
        stream = silent => stream.unwrap(),
        _ = &mut claiming => panic!("the payload is not whole"),
    };
    let error = loop {
        tokio::select! {
            biased;
            claimed = &mut claiming => break claimed.err(),
            () = tokio::task::yield_now() => time.advance(Duration::from_millis(10)),
        }
    };
    assert_eq!(error, Some(CallError::Unclear));
    assert!(time.now().since(thermocline_policy::Moment::ORIGIN) < Duration::from_secs(120));
}
