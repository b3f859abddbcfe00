//! What instances serve.

#![allow(clippy::unwrap_used)] // tests

mod common;

use common::{cloud, quick};
use serde_json::Value;
use thermocline_policy::Tier;
use thermocline_provider::{Provider, ProviderState};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

#[tokio::test]
async fn any_path_says_who_answered_and_how_much_came() {
    let cloud = cloud(quick()).await;
    let backend = cloud.backend(Tier::Pod, &[]).await;
    let body = vec![7; 3 << 20];
    let answer = cloud
        .http
        .post(format!("{backend}/a/b"))
        .body(body)
        .send()
        .await
        .unwrap();
    let said: Value = answer.json().await.unwrap();
    assert_eq!(said["deployment"], "toy");
    assert_eq!(said["tier"], "pod");
    assert_eq!(
        (&said["method"], &said["path"]),
        (&"POST".into(), &"/a/b".into())
    );
    assert_eq!(said["bytes_received"], 3 << 20);
}

#[tokio::test]
async fn an_endpoint_answers_after_a_cold_start() {
    let cloud = cloud(quick()).await;
    let backend = cloud.backend(Tier::Serverless, &[]).await;
    let said: Value = cloud
        .http
        .get(backend)
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    assert_eq!(said["tier"], "serverless");
}

#[tokio::test]
async fn a_ready_check_wakes_no_worker() {
    let cloud = cloud(quick()).await;
    let backend = cloud
        .backend(Tier::Serverless, &[("SIM_BOOT", "24h")])
        .await;
    let ready = cloud
        .http
        .get(format!("{backend}/ready"))
        .send()
        .await
        .unwrap();
    assert_eq!(ready.status(), 200);
}

#[tokio::test]
async fn a_model_that_still_loads_listens_but_is_not_ready() {
    let cloud = cloud(quick()).await;
    let backend = cloud
        .backend(Tier::Pod, &[("SIM_READY_DELAY", "24h")])
        .await;
    let ready = cloud
        .http
        .get(format!("{backend}/ready"))
        .send()
        .await
        .unwrap();
    assert_eq!(ready.status(), 503);
}

#[tokio::test]
async fn echo_streams_both_ways() {
    let cloud = cloud(quick()).await;
    let backend = cloud.backend(Tier::Pod, &[]).await;
    let mut stream = TcpStream::connect(backend.trim_start_matches("http://"))
        .await
        .unwrap();
    let head = "POST /echo HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(b"5\r\nfirst\r\n").await.unwrap();
    let mut seen = String::new();
    read_until(&mut stream, &mut seen, "first").await;
    stream.write_all(b"6\r\nsecond\r\n0\r\n\r\n").await.unwrap();
    read_until(&mut stream, &mut seen, "second").await;
}

async fn read_until(stream: &mut TcpStream, seen: &mut String, text: &str) {
    while !seen.contains(text) {
        let mut chunk = [0; 1024];
        let read = stream.read(&mut chunk).await.unwrap();
        assert!(read > 0, "the stream ended before {text}");
        seen.push_str(std::str::from_utf8(&chunk[..read]).unwrap());
    }
}

#[tokio::test]
async fn events_come_as_many_as_asked() {
    let cloud = cloud(quick()).await;
    let backend = cloud.backend(Tier::Pod, &[]).await;
    let answer = cloud
        .http
        .get(format!("{backend}/x?sse=3&gap_ms=1"))
        .send()
        .await
        .unwrap();
    assert_eq!(answer.headers()["content-type"], "text/event-stream");
    let text = answer.text().await.unwrap();
    assert_eq!(text.matches("data: ").count(), 3);
    assert!(text.ends_with("\n\n"));
}

#[tokio::test]
async fn chat_completions_have_the_shape_that_clients_read() {
    let cloud = cloud(quick()).await;
    let backend = cloud.backend(Tier::Pod, &[]).await;
    let url = format!("{backend}/v1/chat/completions");
    let mut asked = serde_json::json!({
        "model": "m", "messages": [{"role": "user", "content": "say hello now"}]
    });
    let whole: Value = cloud
        .http
        .post(&url)
        .json(&asked)
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    let content = whole["choices"][0]["message"]["content"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(
        (&whole["model"], &whole["usage"]["prompt_tokens"]),
        (&"m".into(), &3.into())
    );

    asked["stream"] = true.into();
    let stream = cloud
        .http
        .post(&url)
        .json(&asked)
        .send()
        .await
        .unwrap()
        .text()
        .await
        .unwrap();
    let data = stream
        .split("\n\n")
        .filter_map(|event| event.strip_prefix("data: "));
    let (end, chunks): (Vec<_>, Vec<_>) = data.partition(|data| *data == "[DONE]");
    assert_eq!(end.len(), 1);
    let words = chunks
        .iter()
        .map(|chunk| serde_json::from_str::<Value>(chunk).unwrap());
    let words = words.map(|chunk| chunk["choices"][0]["delta"]["content"].clone());
    let streamed: String = words
        .filter_map(|word| word.as_str().map(str::to_owned))
        .collect();
    assert_eq!(streamed, content);

    let nonsense = cloud.http.post(&url).body("{").send().await.unwrap();
    assert_eq!(nonsense.status(), 400);
}

#[tokio::test]
async fn a_delete_breaks_the_work_in_hand() {
    let cloud = cloud(quick()).await;
    let pod = cloud
        .create(Tier::Pod, &[("SIM_SERVICE_TIME", "24h")])
        .await;
    let ready = cloud.await_state(&pod.id, Some(ProviderState::Ready)).await;
    let address = ready.unwrap().address.unwrap().url;
    let mut stream = TcpStream::connect(address.trim_start_matches("http://"))
        .await
        .unwrap();
    stream
        .write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        .await
        .unwrap();
    cloud.provider.delete(&pod.id).await.unwrap();
    let mut answer = Vec::new();
    let _reset_is_an_end_too = stream.read_to_end(&mut answer).await;
    assert!(answer.is_empty());
    cloud.await_state(&pod.id, None).await;
    assert!(
        TcpStream::connect(address.trim_start_matches("http://"))
            .await
            .is_err()
    );
}

#[tokio::test]
async fn a_client_that_leaves_frees_its_worker() {
    let cloud = cloud(quick()).await;
    let env = [("SIM_SERVICE_TIME", "24h")];
    let mut request = common::request(Tier::Serverless, &env);
    request.max_workers = 1;
    let endpoint = cloud.provider.create("key", &request).await.unwrap();
    let socket = endpoint.address.unwrap().url;
    let socket = socket.trim_start_matches("http://");
    for _ in 0..3 {
        let mut leaves = TcpStream::connect(socket).await.unwrap();
        leaves
            .write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
            .await
            .unwrap();
    }
    let mut stays = TcpStream::connect(socket).await.unwrap();
    stays
        .write_all(b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\n\r\n{")
        .await
        .unwrap();
    let mut seen = String::new();
    read_until(&mut stays, &mut seen, "400 Bad Request").await;
}
