use std::time::{Duration, SystemTime};

use serde_json::json;
use thermocline_clock::{Clock, ManualClock};
use thermocline_policy::Tier;
use thermocline_provider::conformance::{self, Setup};
use thermocline_provider::{
    Deletion, InstanceRequest, Provider, ProviderErrorKind, ProviderInstance, ProviderState,
};

use super::*;
use crate::backend::{Latch, Reply, Script};
use crate::client::RawClient;

pub(super) fn request() -> InstanceRequest {
    let request = json!({
        "owner": "us", "deployment": "m1", "tier": "pod", "image": "image", "port": 8000,
        "gpus": 1, "ready_path": "/ready",
    });
    serde_json::from_value(request).unwrap()
}

pub(super) fn provider() -> FakeProvider {
    provider_on(&Clock::system())
}

fn provider_on(clock: &Clock) -> FakeProvider {
    FakeProvider::new(clock, |request| {
        Script::always(Reply::ok(request.deployment.clone()))
    })
}

fn manual() -> ManualClock {
    ManualClock::starting_at(SystemTime::UNIX_EPOCH)
}

async fn connect(instance: &ProviderInstance) -> Option<RawClient> {
    let address = instance.address.as_ref()?.url.strip_prefix("http://")?;
    RawClient::connect(address.parse().unwrap()).await.ok()
}

async fn ready(provider: &FakeProvider) -> ProviderInstance {
    let is_ready = |truth: &Truth| truth.live.iter().all(|it| it.state == ProviderState::Ready);
    provider.wait_for(is_ready).await.live[0].clone()
}

#[tokio::test]
async fn it_keeps_every_clause() {
    for (boot, page_size) in [
        (Boot::AtOnce, 100),
        (Boot::After(Duration::from_millis(20)), 1),
    ] {
        let provider = provider();
        provider.set_boot(boot);
        provider.set_page_size(page_size);
        let mut setup = Setup::new(request());
        setup.poll_every = Duration::from_millis(1);
        let report = conformance::run(&provider, &setup).await;
        assert!(report.passed(), "{report}");
        assert!(provider.truth().live.is_empty());
    }
}

#[tokio::test]
async fn an_instance_is_a_backend_with_the_script_of_its_request() {
    let provider = provider();
    let made = provider.create("k1", &request()).await.unwrap();
    let mut client = connect(&made).await.unwrap();
    let response = client.request("GET", "/").send().await.unwrap();
    assert_eq!(response.text(), "m1");
    assert_eq!(provider.backend(&made.id).unwrap().seen().requests.len(), 1);
    assert_eq!(provider.delete(&made.id).await.unwrap(), Deletion::Accepted);
    assert!(connect(&made).await.is_none());
    assert_eq!(provider.backends().len(), 1);
}

#[tokio::test]
async fn boots_follow_the_clock_or_the_test() {
    let manual = manual();
    let provider = provider_on(&manual.clock());
    provider.set_boot(Boot::After(Duration::from_secs(180)));
    let made = provider.create("k1", &request()).await.unwrap();
    assert_eq!(made.state, ProviderState::Starting);
    manual.advance(Duration::from_secs(180));
    assert!(connect(&ready(&provider).await).await.is_some());
    provider.set_boot_of(Tier::Pod, Boot::WhenReleased);
    let second = provider.create("k2", &request()).await.unwrap();
    assert_eq!(second.state, ProviderState::Starting);
    provider.release_ready("k2");
    ready(&provider).await;
}

#[tokio::test]
async fn an_address_may_come_before_anyone_listens() {
    let manual = manual();
    let provider = provider_on(&manual.clock());
    provider.set_boot(Boot::ListensAfter(Duration::from_secs(1)));
    let made = provider.create("k1", &request()).await.unwrap();
    assert_eq!(made.state, ProviderState::Ready);
    assert!(connect(&made).await.is_none());
    manual.advance(Duration::from_secs(1));
    let listens = |_: &Truth| provider.backend(&made.id).is_some();
    provider.wait_for(listens).await;
    assert!(connect(&made).await.is_some());
}

#[tokio::test]
async fn an_exit_is_told_with_its_code() {
    let manual = manual();
    let provider = provider_on(&manual.clock());
    provider.set_boot(Boot::Exits(Duration::from_secs(2), 1));
    provider.create("k1", &request()).await.unwrap();
    manual.advance(Duration::from_secs(2));
    let failed = |truth: &Truth| truth.live[0].state == ProviderState::Failed;
    let truth = provider.wait_for(failed).await;
    assert_eq!(truth.live[0].detail, "exit code 1");
}

#[tokio::test]
async fn a_create_may_fail_before_or_after_its_effect() {
    let provider = provider();
    let refused = Fault::Refused(ProviderErrorKind::NoCapacity);
    provider.fail_next(Call::Create, 1, refused);
    let lost = Fault::LostReply(ProviderErrorKind::Unavailable);
    provider.fail_next(Call::Create, 1, lost);
    let first = provider.create("k1", &request()).await.unwrap_err();
    assert_eq!(first.kind, ProviderErrorKind::NoCapacity);
    assert!(provider.truth().live.is_empty());
    let second = provider.create("k1", &request()).await.unwrap_err();
    assert_eq!(second.kind, ProviderErrorKind::Unavailable);
    assert_eq!(provider.truth().live[0].key, "k1");
    provider.create("k1", &request()).await.unwrap();
    let truth = provider.truth();
    assert_eq!((truth.created, truth.count(Call::Create)), (1, 3));
}

#[tokio::test]
async fn capacity_limits_what_exists() {
    let provider = provider();
    provider.set_capacity(1);
    let made = provider.create("k1", &request()).await.unwrap();
    let full = provider.create("k2", &request()).await.unwrap_err();
    assert_eq!(full.kind, ProviderErrorKind::NoCapacity);
    provider.delete(&made.id).await.unwrap();
    provider.create("k2", &request()).await.unwrap();
    assert_eq!(provider.truth().most_live, 1);
}

#[tokio::test]
async fn what_is_young_may_stay_hidden() {
    let provider = provider();
    provider.hide_young_from(Call::List, 2);
    provider.hide_young_from(Call::Get, 1);
    provider.hide_young_from(Call::Delete, 1);
    let made = provider.create("k1", &request()).await.unwrap();
    let mut listed = Vec::new();
    for _ in 0..3 {
        listed.push(provider.list("us", None).await.unwrap().instances.len());
    }
    assert_eq!(listed, [0, 0, 1]);
    assert_eq!(provider.get(&made.id).await.unwrap(), None);
    assert!(provider.get(&made.id).await.unwrap().is_some());
    assert_eq!(provider.delete(&made.id).await.unwrap(), Deletion::Unknown);
    assert_eq!(provider.delete(&made.id).await.unwrap(), Deletion::Accepted);
}

#[tokio::test]
async fn a_list_may_lie_or_say_that_it_is_not_complete() {
    let provider = provider();
    provider.create("k1", &request()).await.unwrap();
    provider.fail_next(Call::List, 1, Fault::Blind);
    provider.fail_next(Call::List, 1, Fault::Incomplete);
    for complete in [true, false] {
        let page = provider.list("us", None).await.unwrap();
        assert_eq!((page.instances.len(), page.complete), (0, complete));
    }
    assert_eq!(provider.list("us", None).await.unwrap().instances.len(), 1);
}

#[tokio::test]
async fn deletes_are_refused_until_the_test_relents() {
    let provider = provider();
    let made = provider.create("k1", &request()).await.unwrap();
    let repaired = Latch::new();
    let refused = Fault::Refused(ProviderErrorKind::Auth);
    provider.fail_until(Call::Delete, &repaired, refused);
    for _ in 0..3 {
        assert!(provider.delete(&made.id).await.is_err());
    }
    assert_eq!(provider.truth().live.len(), 1);
    repaired.open();
    provider.delete(&made.id).await.unwrap();
    assert!(provider.truth().live.is_empty());
}

#[tokio::test]
async fn stopping_may_take_its_time() {
    let provider = provider();
    let stopped = Latch::new();
    provider.stop_slowly(&stopped);
    let made = provider.create("k1", &request()).await.unwrap();
    for _ in 0..2 {
        assert_eq!(provider.delete(&made.id).await.unwrap(), Deletion::Accepted);
    }
    let stopping = provider.get(&made.id).await.unwrap().unwrap();
    assert_eq!(stopping.state, ProviderState::Stopping);
    stopped.open();
    let truth = provider.wait_for(|truth| truth.live.is_empty()).await;
    assert_eq!(truth.deleted, 1);
}

#[tokio::test]
async fn an_instance_can_vanish() {
    let provider = provider();
    let made = provider.create("k1", &request()).await.unwrap();
    provider.vanish(&made.id).await;
    assert!(connect(&made).await.is_none());
    assert_eq!(provider.get(&made.id).await.unwrap(), None);
    assert_eq!(provider.truth().deleted, 0);
}

#[tokio::test]
async fn a_held_call_waits() {
    let provider = provider();
    let latch = Latch::new();
    provider.hold(Call::Create, &latch);
    let creating = tokio::spawn({
        let provider = provider.clone();
        async move { provider.create("k1", &request()).await }
    });
    let truth = provider
        .wait_for(|truth| truth.count(Call::Create) == 1)
        .await;
    assert_eq!(truth.created, 0);
    latch.open();
    creating.await.unwrap().unwrap();
    assert_eq!(provider.truth().created, 1);
}
