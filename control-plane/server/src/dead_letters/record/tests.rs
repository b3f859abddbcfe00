use bytes::Bytes;
use futures_util::FutureExt;
use thermocline_provider::fleet::ParkedRequest;
use thermocline_wire::fleet::{self, Job};

use super::*;

fn failure(worker: &str, kind: fleet::FailureKind, detail: &str) -> Failure {
    Failure {
        run: String::new(),
        worker: worker.into(),
        kind,
        status: None,
        detail: detail.into(),
        last: false,
    }
}

fn letter(cause: Cause, known: Vec<Failure>, payload: Option<&'static [u8]>) -> DeadLetter {
    let job = Job {
        id: "01JDXM5K9QZJ3V8W2R4T6Y8B0C".into(),
        deployment: "sdxl".into(),
        remaining_ms: 1_000,
        reply_to: "http://127.0.0.1:8082".into(),
        ticket: "sentinel".into(),
        payload_bytes: 7,
        traceparent: None,
        failures: Vec::new(),
    };
    let request = payload.map(|payload| ParkedRequest {
        deployment: "sdxl".into(),
        method: "POST".into(),
        target: "/v1/x".into(),
        headers: vec![("authorization".into(), "Bearer sentinel".into())],
        payload: Bytes::from_static(payload),
    });
    DeadLetter::new(job, cause, 3, (known, request), async {}.boxed())
}

fn given_up(class: fleet::Class, failure: Failure) -> Cause {
    Cause::GivenUp(
        serde_json::to_vec(&Obituary { class, failure })
            .unwrap()
            .into(),
    )
}

fn kept(letter: &DeadLetter) -> NewDeadLetter {
    record(letter, 4, &Redaction::default(), |_| None)
}

#[test]
fn b31_payload_attempts_and_the_last_error_are_kept_and_no_credential() {
    let last = failure("w1", fleet::FailureKind::TimedOut, "no answer in 30 s");
    let cause = given_up(fleet::Class::Transient, last.clone());
    let new = kept(&letter(cause, vec![last], Some(b"abcd")));
    assert_eq!(new.payload.as_deref(), Some(&b"abcd"[..]));
    assert_eq!((new.attempts, new.payload_bytes), (3, 4));
    assert_eq!(
        (&*new.kind, &*new.detail),
        ("timed_out", "no answer in 30 s")
    );
    assert_eq!(new.class, Class::Transient);
    assert_eq!(new.cut, r#"["header authorization"]"#);
    let failures: Vec<Value> = serde_json::from_str(&new.failures).unwrap();
    assert_eq!(failures.len(), 1);
    assert!(!format!("{new:?}").contains("sentinel"));
}

#[test]
fn a_payload_beyond_the_bound_is_cut_whole_and_so_is_what_nobody_holds() {
    let last = failure("w1", fleet::FailureKind::TimedOut, "");
    let cause = given_up(fleet::Class::Transient, last);
    let large = kept(&letter(cause.clone(), Vec::new(), Some(b"abcde")));
    assert_eq!((large.payload, large.payload_bytes), (None, 5));
    assert_eq!(large.cut, r#"["header authorization","payload"]"#);
    let gone = kept(&letter(cause, Vec::new(), None));
    assert_eq!((gone.head, gone.payload_bytes), (None, 7));
    assert_eq!(gone.cut, r#"["request"]"#);
}

#[test]
fn two_deaths_are_poison_whatever_the_worker_says() {
    let deaths = [
        failure("w1", fleet::FailureKind::WorkerLost, "went silent"),
        failure("w2", fleet::FailureKind::RuntimeDied, "exit 139"),
    ];
    let cause = given_up(fleet::Class::Transient, deaths[1].clone());
    assert_eq!(
        kept(&letter(cause, deaths.to_vec(), None)).class,
        Class::Poison
    );
    let told = failure("w2", fleet::FailureKind::TimedOut, "");
    let cause = given_up(fleet::Class::Deterministic, told);
    assert_eq!(
        kept(&letter(cause, Vec::new(), None)).class,
        Class::Deterministic
    );
}

#[test]
fn who_repeats_that_workers_were_lost_adds_no_failure() {
    let lost = |worker: &str, detail: &str| failure(worker, fleet::FailureKind::WorkerLost, detail);
    let deaths = vec![
        lost("w1", "its reports stopped"),
        lost("w2", "its reports stopped"),
    ];
    let told = lost("w3", "two workers died with it in hand");
    let new = kept(&letter(given_up(fleet::Class::Poison, told), deaths, None));
    let failures: Vec<Value> = serde_json::from_str(&new.failures).unwrap();
    assert_eq!((new.class, failures.len()), (Class::Poison, 2));
    assert_eq!(new.detail, "its reports stopped");
}

#[test]
fn what_nobody_told_of_is_no_poison_and_has_words_of_its_own() {
    let new = kept(&letter(Cause::Undeliverable, Vec::new(), Some(b"")));
    assert_eq!((new.class, &*new.kind), (Class::Transient, "worker_lost"));
    assert_eq!(new.detail, UNSETTLED);
    assert_eq!(new.payload.as_deref(), Some(&b""[..]));
    let unreadable = Cause::GivenUp(Bytes::from_static(b"not json"));
    assert_eq!(
        kept(&letter(unreadable, Vec::new(), None)).detail,
        UNSETTLED
    );
}

#[test]
fn what_workers_say_is_bounded_and_holds_no_secret() {
    let redaction = Redaction::default();
    redaction.hide("hf_Sentinel");
    let long = format!("hf_Sentinel {}", "é".repeat(1_000));
    let last = failure("w1", fleet::FailureKind::RuntimeFailed, &long);
    let cause = given_up(fleet::Class::Transient, last.clone());
    let many = letter(cause, vec![last; 80], None);
    let new = record(&many, 0, &redaction, |_| None);
    assert!(!new.failures.contains("hf_Sentinel"));
    assert_eq!(new.detail.chars().count(), LONGEST_DETAIL);
    let failures: Vec<Value> = serde_json::from_str(&new.failures).unwrap();
    assert_eq!(failures.len(), MOST_FAILURES);
}
