use super::*;

#[tokio::test]
async fn concurrency_is_counted_at_its_peak() {
    let latch = Latch::new();
    let backend = FakeBackend::start(Reply::ok("").held_until(&latch)).await;
    let mut clients = Vec::new();
    for _ in 0..3 {
        let mut client = RawClient::connect(backend.address()).await.unwrap();
        client.request("GET", "/").start().await.unwrap();
        clients.push(client);
    }
    backend.wait_for(|s| s.in_flight == 3).await;
    latch.open();
    let seen = backend.wait_for(|s| s.in_flight == 0).await;
    assert_eq!((seen.most_in_flight, seen.connections), (3, 3));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_after_the_other_is_never_two_at_once() {
    let held = Reply::ok("").held_until(&Latch::new());
    let script = Script::always(Reply::ok("done")).on("/held", held);
    let backend = FakeBackend::start(script).await;
    for round in 1..=200 {
        let mut leaver = RawClient::connect(backend.address()).await.unwrap();
        leaver.request("GET", "/held").start().await.unwrap();
        backend.wait_for(|s| s.count("/held") == round).await;
        drop(leaver);
        let mut stayer = RawClient::connect(backend.address()).await.unwrap();
        assert_eq!(get(&mut stayer, "/").await.text(), "done");
    }
    let seen = backend.wait_for(|s| s.in_flight == 0).await;
    assert_eq!(seen.most_in_flight, 1);
}

#[tokio::test]
async fn a_keep_alive_connection_is_one_connection() {
    let (backend, mut client) = started(Reply::ok("")).await;
    for _ in 0..3 {
        get(&mut client, "/").await;
    }
    assert_eq!(
        (backend.seen().connections, backend.seen().requests.len()),
        (1, 3)
    );
    drop(client);
    backend.wait_for(|s| s.open_connections == 0).await;
}
