//! Requests that the router sends to the shared fleet, and a worker that answers them.

use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use reqwest::{Client, Method, Response};
use serde_json::{Value, json};
use thermocline_broker::{Broker, Delivery, Limits, MemoryBroker};
use thermocline_clock::Clock;
use thermocline_fleet::{Fleet, Settings};
use thermocline_policy::VOUCHER_HEADER;
use thermocline_provider::fleet::{FleetResult, SeenQueue, SharedFleet};
use thermocline_support::system::{Setup, System};
use thermocline_wire::fleet::{Claim, Grant, Job, ResultHead, frame};

/// The fleet of one process, and its broker.
struct Scene {
    fleet: Arc<Fleet>,
    broker: Arc<MemoryBroker>,
}

impl Scene {
    async fn new() -> Scene {
        let broker = Arc::new(MemoryBroker::new(Clock::system(), &Limits::default()));
        let settings = Settings {
            listen: ([127, 0, 0, 1], 0).into(),
            ..Settings::default()
        };
        let fleet = Fleet::connect(settings, broker.clone(), Clock::system());
        Scene {
            fleet: Arc::new(fleet.await.unwrap()),
            broker,
        }
    }

    /// A system that has no other provider.
    async fn system(&self, mut setup: Setup) -> System {
        setup.providers = vec![("fleet".to_owned(), self.fleet.clone())];
        setup.fleet = Some(self.fleet.clone());
        setup.start().await
    }

    /// The next job of `m`, once there is one.
    async fn take(&self) -> Delivery {
        loop {
            if let Some(delivery) = self.broker.take("m").await.unwrap() {
                return delivery;
            }
            tokio::task::yield_now().await;
        }
    }

    /// A request is parked.
    async fn parked(&self) {
        while self.fleet.tally().parked == 0 {
            tokio::task::yield_now().await;
        }
    }

    /// The queue of `m` asks for so much memory.
    async fn asks_for(&self, memory_mib: u64) {
        let asks = |queue: &SeenQueue| queue.terms.memory_mib == memory_mib;
        while !self.fleet.queues().iter().any(asks) {
            tokio::task::yield_now().await;
        }
    }

    /// How requests ended, once one did.
    async fn ended(&self) -> Vec<FleetResult> {
        loop {
            let tally = self.fleet.tally();
            let ended = FleetResult::ALL.into_iter().filter(|it| tally.of(*it) > 0);
            let ended: Vec<FleetResult> = ended.collect();
            if !ended.is_empty() {
                return ended;
            }
            tokio::task::yield_now().await;
        }
    }

    /// Answers the next job of `m`; what the worker was told.
    async fn answer_one(&self) -> Grant {
        self.answer_with(200, Vec::new()).await
    }

    /// The same, with this status and these headers.
    async fn answer_with(&self, status: u16, headers: Vec<(String, String)>) -> Grant {
        let delivery = self.take().await;
        let job: Job = serde_json::from_slice(delivery.body()).unwrap();
        let claim = Claim {
            worker: "w".to_owned(),
            incarnation: "1".to_owned(),
            ticket: job.ticket.clone(),
            attempts: 0,
        };
        let claim = serde_json::to_vec(&claim).unwrap();
        let mut claimed = self.call(&job, "claim", claim).await;
        let grant = grant(&mut claimed).await;
        let head = ResultHead {
            run: grant.run.clone(),
            status,
            headers,
            coding: "identity".to_owned(),
            queue_ms: 0,
            load_ms: 0,
            loaded: None,
        };
        let mut result = frame(&head).unwrap();
        result.extend(b"picture");
        assert_eq!(self.call(&job, "result", result).await.status(), 204);
        delivery.ack().await.unwrap();
        grant
    }

    async fn call(&self, job: &Job, call: &str, body: Vec<u8>) -> Response {
        let client = Client::builder().no_proxy().build().unwrap();
        let url = format!("{}/v1/jobs/{}/{call}", job.reply_to, job.id);
        let token = self.fleet.own_worker().token;
        let request = client.post(url).bearer_auth(token).body(body);
        request.send().await.unwrap()
    }
}

/// The grant at the beginning of a claim's response.
async fn grant(response: &mut Response) -> Grant {
    let mut read = BytesMut::new();
    loop {
        if let Some(length) = read.first_chunk::<4>() {
            let end = 4 + u32::from_be_bytes(*length) as usize;
            if let Some(json) = read.get(4..end) {
                return serde_json::from_slice(json).unwrap();
            }
        }
        read.extend_from_slice(&response.chunk().await.unwrap().unwrap());
    }
}

fn spec() -> Value {
    json!({
        "name": "m", "image": "image", "port": 8000,
        "health": { "ready": { "path": "/ready", "status": [204], "initializing": [503] } },
        "tiers": { "serverless": { "provider": "fleet", "max_workers": 2 } },
        "concurrency": { "strategy": "exclusive" },
        "limits": { "deadline": "30s" },
    })
}

async fn ask(system: &System) -> thermocline_support::client::Response {
    let mut client = system.client().await;
    let request = client.request("POST", "/d/m/generate?n=1");
    let request = request.header("x-thermocline-remaining-ms", "1");
    request.body("prompt").send().await.unwrap()
}

#[tokio::test]
async fn a_deployment_of_the_fleet_is_answered_by_whoever_takes_its_job() {
    let scene = Scene::new().await;
    let system = scene.system(Setup::new()).await;
    system.admin.deploy(spec()).await;
    let (response, grant) = tokio::join!(ask(&system), scene.answer_one());
    assert_eq!(
        (response.status, response.text().as_str()),
        (200, "picture")
    );
    assert_eq!(response.header("x-thermocline-tier"), Some("serverless"));
    assert_eq!(grant.target, "/generate?n=1");
    // The deadline is the deployment's: a client cannot say what remains.
    assert!(
        (20_000..30_000).contains(&grant.remaining_ms),
        "{}",
        grant.remaining_ms
    );
    let forwarded =
        |(name, value): &(String, String)| name == "x-forwarded-prefix" && value == "/d/m";
    assert!(grant.headers.iter().any(forwarded), "{:?}", grant.headers);
}

#[tokio::test]
async fn an_exclusive_model_has_as_many_requests_as_workers() {
    let scene = Scene::new().await;
    let system = scene.system(Setup::new()).await;
    system.admin.deploy(spec()).await;
    let (first, second, ()) = tokio::join!(ask(&system), ask(&system), async {
        let both = (scene.take().await, scene.take().await);
        drop(both); // they come again
        scene.answer_one().await;
        scene.answer_one().await;
    });
    assert_eq!((first.status, second.status), (200, 200));
}

#[tokio::test]
async fn a_new_process_serves_what_the_old_one_had_at_once() {
    let scene = Scene::new().await;
    let system = scene.system(Setup::new()).await;
    system.admin.deploy(spec()).await;
    let (response, _) = tokio::join!(ask(&system), scene.answer_one());
    assert_eq!(response.status, 200);
    let scene = Scene::new().await;
    let system = scene.system(system.crash()).await;
    let answered = async { tokio::join!(ask(&system), scene.answer_one()) };
    let answered = tokio::time::timeout(Duration::from_secs(10), answered).await;
    assert_eq!(answered.unwrap().0.status, 200);
}

#[tokio::test]
async fn a_client_whose_first_byte_is_late_has_not_left() {
    let scene = Scene::new().await;
    let system = scene.system(Setup::new()).await;
    let mut spec = spec();
    spec["limits"] = json!({ "deadline": "30s", "first_byte": "1s" });
    system.admin.deploy(spec).await;
    assert_eq!(ask(&system).await.status, 504);
    assert_eq!(scene.ended().await, [FleetResult::Expired]);
}

#[tokio::test]
async fn a_start_that_no_worker_makes_is_waited_for_as_long_as_the_client_says() {
    let scene = Scene::new().await;
    let system = scene.system(Setup::new()).await;
    system.admin.deploy(spec()).await;
    let mut client = system.client().await;
    let request = client.request("POST", "/d/m/generate");
    let request = request.header("x-scale-up-timeout", "1s");
    let response = request.body("prompt").send().await.unwrap();
    assert_eq!(response.status, 503);
    assert!(
        response.text().contains("cold_start_timeout"),
        "{}",
        response.text()
    );
    assert_eq!(scene.ended().await, [FleetResult::ColdStartTimeout]);
}

#[tokio::test]
async fn a_deletion_does_not_wait_for_requests_that_nobody_would_begin() {
    let scene = Scene::new().await;
    let system = scene.system(Setup::new()).await;
    system.admin.deploy(spec()).await;
    let (response, ()) = tokio::join!(ask(&system), async {
        scene.parked().await;
        let delete = system.admin.call(Method::DELETE, "/deployments/m", None);
        assert_eq!(delete.await.0, 202);
        system.admin.wait_status("m", Value::is_null).await;
    });
    assert_eq!(response.status, 503);
    assert!(
        response.text().contains("unavailable"),
        "{}",
        response.text()
    );
    assert_eq!(scene.ended().await, [FleetResult::Unavailable]);
}

#[tokio::test]
async fn updates_do_not_wait_for_requests_that_nobody_has_begun() {
    let scene = Scene::new().await;
    let system = scene.system(Setup::new()).await;
    system.admin.deploy(spec()).await;
    let (response, ()) = tokio::join!(ask(&system), async {
        scene.parked().await;
        for (vram, mib) in [("1GiB", 1 << 10), ("2GiB", 2 << 10), ("3GiB", 3 << 10)] {
            let change = json!({ "resources": { "vram": vram } });
            system.admin.patch("m", change).await;
            scene.asks_for(mib).await;
        }
        scene.answer_one().await;
    });
    assert_eq!(response.status, 200);
}

/// Of how many requests of `m` the metrics say that they ended as `outcome` says.
async fn counted(system: &System, outcome: &str) -> u64 {
    let metrics = system.admin.metrics().await;
    let of_it = |line: &&str| {
        line.starts_with("thermocline_requests_total")
            && line.contains(&format!("outcome=\"{outcome}\""))
    };
    let counts = metrics.lines().filter(of_it);
    counts
        .map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap())
        .sum()
}

#[tokio::test]
async fn what_the_fleet_answers_itself_is_no_answer_of_a_model() {
    let scene = Scene::new().await;
    let system = scene.system(Setup::new()).await;
    system.admin.deploy(spec()).await;
    let mut client = system.client().await;
    let request = client.request("POST", "/d/m/generate");
    let request = request.header("x-scale-up-timeout", "1s");
    let response = request.body("prompt").send().await.unwrap();
    assert_eq!(response.status, 503);
    assert_eq!(response.header(VOUCHER_HEADER), None);
    assert_eq!(counted(&system, "unavailable").await, 1);
    let request = client.request("POST", "/d/m/generate");
    let large = request.pattern(65 << 20, false).send().await.unwrap();
    assert_eq!(large.status, 413);
    assert_eq!(counted(&system, "client_error").await, 1);
}

#[tokio::test]
async fn a_model_cannot_pass_its_failure_off_as_the_fleets() {
    let scene = Scene::new().await;
    let system = scene.system(Setup::new()).await;
    system.admin.deploy(spec()).await;
    let forged = vec![(VOUCHER_HEADER.to_owned(), "guess".to_owned())];
    let answer = scene.answer_with(503, forged);
    let (response, _) = tokio::join!(ask(&system), answer);
    assert_eq!(
        (response.status, response.header(VOUCHER_HEADER)),
        (503, None)
    );
    assert_eq!(counted(&system, "backend_error").await, 1);
}

#[tokio::test]
async fn what_is_too_large_for_the_fleet_is_refused_before_it_is_sent() {
    let scene = Scene::new().await;
    let system = scene.system(Setup::new()).await;
    system.admin.deploy(spec()).await;
    let mut client = system.client().await;
    let request = client
        .request("POST", "/d/m/x")
        .header("expect", "100-continue");
    let request = request.header("content-length", (100 << 20).to_string());
    request.send_head().await.unwrap();
    assert_eq!(
        client.read_head().await.unwrap().status,
        413,
        "no 100 comes before"
    );
    let mut client = system.client().await;
    let asked = async {
        let request = client
            .request("POST", "/d/m/x")
            .header("expect", "100-continue");
        request.body("prompt").send().await.unwrap()
    };
    let (response, _) = tokio::join!(asked, scene.answer_one());
    assert_eq!((response.status, response.interim.len()), (200, 1));
}

#[tokio::test]
async fn who_closes_its_side_in_the_middle_of_its_body_has_left() {
    let scene = Scene::new().await;
    let system = scene.system(Setup::new()).await;
    system.admin.deploy(spec()).await;
    let mut client = system.client().await;
    let request = client
        .request("POST", "/d/m/x")
        .header("content-length", "9");
    request.send_head().await.unwrap();
    client.send_raw("half").await.unwrap();
    while scene.fleet.tally().held_bytes == 0 {
        tokio::task::yield_now().await;
    }
    client.halves().0.close_sending().unwrap();
    assert_eq!(client.read_head().await.unwrap().status, 400);
    assert_eq!(counted(&system, "client_left").await, 1);
    assert_eq!(scene.ended().await, [FleetResult::ClientLeft]);
}
