//! The same arrivals through the gateway on a clock that the test moves: it must
//! decide what the replay decides.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use thermocline_clock::{Clock, ManualClock};
use thermocline_policy::{Moment, Reason, Tier, UsdPerSecond};
use thermocline_provider::InstanceRequest;
use thermocline_simulate::{Assumptions, Candidate, Generator, Run, Switch};
use thermocline_support::backend::{Reply, Script};
use thermocline_support::client::RawClient;
use thermocline_support::provider::{Boot, FakeProvider};
use thermocline_support::system::{Setup, System, manual_clock};

use crate::{assumptions, at, seconds};

const SECOND: Duration = Duration::from_secs(1);
const SLOT: Duration = Duration::from_secs(10);
/// How long the endpoint takes to start, and each of its workers.
const COLD_START: Duration = Duration::from_secs(30);
/// How long a worker stays without work.
const WORKER_STAYS: Duration = Duration::from_secs(5);
/// How long the test waits in real time for what must happen.
const PATIENCE: Duration = Duration::from_secs(60);
/// Real time in which an answer comes that nothing has to happen for.
const AT_ONCE: Duration = Duration::from_millis(50);
/// Traffic begins when prices are known.
const LEAD_S: f64 = 40.0;
/// A provider is asked once a second, so a start is noticed that much later.
const NOTICED_S: f64 = 3.0;

/// From when on a worker is up, or was last at work.
type Up = Arc<Mutex<Moment>>;

/// A change of tier, or an idle stop: when (seconds), which tier, and by which rule.
type Move = (f64, String, String);

fn replayed(policy: Candidate, assumptions: &Assumptions, arrivals: &[Moment]) -> Vec<Move> {
    let mut run = Run::new(policy, assumptions);
    for now in arrivals {
        // Backends of the tests answer at once.
        run.arrive(*now, Duration::ZERO);
    }
    let told = |switch: &&Switch| switch.transition || switch.reason == Reason::Idle;
    let switches = run.switches().iter().filter(told);
    switches
        .map(|s| (seconds(s.at), s.to.to_string(), s.reason.to_string()))
        .collect()
}

/// A running system with the deployment `m`, its cloud `toy` and its time.
pub(crate) struct Live {
    time: ManualClock,
    /// From when on a worker is up.
    up: Up,
    pub(crate) cloud: FakeProvider,
    pub(crate) system: System,
}

impl Live {
    pub(crate) async fn start(mode: &str, wait: f64) -> Live {
        Live::started(spec(mode), wait).await
    }

    async fn started(spec: Value, wait: f64) -> Live {
        Live::on(spec, wait, |_, _| |_| Reply::ok("hello").into()).await
    }

    /// One whose serverless workers come and go.
    async fn with_workers(spec: Value, wait: f64) -> Live {
        let answers = |clock: Clock, up: Up| {
            move |request: &InstanceRequest| match request.tier {
                Tier::Serverless => worker(&clock, &up),
                _ => Reply::ok("hello").into(),
            }
        };
        Live::on(spec, wait, answers).await
    }

    async fn on<A>(spec: Value, wait: f64, answers: impl FnOnce(Clock, Up) -> A) -> Live
    where
        A: Fn(&InstanceRequest) -> Script + Send + Sync + 'static,
    {
        let time = manual_clock();
        let up = Up::default();
        let answers = answers(time.clock(), up.clone());
        let cloud = FakeProvider::new(&time.clock(), answers);
        cloud.set_boot_of(Tier::Pod, Boot::After(Duration::from_secs(150)));
        cloud.set_boot_of(Tier::Serverless, Boot::After(COLD_START));
        let mut setup = Setup::new().on(&time).provider("toy", cloud.clone());
        setup.defaults.value_of_wait = UsdPerSecond::of(wait).unwrap();
        let system = setup.start().await;
        system.admin.deploy(spec).await;
        Live {
            time,
            up,
            cloud,
            system,
        }
    }

    /// Time goes on to `to`: by seconds while a pod may change, else by slots,
    /// with a look at the end of each second in which a request came.
    pub(crate) async fn pass_to(&self, to: Moment, mut looks: Option<Moment>) {
        while self.time.now() < to {
            let now = self.time.now();
            let pods = self.cloud.truth().live.len() > 1;
            let step = if pods { SECOND } else { SLOT };
            looks = looks.filter(|look| *look > now);
            let next = looks.map_or(to, |look| look.min(to));
            let next = next.min(next_multiple(now, step));
            self.time.advance(now.until(next));
            self.settle().await;
        }
    }

    async fn settle(&self) {
        let began = real_now();
        loop {
            let metrics = self.system.admin.metrics().await;
            let read = |name: &str| sample(&metrics, &format!("thermocline_{name}"));
            let rests = read("passes_pending") == 0.0 && read("instances_worked_on") == 0.0;
            if read("tick_age_seconds") < 1.0 && rests {
                return;
            }
            assert!(began.elapsed() < PATIENCE, "the loops do not follow");
            breathe().await;
        }
    }

    /// `kill -9`, and a new process on the same store.
    pub(crate) async fn restart(self) -> Live {
        Live {
            system: self.system.crash().start().await,
            ..self
        }
    }

    /// A request that time passes for until it is answered: the first one starts the
    /// endpoint and waits for it.
    pub(crate) async fn ask(&self) {
        let answer = tokio::spawn(get(self.system.client().await));
        let mut sent = real_now();
        while !answer.is_finished() {
            breathe().await;
            let waits = *self.up.lock().unwrap() > self.time.now();
            if !answer.is_finished() && (waits || sent.elapsed() > AT_ONCE) {
                let next = next_multiple(self.time.now(), SECOND);
                self.pass_to(next, None).await;
                sent = real_now();
            }
        }
        answer.await.unwrap();
    }

    /// The prices that it knows, and the times that it has measured.
    async fn assumptions(&self) -> Assumptions {
        let path = "/deployments/m/decision";
        let (_, body) = self.system.admin.call(Method::GET, path, None).await;
        let number = |path: &str| body["costs"].pointer(path).and_then(Value::as_f64).unwrap();
        let mut assumptions = assumptions(number("/prices/value_of_wait_usd_per_s"));
        let model = &mut assumptions.model;
        model.prices.serverless = UsdPerSecond::of(number("/prices/serverless_usd_per_s"));
        model.prices.pod = UsdPerSecond::hourly(number("/prices/pod_usd_per_hour"));
        model.work.cold_start = Duration::from_secs_f64(number("/times/cold_start_s"));
        let objective = body["costs"]["objective"]["p95_s"].as_f64();
        assumptions.objective = objective.map(Duration::from_secs_f64);
        assumptions
    }

    pub(crate) async fn moves(&self) -> Vec<Move> {
        let path = "/deployments/m/decisions?limit=500";
        let (_, body) = self.system.admin.call(Method::GET, path, None).await;
        let items = body["items"].as_array().unwrap().iter().rev();
        items
            .filter(|item| item["refused"] == false && !item["from"].is_null())
            .map(|item| {
                let text = |key: &str| item[key].as_str().unwrap().to_owned();
                (since_start(&text("at")), text("to"), text("reason"))
            })
            .collect()
    }
}

fn spec(mode: &str) -> Value {
    json!({
        "name": "m", "image": "i:1", "port": 80,
        "tiers": {
            "serverless": { "provider": "toy", "idle_timeout": "5s" },
            "pod": { "provider": "toy", "idle_timeout": "10m" },
        },
        "policy": { "mode": mode, "promote_rps": 0.2, "demote_rps": 0.05 },
        "concurrency": { "max_concurrency": 16 },
    })
}

/// An endpoint whose one worker takes any number of requests, for no time.
fn worker(clock: &Clock, up: &Up) -> Script {
    let (clock, up) = (clock.clone(), up.clone());
    let work = Script::from_fn(move |_| {
        let (now, mut up) = (clock.now(), up.lock().unwrap());
        if now >= *up + WORKER_STAYS {
            *up = now + COLD_START;
        } else {
            *up = now.max(*up);
        }
        Reply::ok("hello").first_byte_delay(now.until(*up))
    });
    // Whatever else is asked wakes nobody.
    Script::always(Reply::ok("ready")).on("/x", work)
}

/// One request on a connection of its own: none outlives the gaps.
pub(crate) async fn get(mut client: RawClient) {
    let response = client.request("GET", "/d/m/x").send().await.unwrap();
    assert_eq!(response.status, 200, "{}", response.text());
}

fn next_multiple(now: Moment, step: Duration) -> Moment {
    let step = step.as_nanos() as u64;
    Moment::from_nanos((now.nanos() / step + 1) * step)
}

/// Seconds since the clock's start at 2027-01-15T08:00:00Z.
fn since_start(rfc3339: &str) -> f64 {
    let time = rfc3339.split_once('T').unwrap().1.trim_end_matches('Z');
    let parts: Vec<f64> = time.split(':').map(|part| part.parse().unwrap()).collect();
    (parts[0] - 8.0) * 3600.0 + parts[1] * 60.0 + parts[2]
}

pub(crate) fn sample(metrics: &str, name: &str) -> f64 {
    let line = metrics.lines().find_map(|line| line.strip_prefix(name));
    let value = line.and_then(|rest| rest.rsplit(' ').next()?.parse().ok());
    value.unwrap_or(f64::NAN)
}

#[allow(clippy::disallowed_methods)] // bounds a wait in real time
fn real_now() -> Instant {
    Instant::now()
}

/// Sockets and threads of the system are real.
#[allow(clippy::disallowed_methods)]
async fn breathe() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

/// The arrivals of `traffic`, after a first one that finds everything cold. At
/// whole seconds, so that the loops tick there and count what the replay counts.
fn arrivals(traffic: &str) -> Vec<Moment> {
    let generator: Generator = traffic.parse().unwrap();
    let rest = generator
        .arrivals(5)
        .map(|now| at(seconds(now).floor() + LEAD_S + 60.0));
    std::iter::once(at(LEAD_S)).chain(rest).collect()
}

async fn holds(mode: &str, wait: f64, traffic: &str) {
    let live = Live::with_workers(spec(mode), wait).await;
    holds_in(&live, mode, traffic).await;
}

async fn holds_in(live: &Live, mode: &str, traffic: &str) {
    // Who waits for a worker delays those behind it; the replay gets them as they came.
    let (mut came, mut looks) = (Vec::new(), None);
    for now in arrivals(traffic) {
        live.pass_to(now, looks).await;
        came.push(live.time.now());
        live.ask().await;
        looks = Some(next_multiple(live.time.now(), SECOND));
    }
    let arrivals = came;
    let seen = live.moves().await;
    let assumptions = live.assumptions().await;
    let expected = replayed(mode.parse().unwrap(), &assumptions, &arrivals);
    assert!(
        !expected.is_empty(),
        "traffic that moves nothing shows nothing"
    );
    let shape = |moves: &[Move]| -> Vec<(String, String)> {
        moves
            .iter()
            .map(|(_, to, reason)| (to.clone(), reason.clone()))
            .collect()
    };
    assert_eq!(shape(&seen), shape(&expected), "{seen:?}\n{expected:?}");
    for (live, replayed) in seen.iter().zip(&expected) {
        assert!(
            (live.0 - replayed.0).abs() <= NOTICED_S,
            "{seen:?}\n{expected:?}"
        );
    }
}

const TRAFFIC: &str = "on_off:rps=0.15,hours=2";

#[tokio::test]
async fn thresholds_decide_live_what_they_decide_replayed() {
    holds("thresholds", 0.0, TRAFFIC).await;
}

#[tokio::test]
async fn break_even_decides_live_what_it_decides_replayed() {
    holds("break_even", 0.0, TRAFFIC).await;
}

#[tokio::test]
async fn regret_decides_live_what_it_decides_replayed() {
    holds("regret", 0.0, TRAFFIC).await;
}

#[tokio::test]
async fn priced_waiting_moves_both_alike() {
    holds("regret", 0.005, TRAFFIC).await;
}

#[tokio::test]
async fn an_objective_moves_both_alike() {
    for mode in ["thresholds", "regret"] {
        let mut spec = spec(mode);
        spec["objective"] = json!({ "p95": "8s" });
        let live = Live::with_workers(spec, 0.0).await;
        holds_in(&live, mode, TRAFFIC).await;
        let moves = live.moves().await;
        let by_objective = |(_, to, reason): &Move| to == "pod" && reason == "objective";
        assert!(moves.iter().any(by_objective), "{mode}: {moves:?}");
    }
}
