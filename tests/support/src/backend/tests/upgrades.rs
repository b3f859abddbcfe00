use super::*;
use crate::client::{ClientError, WebSocket};
use crate::http1::websocket::{Frame, Opcode};

#[tokio::test]
async fn a_websocket_gives_everything_back() {
    let (backend, client) = started(Reply::websocket_echo()).await;
    let headers = [
        ("Connection", "keep-alive, Upgrade"),
        ("Upgrade", "WebSocket"),
    ];
    let mut socket = WebSocket::open(client, "/ws", &headers).await.unwrap();
    let large = vec![0xa5; 1 << 20];
    for (opcode, payload, back) in [
        (Opcode::Text, b"hello".to_vec(), Opcode::Text),
        (Opcode::Binary, large, Opcode::Binary),
        (Opcode::Ping, b"?".to_vec(), Opcode::Pong),
    ] {
        let frame = socket.exchange(opcode, payload.clone()).await.unwrap();
        assert_eq!(frame, Frame::new(back, payload));
    }
    socket.send(Frame::close(1000)).await.unwrap();
    assert_eq!(
        socket.read().await.unwrap().unwrap().close_code(),
        Some(1000)
    );
    assert_eq!(socket.read().await.unwrap(), None);
    let seen = backend.wait_for(|s| s.in_flight == 0).await;
    assert_eq!(seen.requests[0].frames.len(), 4);
    assert_eq!(seen.requests[0].outcome, Outcome::Complete);
}

#[tokio::test]
async fn a_websocket_that_just_goes_has_left() {
    let (backend, client) = started(Reply::websocket_echo()).await;
    let socket = WebSocket::open(client, "/ws", &[]).await.unwrap();
    drop(socket);
    let seen = backend.wait_for(|s| s.in_flight == 0).await;
    assert!(seen.requests[0].peer_left());
}

#[tokio::test]
async fn what_is_no_handshake_is_refused() {
    let (_backend, client) = started(Reply::websocket_echo()).await;
    let headers = [("upgrade", "h2c")];
    let refused = WebSocket::open(client, "/ws", &headers).await.unwrap_err();
    assert!(matches!(refused, ClientError::Refused(head) if head.status == 400));
}
