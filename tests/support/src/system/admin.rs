use std::net::SocketAddr;
use std::time::{Duration, Instant};

use reqwest::{Client, Method, StatusCode};
use serde_json::{Value, json};

use super::TOKEN;

/// How long a test waits in real time for something that must happen.
/// An absence is believed only after 30 s where a provider may list late.
const PATIENCE: Duration = Duration::from_secs(60);

/// A typed client of the admin plane.
#[derive(Debug, Clone)]
pub struct Admin {
    client: Client,
    /// Where the admin plane listens.
    pub address: SocketAddr,
}

impl Admin {
    pub(crate) fn new(address: SocketAddr) -> Self {
        // A connection kept idle would be closed when the test moves the time on.
        let builder = Client::builder().no_proxy().pool_max_idle_per_host(0);
        let client = builder.build().expect("a client");
        Admin { client, address }
    }

    /// One call; its status and JSON (null when it has none).
    pub async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> (StatusCode, Value) {
        let url = format!("http://{}/api/v1{path}", self.address);
        let mut request = self.client.request(method, url).bearer_auth(TOKEN);
        if let Some(body) = body {
            request = request.json(body);
        }
        let response = request.send().await.expect("the admin plane answers");
        let status = response.status();
        let text = response.text().await.expect("a body");
        (status, serde_json::from_str(&text).unwrap_or_default())
    }

    /// Creates a deployment.
    ///
    /// # Panics
    /// When it is refused.
    pub async fn deploy(&self, spec: Value) -> Value {
        let (status, body) = self.call(Method::POST, "/deployments", Some(&spec)).await;
        assert_eq!(status, StatusCode::CREATED, "{body}");
        body
    }

    /// Merges `patch` into a deployment's specification.
    ///
    /// # Panics
    /// When it is refused.
    pub async fn patch(&self, name: &str, patch: Value) -> Value {
        let (status, body) = self
            .call(Method::PATCH, &format!("/deployments/{name}"), Some(&patch))
            .await;
        assert_eq!(status, StatusCode::OK, "{body}");
        body
    }

    /// A deployment as it reads; null when there is none.
    pub async fn deployment(&self, name: &str) -> Value {
        let (status, body) = self
            .call(Method::GET, &format!("/deployments/{name}"), None)
            .await;
        if status == StatusCode::NOT_FOUND {
            Value::Null
        } else {
            body
        }
    }

    /// Its status.
    pub async fn status(&self, name: &str) -> Value {
        self.deployment(name).await["status"].clone()
    }

    /// Waits until a deployment's status is as `wanted`.
    ///
    /// # Panics
    /// When it is not within a minute of real time.
    pub async fn wait_status(&self, name: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let began = now();
        loop {
            let status = self.status(name).await;
            if wanted(&status) {
                return status;
            }
            assert!(began.elapsed() < PATIENCE, "{name} stays {status}");
            breathe().await;
        }
    }

    /// Waits until a deployment is in `state`.
    pub async fn wait_state(&self, name: &str, state: &str) -> Value {
        self.wait_status(name, |status| status["state"] == state)
            .await
    }

    /// The transitions of a deployment, oldest first, as `from→to`; an idle stop
    /// is none.
    pub async fn transitions(&self, name: &str) -> Vec<String> {
        let (_, body) = self
            .call(Method::GET, &format!("/deployments/{name}/decisions"), None)
            .await;
        let mut all: Vec<String> = body["items"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|d| d["refused"] == false && d["reason"] != "idle")
            .map(|d| {
                format!(
                    "{}→{}",
                    d["from"].as_str().unwrap_or("-"),
                    d["to"].as_str().unwrap_or("-")
                )
            })
            .collect();
        all.reverse();
        all
    }

    /// Forces a tier.
    pub async fn force(&self, name: &str, tier: &str) -> (StatusCode, Value) {
        let path = format!("/deployments/{name}/forced");
        self.call(Method::PUT, &path, Some(&json!({ "tier": tier })))
            .await
    }

    /// The text of `/metrics`.
    pub async fn metrics(&self) -> String {
        let url = format!("http://{}/metrics", self.address);
        let response = self.client.get(url).bearer_auth(TOKEN).send().await;
        response.expect("metrics").text().await.expect("text")
    }

    /// The status of the same; `None` where nobody answers.
    pub(crate) async fn try_get(&self, path: &str) -> Option<StatusCode> {
        let url = format!("http://{}{path}", self.address);
        Some(self.client.get(url).send().await.ok()?.status())
    }

    /// A GET outside `/api/v1`, without a token.
    pub async fn open_get(&self, path: &str) -> StatusCode {
        let url = format!("http://{}{path}", self.address);
        self.client
            .get(url)
            .send()
            .await
            .expect("an answer")
            .status()
    }
}

#[allow(clippy::disallowed_methods)] // bounds a wait in real time
fn now() -> Instant {
    Instant::now()
}

/// Lets the system's own threads go on before it is asked again.
#[allow(clippy::disallowed_methods)]
pub(crate) async fn breathe() {
    tokio::time::sleep(Duration::from_millis(5)).await;
}
