use crate::stub::{Ran, Stub, failed, problem, stream};

const EVENTS: &str = "GET /api/v1/events";
const FIRST: &str = "id: 1\nevent: transition\ndata: {\"id\":1,\"at\":\"2026-03-02T10:00:00Z\",\"kind\":\"transition\",\
    \"deployment\":\"sdxl\",\"text\":\"serverless -> pod\"}\n\n";
const SECOND: &str = "id: 2\nevent: started\ndata: {\"id\":2,\"at\":\"2026-03-02T10:01:00Z\",\"kind\":\"started\",\
    \"deployment\":null,\"text\":\"hello\"}\n\n";
const LINES: &str = "1  2026-03-02T10:00:00Z  transition      sdxl              serverless -> pod\n\
    2  2026-03-02T10:01:00Z  started         -                 hello\n";

#[tokio::test]
async fn the_backlog_ends_where_the_server_says() {
    let after = "id: 3\ndata: {\"id\":3}\n\n";
    for mark in ["event: caught-up\n\n", "event: caught-up\ndata: {}\n\n"] {
        let stub = Stub::start([(
            EVENTS,
            stream(&[FIRST, ": ping\n\n", SECOND, mark, after].concat()),
        )])
        .await;
        let ran = stub.run(&["events"]).await;
        assert_eq!(
            ran,
            Ran {
                code: 0,
                out: LINES.to_owned(),
                err: String::new()
            }
        );
    }
}

#[tokio::test]
async fn a_cut_backlog_is_a_fault() {
    let stub = Stub::start([(EVENTS, stream(FIRST))]).await;
    let ran = stub.run(&["events"]).await;
    assert_eq!(
        (ran.code, ran.err.as_str()),
        (1, "error: the stream ended within the backlog\n")
    );
}

#[tokio::test]
async fn json_is_a_line_for_each_event() {
    let stub = Stub::start([(EVENTS, stream(&[SECOND, "event: caught-up\n\n"].concat()))]).await;
    let ran = stub.run(&["events", "-o", "json"]).await;
    let line = "{\"id\":2,\"at\":\"2026-03-02T10:01:00Z\",\"kind\":\"started\",\"deployment\":null,\"text\":\"hello\"}\n";
    assert_eq!(ran.out, line);
}

#[tokio::test]
async fn following_goes_on_where_it_was_cut() {
    let stub = Stub::start([
        (EVENTS, stream(&[FIRST, "event: caught-up\n\n"].concat())),
        (EVENTS, problem(503, "draining")),
        (EVENTS, stream(SECOND)),
        (EVENTS, problem(403, "this token may not read events")),
    ])
    .await;
    let ran = stub.run(&["events", "-f"]).await;
    assert_eq!(ran.out, LINES);
    assert_eq!(ran.code, 3);
    let calls = stub.calls();
    let from: Vec<_> = calls
        .iter()
        .map(|call| call.header("last-event-id"))
        .collect();
    assert_eq!(from, [None, Some("1"), Some("1"), Some("2")]);
    assert!(
        ran.err
            .contains("the server closed the stream; trying again\n"),
        "{}",
        ran.err
    );
}

#[tokio::test]
async fn following_does_not_begin_with_a_refusal() {
    let stub = Stub::start([(EVENTS, problem(403, "this token may not read events"))]).await;
    let ran = stub.run(&["events", "-f"]).await;
    assert_eq!(ran, failed(3, "error: this token may not read events\n"));
}
