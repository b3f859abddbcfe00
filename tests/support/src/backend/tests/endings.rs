use super::*;
use crate::client::ClientError;

#[tokio::test]
async fn a_cut_stream_never_looks_whole() {
    for how in [Cut::Close, Cut::Reset] {
        let gate = Gate::new();
        let (backend, mut client) = started(Reply::new(200).gated(&gate)).await;
        client.request("GET", "/").start().await.unwrap();
        client.read_head().await.unwrap();
        gate.write("data: 1\n\n");
        assert!(client.read_chunk().await.unwrap().is_some());
        gate.cut(how);
        assert_eq!(client.read_body().await.unwrap().ended, Ended::Aborted);
        backend
            .wait_for(|s| s.requests[0].outcome == Outcome::Cut)
            .await;
    }
}

#[tokio::test]
async fn a_reset_is_told_from_a_close() {
    for (how, ended) in [(Cut::Close, Ended::Clean), (Cut::Reset, Ended::Aborted)] {
        let (_backend, mut client) = started(Reply::ok("abc").cut_after(2, how)).await;
        client.request("GET", "/").start().await.unwrap();
        client.read_head().await.unwrap();
        let (bytes, end) = client.read_to_end_raw().await.unwrap();
        assert_eq!((&bytes[..], end), (&b"ab"[..], ended));
    }
}

#[tokio::test]
async fn less_than_the_declared_length_is_a_cut() {
    let short = Reply::ok(vec![7; 400]).content_length(1000);
    let (_backend, mut client) = started(short).await;
    let response = get(&mut client, "/").await;
    assert_eq!((response.body.len(), response.ended), (400, Ended::Aborted));
}

#[tokio::test]
async fn a_peer_that_leaves_is_noticed_before_the_head_and_in_the_stream() {
    let held = Reply::ok("").held_until(&Latch::new());
    let gate = Gate::new();
    let script = Script::always(held).on("/stream", Reply::new(200).gated(&gate));
    for path in ["/held", "/stream"] {
        let (backend, mut client) = started(script.clone()).await;
        client
            .request("POST", path)
            .body("x")
            .start()
            .await
            .unwrap();
        backend.wait_for(|s| s.in_flight == 1).await;
        drop(client);
        let seen = backend.wait_for(|s| s.in_flight == 0).await;
        assert!(seen.requests[0].peer_left());
    }
}

#[tokio::test]
async fn an_early_answer_arrives_although_the_body_is_not_read() {
    let (backend, mut client) = started(Reply::new(413).reading(Reading::Never)).await;
    let upload = client.request("POST", "/").pattern(8 << 20, false);
    let response = upload.send().await.unwrap();
    assert_eq!(response.status, 413);
    assert_eq!(backend.seen().requests[0].body_bytes, 0);
}

#[tokio::test]
async fn a_stale_connection_dies_when_the_next_request_arrives() {
    let stale = Reply::ok("").afterwards(Afterwards::CloseOnNextRequest);
    let (backend, mut client) = started(stale).await;
    assert_eq!(get(&mut client, "/").await.status, 200);
    assert_eq!(backend.seen().open_connections, 1);
    let second = client.request("GET", "/").send().await;
    assert!(matches!(
        second,
        Err(ClientError::Closed | ClientError::Aborted(_))
    ));
    assert_eq!(backend.seen().requests.len(), 1);
}

#[tokio::test]
async fn a_close_is_announced_or_not() {
    for (afterwards, told) in [
        (Afterwards::Close, true),
        (Afterwards::CloseSilently, false),
    ] {
        let (_backend, mut client) = started(Reply::ok("").afterwards(afterwards)).await;
        let response = get(&mut client, "/").await;
        assert_eq!(response.headers.lists("connection", "close"), told);
        let (rest, ended) = client.read_to_end_raw().await.unwrap();
        assert_eq!((rest.len(), ended), (0, Ended::Clean));
    }
}

#[tokio::test]
async fn raw_bytes_are_sent_as_they_are() {
    let (_backend, mut client) = started(Reply::raw("HTTP/1.1 2x0 nonsense\r\n\r\n")).await;
    let response = client.request("GET", "/").send().await;
    assert!(matches!(response, Err(ClientError::Malformed(_))));
}

#[tokio::test]
async fn a_killed_backend_cuts_its_connections_and_refuses_new_ones() {
    let (backend, mut client) = started(Reply::ok("").held_until(&Latch::new())).await;
    client.request("GET", "/").start().await.unwrap();
    backend.wait_for(|s| s.in_flight == 1).await;
    backend.kill().await;
    let head = client.read_head().await;
    assert!(matches!(head, Err(ClientError::Closed)));
    assert!(RawClient::connect(backend.address()).await.is_err());
    assert_eq!(backend.seen().requests[0].outcome, Outcome::Cut);
}

#[tokio::test]
async fn severed_connections_can_be_made_again() {
    let (backend, mut client) = started(Reply::ok("")).await;
    get(&mut client, "/").await;
    backend.sever();
    assert_eq!(client.read_to_end_raw().await.unwrap().1, Ended::Clean);
    let mut again = RawClient::connect(backend.address()).await.unwrap();
    assert_eq!(get(&mut again, "/").await.status, 200);
}

#[tokio::test]
async fn a_reserved_port_refuses_until_it_opens() {
    let reserved = ReservedBackend::bind().unwrap();
    let address = reserved.address();
    assert!(RawClient::connect(address).await.is_err());
    let clock = thermocline_clock::Clock::system();
    let _backend = reserved.open(Reply::ok(""), &clock).unwrap();
    let mut client = RawClient::connect(address).await.unwrap();
    assert_eq!(get(&mut client, "/").await.status, 200);
}

#[tokio::test]
async fn a_killed_backend_can_come_back_at_its_address() {
    let (first, mut client) = started(Reply::ok("first")).await;
    get(&mut client, "/").await;
    first.kill().await;
    let again = ReservedBackend::bind_to(first.address()).unwrap();
    let clock = thermocline_clock::Clock::system();
    let _second = again.open(Reply::ok("second"), &clock).unwrap();
    let mut client = RawClient::connect(first.address()).await.unwrap();
    assert_eq!(get(&mut client, "/").await.text(), "second");
}
