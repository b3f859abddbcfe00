//! Thirty canaries: one wherever a secret can come in. After a full round of use, with
//! refusals, crashes and the most talkative log, none is where people look.

mod talkers;

use std::process::Command;

use reqwest::Method;
use serde_json::{Value, json};
use thermocline_clock::Clock;
use thermocline_fake_runpod::{FakeRunpod, Settings};
use thermocline_support::process::{Server, Setup};

use super::evidence::Evidence;
use talkers::Talker;

/// In every canary, and nowhere else.
const MARK: &str = "Kq7vCanary";

/// 32 bytes in base64, as a key must be.
const SEALING_KEY: &str = "S3E3dkNhbmFyeS1rZXktb2YtdGhlLXNlY3JldHMtLS0=";

fn canary(place: &str) -> String {
    format!("{MARK}-{place}")
}

struct Round {
    setup: Setup,
    evidence: Evidence,
    token: String,
}

impl Round {
    /// Runs a verb as a user does, and keeps what it printed.
    async fn verb(&mut self, server: &Server, args: &[&str]) -> i32 {
        let args = [&["--token", &self.token], args].concat();
        let ran = server.run(&args).await;
        let verb = args[2..].join(" ");
        self.evidence.keep(&format!("`{verb}`, stdout"), ran.out);
        self.evidence.keep(&format!("`{verb}`, stderr"), ran.err);
        ran.code
    }

    /// Calls the admin plane, and keeps what it answered.
    async fn call(&mut self, server: &Server, method: Method, path: &str, body: String) -> u16 {
        let url = format!("http://{}{path}", server.admin.address);
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        let request = http.request(method.clone(), url).bearer_auth(&self.token);
        let response = request.body(body).send().await.unwrap();
        let status = response.status().as_u16();
        let stream = response.headers()["content-type"] == "text/event-stream";
        if !stream {
            let text = response.text().await.unwrap();
            self.evidence.keep(&format!("{method} {path}"), text);
        }
        status
    }

    async fn json(&mut self, server: &Server, method: Method, path: &str, body: Value) -> u16 {
        let path = format!("/api/v1{path}");
        self.call(server, method, &path, body.to_string()).await
    }

    /// Sets each secret by another way.
    async fn set_secrets(&mut self, server: &Server) {
        let file = self.setup.path("token.txt");
        std::fs::write(&file, format!("{}\n", canary("file"))).unwrap();
        let file = file.to_str().unwrap();
        let set = ["secret", "set", "file", "--from-file", file];
        assert_eq!(self.verb(server, &set).await, 0);
        let set = ["secret", "set", "env", "--from-env", "SECRET_IN_ENV"];
        assert_eq!(self.verb(server, &set).await, 0);
        let piped = talkers::pipe(&self.setup, server, &self.token, &canary("stdin")).await;
        self.evidence.keep("`secret set stdin`", piped);
        let lines = format!("first line of it\n{} \"quoted\"\n", canary("rest"));
        let value = json!({ "value": lines });
        let made = self.json(server, Method::PUT, "/secrets/rest", value).await;
        assert_eq!(made, 201);
        for name in ["refused", "fails", "docker", "runpod", "gone"] {
            for place in [format!("old-{name}"), name.to_owned()] {
                let value = json!({ "value": canary(&place) });
                let path = format!("/secrets/{name}");
                assert!(self.json(server, Method::PUT, &path, value).await < 300);
            }
        }
        assert_eq!(self.verb(server, &["secret", "rm", "gone"]).await, 0);
        let broken = format!("{{\"value\": \"{}", canary("broken-body"));
        let path = "/api/v1/secrets/broken";
        assert_eq!(self.call(server, Method::PUT, path, broken).await, 400);
        let wrong = json!({ "value": { "text": canary("wrong-body") } });
        let path = "/secrets/broken";
        assert_eq!(self.json(server, Method::PUT, path, wrong).await, 400);
    }

    async fn deploy(&mut self, server: &Server) {
        let secret = |name: &str| json!({ "T": { "secret": name } });
        let pod = |provider: &str| json!({ "pod": { "provider": provider } });
        let runpod = |provider: &str| json!({ "serverless": { "provider": provider } });
        let mut all = json!({});
        for name in ["stdin", "file", "env", "rest"] {
            all[name] = json!({ "secret": name });
        }
        for (name, tiers, env) in [
            ("m", pod("found"), all),
            ("refused", pod("started"), secret("refused")),
            ("fails", pod("started"), secret("fails")),
            ("docker", json!({ "local": {} }), secret("docker")),
            ("runpod", runpod("runpod"), secret("runpod")),
            ("other", runpod("other"), json!({})),
        ] {
            let ready = json!({ "ready": { "path": "/ping" } });
            let spec =
                json!({ "name": name, "image": "i", "tiers": tiers, "env": env, "health": ready });
            let made = self.json(server, Method::POST, "/deployments", spec).await;
            assert_eq!(made, 201, "{name}");
        }
        let unknown =
            json!({ "name": "x", "image": "i", "tiers": pod("found"), "env": secret("gone") });
        let refused = self.json(server, Method::POST, "/deployments", unknown);
        assert_eq!(refused.await, 400);
    }

    /// A request with a canary wherever it has room for one; the answer.
    async fn ask(&mut self, server: &Server, name: &str) -> (u16, String) {
        let mut client = server.client().await;
        let target = format!("/d/{name}/{}?key={}", canary("path"), canary("query"));
        let request = client
            .request("POST", &target)
            .header("authorization", format!("Bearer {}", canary("bearer")))
            .header("x-api-key", canary("api-key"))
            .header("cookie", format!("session={}", canary("cookie")))
            .header("content-type", "application/json")
            .header("x-thermocline-timeout", "20s")
            .body(format!("{{\"prompt\": \"{}\"}}", canary("body")));
        let answer = request.send().await.unwrap();
        (answer.status, answer.text().to_owned())
    }

    async fn use_it(&mut self, server: &Server) {
        let (status, text) = self.ask(server, "m").await;
        assert_eq!(status, 200, "{text}");
        for name in ["stdin", "file", "env", "rest"] {
            let there = text.contains(&canary(name));
            assert!(there, "{name} has reached the instance: {text}");
        }
        assert_eq!(self.ask(server, "runpod").await.0, 200);
        for name in ["refused", "fails", "docker", "other", "nobody"] {
            let (status, text) = self.ask(server, name).await;
            assert!(status >= 400, "{name}: {status} {text}");
            self.evidence.keep(&format!("a request to {name}"), text);
        }
    }

    /// What a stranger and a browser do.
    async fn knock(&mut self, server: &Server) {
        let url = format!("http://{}/api/v1", server.admin.address);
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        let wrong = http.get(format!("{url}/secrets?token={}", canary("admin-query")));
        let wrong = wrong.bearer_auth(canary("wrong-token")).send().await;
        let wrong = wrong.unwrap().text().await.unwrap();
        self.evidence.keep("a stranger's call", wrong);
        let session = http.post(format!("{url}/session")).bearer_auth(&self.token);
        let session = session.send().await.unwrap();
        let cookie = session.headers()["set-cookie"].to_str().unwrap().to_owned();
        let value = cookie.split(['=', ';']).nth(1).unwrap();
        self.evidence.seek("the session's cookie", value);
    }

    /// Everything that can be looked at.
    async fn look(&mut self, server: &Server) {
        let names = ["m", "refused", "fails", "docker", "runpod", "other"];
        for route in thermocline_server::routes() {
            if route.method != Method::GET {
                continue;
            }
            let named = route.path.contains("{name}");
            for name in names.iter().take(if named { names.len() } else { 1 }) {
                let path = route.path.replace("{name}", name).replace("{id}", "1");
                self.call(server, Method::GET, &path, String::new()).await;
            }
        }
        for provider in ["started", "found", "runpod", "other"] {
            self.verb(server, &["provider", "offers", provider]).await;
        }
        for name in names {
            self.verb(server, &["describe", name]).await;
            self.verb(server, &["explain", name]).await;
        }
        for verb in ["ps", "events", "doctor", "cost"] {
            self.verb(server, &[verb]).await;
        }
        self.verb(server, &["secret", "ls", "-o", "json"]).await;
        self.verb(server, &["provider", "ls", "-o", "yaml"]).await;
        self.verb(server, &["backup", "copy.db"]).await;
    }

    /// The files of the store, byte by byte.
    fn open_files(&mut self) {
        for name in ["store.db", "copy.db"] {
            let bytes = std::fs::read(self.setup.path(name)).unwrap();
            self.evidence.keep_bytes(name, bytes);
        }
        // There while what was written last is not in the file itself.
        let log = std::fs::read(self.setup.path("store.db-wal"));
        self.evidence
            .keep_bytes("store.db-wal", log.unwrap_or_default());
    }
}

fn config(found: &Talker) -> String {
    format!(
        "[providers.started]\nkind = \"plugin\"\ncommand = [\"python3\", {:?}]\n\
         [providers.found]\nkind = \"plugin\"\nurl = \"{}\"\ntoken_env = \"FOUND_TOKEN\"\n\
         [providers.other]\nkind = \"runpod\"\napi_key_file = \"runpod.key\"\n",
        talkers::PROGRAM,
        found.url,
    )
}

fn setup(found: &Talker, runpod: &FakeRunpod) -> Setup {
    let mut setup = Setup::new()
        .config(&config(found))
        .env("THERMOCLINE_LOG", "trace")
        .env("THERMOCLINE_ADMIN_TOKEN", &canary("admin-token"))
        .env("THERMOCLINE_SECRETS_KEY", SEALING_KEY)
        .env("RUNPOD_API_KEY", &canary("runpod-key"))
        .env("FOUND_TOKEN", &canary("plugin-token"))
        .env("SECRET_IN_ENV", &canary("env"));
    for name in ["RUNPOD", "OTHER"] {
        for (key, url) in [
            ("API_URL", &runpod.urls.api),
            ("JOB_URL", &runpod.urls.jobs),
            ("POD_URL", &runpod.urls.pod),
            ("ENDPOINT_URL", &runpod.urls.endpoint),
        ] {
            setup = setup.env(&format!("THERMOCLINE_PROVIDERS__{name}__{key}"), url);
        }
    }
    std::fs::write(setup.path("runpod.key"), canary("runpod-key-file")).unwrap();
    setup
}

#[tokio::test]
async fn no_secret_is_found_where_people_look() {
    if Command::new("python3").arg("--version").output().is_err() {
        eprintln!("skipped: the adapters that repeat everything need python3");
        return;
    }
    let key = canary("runpod-key");
    let runpod = FakeRunpod::anywhere(&key, Clock::system(), Settings::quick());
    let runpod = runpod.await.unwrap();
    let found = Talker::plugin(&canary("plugin-token")).await;
    let setup = setup(&found, &runpod);
    let _daemon = Talker::docker(&setup.path("docker.sock")).await;
    let socket = format!("unix://{}", setup.path("docker.sock").display());
    let setup = setup.with_docker(&socket);
    let mut round = Round {
        evidence: Evidence::new(MARK, SEALING_KEY),
        token: canary("admin-token"),
        setup: setup.clone(),
    };
    let server = setup.start().await;
    round.set_secrets(&server).await;
    round.deploy(&server).await;
    round.use_it(&server).await;
    round.knock(&server).await;
    round.look(&server).await;
    let said = server.stderr();
    for library in ["bollard", "thermocline_plugin"] {
        let hidden = |line: &str| line.contains(library) && line.contains("[secret]");
        assert!(said.lines().any(hidden), "{library} has been told none");
    }
    round.evidence.keep("the first server's log", said);
    let refusal = "`describe refused`, stdout";
    assert!(round.evidence.shows(refusal, "[secret]"));
    drop(server.kill().await);
    round.open_files();
    let mut server = setup.start().await;
    round.use_it(&server).await;
    round.look(&server).await;
    server.terminate();
    server.ended().await;
    round
        .evidence
        .keep("the second server's log", server.stderr());
    let other = "b3RoZXIgMzIgYnl0ZXMgdGhhdCBhcmUgbm8ga2V5LS0=";
    let other = setup.env("THERMOCLINE_SECRETS_KEY", other);
    let refused = other.serve_to_end().await;
    assert_eq!(refused.code, 1, "{}", refused.err);
    assert!(refused.err.contains("does not open"), "{}", refused.err);
    round.evidence.keep("with another key", refused.err);
    round.open_files();
    round.evidence.holds_none();
}
