//! What a network does: it cuts, it goes silent, it is not there at first.

use std::time::{Duration, Instant};

use futures_util::StreamExt;
use thermocline_broker::{
    Broker, Deliveries, Delivery, Limits, Lost, Obstacle, RabbitMq, RabbitMqAddress,
};
use thermocline_clock::Clock;

use crate::scene::{Scene, until};

async fn next(deliveries: &mut Deliveries) -> Delivery {
    let next = tokio::time::timeout(Duration::from_secs(20), deliveries.next());
    next.await.expect("nothing came").expect("it ended")
}

/// B32: the connection is cut while a job runs. The worker lives on, the job
/// comes again once, and what the worker does too late changes nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b32_a_cut_costs_one_redelivery() {
    let Some(scene) = Scene::open(Limits::default()).await else {
        return;
    };
    scene.broker.publish("q", "job".into()).await.unwrap();
    let mut deliveries = scene.broker.consume("q", 1).await.unwrap();
    let running = next(&mut deliveries).await;
    scene.proxy.cut();
    let again = next(&mut deliveries).await;
    assert_eq!((&again.body()[..], again.attempts()), (&b"job"[..], 1));
    assert_eq!(running.ack().await, Err(Lost));
    again.ack().await.unwrap();
    scene.broker.publish("q", "another".into()).await.unwrap();
    assert_eq!(&next(&mut deliveries).await.body()[..], b"another");
}

/// A peer that is gone without a word: noticed in ten seconds, every call ends
/// meanwhile, and nothing is left of the attempts to reach it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silent_network_is_noticed_and_survived() {
    let Some(scene) = Scene::open(Limits::default()).await else {
        return;
    };
    let mut deliveries = scene.broker.consume("q", 1).await.unwrap();
    scene.proxy.stall(true);
    let began = Instant::now();
    until("the silence is noticed", || {
        scene.broker.available().is_err()
    })
    .await;
    let noticed = began.elapsed();
    assert!(noticed <= Duration::from_secs(11), "after {noticed:?}");
    let began = Instant::now();
    scene.broker.publish("q", "a".into()).await.unwrap_err();
    scene.broker.depth("q").await.unwrap_err();
    assert!(began.elapsed() <= Duration::from_secs(16));
    scene.proxy.stall(false);
    until("it is connected again", || scene.broker.available().is_ok()).await;
    scene.broker.publish("q", "b".into()).await.unwrap();
    while &next(&mut deliveries).await.body()[..] != b"b" {}
    until("only the three connections are left", || io_threads() <= 3).await;
}

/// Threads of the AMQP library in this process, one for each connection of it.
fn io_threads() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").expect("a list");
    let names =
        tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names.filter(|name| name.starts_with("lapin-io")).count()
}

/// A broker that is away at first is no reason not to start; what is refused
/// meanwhile says so without the password.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_that_comes_later_is_found() {
    let Some(mut scene) = Scene::open(Limits::default()).await else {
        return;
    };
    scene.server.kill();
    let address =
        RabbitMqAddress::parse(&scene.server.url().replace("guest:guest", "guest:guest%20"))
            .unwrap();
    let unwelcome = RabbitMq::start(address, "two", Limits::default(), Clock::system());
    let address = RabbitMqAddress::parse(&scene.server.url()).unwrap();
    let late = RabbitMq::start(address, "two", Limits::default(), Clock::system());
    let told = late.publish("q", "a".into()).await.unwrap_err().to_string();
    assert!(told.contains("away") && !told.contains("guest"), "{told}");
    scene.server.boot().await;
    until("it is connected", || late.available().is_ok()).await;
    late.publish("q", "b".into()).await.unwrap();
    assert!(late.take("q").await.unwrap().is_some());
    until("it is told why", || {
        told_of(&unwelcome).contains("ACCESS_REFUSED")
    })
    .await;
    assert!(!told_of(&unwelcome).contains("guest%20"));
}

/// Nobody looks for a network that is down where a word of the URL is wrong.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_refused_learns_that_the_broker_was_reached_and_what_it_refused() {
    let Some(mut scene) = Scene::open(Limits::default()).await else {
        return;
    };
    let url = scene.server.url();
    let kept_out_by = async |url: String, by: Obstacle| {
        let address = RabbitMqAddress::parse(&url).unwrap();
        let broker = RabbitMq::start(address, "two", Limits::default(), Clock::system());
        let obstacle = || broker.available().err().map(|error| error.obstacle());
        until(&by.to_string(), || obstacle() == Some(by)).await;
    };
    kept_out_by(url.replace("guest:guest", "guest:guess"), Obstacle::User).await;
    kept_out_by(format!("{url}/nowhere"), Obstacle::VirtualHost).await;
    scene.server.kill();
    until("it is away", || scene.broker.available().is_err()).await;
    let away = scene.broker.available().unwrap_err();
    assert_eq!(away.obstacle(), Obstacle::Unreached);
}

fn told_of(broker: &RabbitMq) -> String {
    broker.available().expect_err("it is away").to_string()
}
