//! What a plugin may answer by mistake or by malice, and what becomes of it.

#![allow(clippy::unwrap_used)] // tests

use std::time::Duration;

use thermocline_plugin::PluginProvider;
use thermocline_policy::Tier;
use thermocline_provider::{
    Deletion, InstanceRequest, Provider, ProviderError, ProviderErrorKind as Kind, ProviderInstance,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

const TOKEN: &str = "sentinel-token";

/// A plugin that answers everything with `reply`, byte for byte, and its URL.
async fn plugin_answering(reply: impl Into<Vec<u8>>) -> (PluginProvider, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let reply = reply.into();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut seen = Vec::new();
            while !seen.windows(4).any(|window| window == b"\r\n\r\n") {
                stream.read_buf(&mut seen).await.unwrap();
            }
            let _gone_is_fine = stream.write_all(&reply).await;
            let _gone_is_fine = stream.shutdown().await;
            let _rest = stream.read_to_end(&mut seen).await;
        }
    });
    let plugin = PluginProvider::connect(&url, Some(TOKEN.into())).unwrap();
    (plugin, url)
}

fn reply(head: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {head}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}")
}

/// What a get of the answer fails with; holds nothing that it must not.
async fn failure(answer: impl Into<Vec<u8>>) -> ProviderError {
    let (plugin, url) = plugin_answering(answer).await;
    let error = plugin.get("i1").await.unwrap_err();
    let text = format!("{error} {error:?}");
    let port = url.rsplit(':').next().unwrap();
    for secret in [TOKEN, port, "127.0.0.1", "<html>"] {
        assert!(!text.contains(secret), "{secret} is in {text}");
    }
    error
}

fn request() -> InstanceRequest {
    let request = serde_json::json!({
        "owner": "o", "deployment": "d", "tier": Tier::Pod, "image": "image", "port": 80
    });
    serde_json::from_value(request).unwrap()
}

#[tokio::test]
async fn html_is_never_an_answer() {
    let limited = reply(
        "429 Too Many Requests\r\nretry-after: 7",
        "<html>slow down</html>",
    );
    let delay = Some(Duration::from_secs(7));
    assert_eq!(failure(limited).await.kind, Kind::RateLimited(delay));
    let broken = reply(
        "502 Bad Gateway\r\ncontent-type: text/html",
        "<html>oops</html>",
    );
    assert_eq!(failure(broken).await.kind, Kind::Unavailable);
    let fine = reply("200 OK", "<html>welcome</html>");
    assert_eq!(failure(fine).await.kind, Kind::Unavailable);
}

#[tokio::test]
async fn cut_and_empty_bodies_say_nothing_of_the_instance() {
    let cut_by_connection = "HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\n{\"id\":\"i1\",";
    assert_eq!(failure(cut_by_connection).await.kind, Kind::Unanswered);
    let cut_by_sender = reply("200 OK", "{\"id\":\"i1\",");
    assert_eq!(failure(cut_by_sender).await.kind, Kind::Unavailable);
    assert_eq!(failure(reply("200 OK", "")).await.kind, Kind::Unavailable);
    assert_eq!(
        failure("not HTTP at all\r\n\r\n").await.kind,
        Kind::Unanswered
    );
    assert_eq!(failure("").await.kind, Kind::Unanswered);
}

/// What an adapter's author needs, and nothing of what a wrong field holds.
#[tokio::test]
async fn the_field_that_is_wrong_is_named() {
    let told = async |body: &str| failure(reply("200 OK", body)).await.detail;
    assert_eq!(
        told(r#"{"id":"i1","key":"k","state":"ready"}"#).await,
        "the plugin's answer is not of the protocol: owner is missing"
    );
    let sentinel = format!(r#"{{"id":"i1","key":"k","owner":"o","state":"{TOKEN}"}}"#);
    assert_eq!(
        told(&sentinel).await,
        "the plugin's answer is not of the protocol: state is wrong"
    );
    let nested =
        r#"{"id":"i1","key":"k","owner":"o","state":"ready","address":{"url":1},"detail":""}"#;
    assert_eq!(
        told(nested).await,
        "the plugin's answer is not of the protocol: address.url is wrong"
    );
}

/// A URL would leave a part of it out, and mean another instance.
#[tokio::test]
async fn an_id_that_would_not_arrive_as_it_is_is_refused() {
    for id in ["", ".", "..", r"q\r\nx", r"a\tb", r"nul\u0000"] {
        let body =
            format!(r#"{{"id":"{id}","key":"k","owner":"o","state":"starting","detail":""}}"#);
        let error = failure(reply("200 OK", &body)).await;
        assert!(error.detail.contains("usable id"), "{id}: {error}");
    }
    let (plugin, _) = plugin_answering(reply("204 No Content", "")).await;
    assert_eq!(
        plugin.delete("q\r\nx").await.unwrap_err().kind,
        Kind::Invalid
    );
}

#[tokio::test]
async fn a_huge_body_is_not_read_to_its_end() {
    let huge = reply("200 OK", &"[".repeat(5 << 20));
    let error = failure(huge).await;
    assert_eq!(error.kind, Kind::Unavailable);
    assert!(error.detail.contains("too large"), "{error}");
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let redirect = reply("307 Temporary Redirect\r\nlocation: /v1/instances/i2", "");
    assert_eq!(failure(redirect).await.kind, Kind::Unavailable);
}

#[tokio::test]
async fn a_silent_plugin_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let short = Duration::from_millis(50);
    let plugin = PluginProvider::connect(&url, None)
        .unwrap()
        .with_limits(short, short);
    let errors = [
        plugin.get("i1").await.unwrap_err(),
        plugin.create("k", &request()).await.unwrap_err(),
        plugin.list("o", None).await.unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.kind, Kind::Unanswered);
        assert!(error.detail.contains("in time"), "{error}");
        assert!(!error.before_effect());
    }
}

#[tokio::test]
async fn where_nobody_listens_nothing_was_made() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let plugin = PluginProvider::connect(&url, None).unwrap();
    let error = plugin.create("k", &request()).await.unwrap_err();
    assert_eq!(error.kind, Kind::Unreachable);
    assert_eq!(error.kind.code(), "unavailable");
    assert!(error.before_effect());
}

#[tokio::test]
async fn codes_become_kinds() {
    let cases = [
        ("no_capacity", Kind::NoCapacity),
        (
            "rate_limited",
            Kind::RateLimited(Some(Duration::from_secs(9))),
        ),
        ("auth", Kind::Auth),
        ("invalid", Kind::Invalid),
        ("quota", Kind::Quota),
        ("unavailable", Kind::Unavailable),
        ("something_new", Kind::Unavailable),
    ];
    for (code, kind) in cases {
        let body = format!(r#"{{"code":"{code}","detail":"told  {TOKEN}\nso"}}"#);
        let error = failure(reply("503 No\r\nretry-after: 9", &body)).await;
        assert_eq!(error.kind, kind, "{code}");
        assert_eq!(error.detail, "told  … so");
    }
}

#[tokio::test]
async fn an_absurd_delay_is_cut() {
    let body = r#"{"code":"rate_limited"}"#;
    let error = failure(reply("429 No\r\nretry-after: 18446744073709551615", body)).await;
    assert_eq!(
        error.kind,
        Kind::RateLimited(Some(Duration::from_secs(3_600)))
    );
    let error = failure(reply("429 No\r\nretry-after: soon", body)).await;
    assert_eq!(error.kind, Kind::RateLimited(None));
}

#[tokio::test]
async fn a_404_is_an_absence_only_where_one_instance_was_asked_for() {
    let (plugin, _) = plugin_answering(reply("404 Not Found", "")).await;
    assert_eq!(plugin.get("i1").await, Ok(None::<ProviderInstance>));
    assert_eq!(plugin.delete("i1").await, Ok(Deletion::Unknown));
    assert_eq!(
        plugin.list("o", None).await.unwrap_err().kind,
        Kind::Unavailable
    );
    let create = plugin.create("k", &request()).await;
    assert_eq!(create.unwrap_err().kind, Kind::Unavailable);
}

#[tokio::test]
async fn an_answer_about_another_instance_is_none() {
    let other = r#"{"id":"i2","key":"k2","owner":"o","state":"ready"}"#;
    let (plugin, _) = plugin_answering(reply("200 OK", other)).await;
    assert_eq!(plugin.get("i1").await.unwrap_err().kind, Kind::Unavailable);
    let create = plugin.create("k1", &request()).await;
    assert_eq!(create.unwrap_err().kind, Kind::Unavailable);
}

#[tokio::test]
async fn another_version_needs_a_person() {
    let said = r#"{"protocol":2,"name":"n","version":"1","tiers":[],"prices":false}"#;
    let (plugin, _) = plugin_answering(reply("200 OK", said)).await;
    assert_eq!(plugin.capabilities().await.unwrap_err().kind, Kind::Invalid);
}

#[tokio::test]
async fn ids_cannot_leave_their_place_in_the_path() {
    let (plugin, _) = plugin_answering(reply("204 No Content", "")).await;
    for id in ["", ".", ".."] {
        assert_eq!(
            plugin.delete(id).await.unwrap_err().kind,
            Kind::Invalid,
            "{id:?}"
        );
    }
    assert_eq!(plugin.delete("a/../../b?c#d").await, Ok(Deletion::Accepted));
}

#[test]
fn unusable_urls_and_tokens_are_refused_without_being_repeated() {
    let urls = [
        "",
        "nonsense",
        "ftp://host",
        "unix:/socket",
        "http://u:secret@host",
    ];
    for url in urls {
        let error = PluginProvider::connect(url, None).unwrap_err();
        assert_eq!(error.kind, Kind::Invalid, "{url}");
        assert!(!error.detail.contains("secret"));
    }
    let error = PluginProvider::connect("http://host", Some("se\ncret".into())).unwrap_err();
    assert_eq!(error.kind, Kind::Invalid);
}
