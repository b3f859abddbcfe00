use thermocline_policy::{NanoUsd, Tier};
use thermocline_store::{
    LedgerEntry, Measure, MeasureRow, Postings, SlotArrivals, Store, WhatIfEntry,
};

use crate::support::{in_memory, with_deployments};

fn paid(hour: i64, name: &str, nano_usd: i64) -> LedgerEntry {
    LedgerEntry {
        hour,
        deployment: name.to_owned(),
        tier: Tier::Pod,
        provider: "toy".to_owned(),
        micros: nano_usd * 2,
        cost: NanoUsd(nano_usd),
        idle: NanoUsd(nano_usd / 2),
    }
}

fn of(ledger: Vec<LedgerEntry>) -> Postings {
    Postings {
        ledger,
        ..Postings::default()
    }
}

async fn post(store: &Store, postings: &Postings) {
    store.post(postings, 0).await.unwrap();
}

#[tokio::test]
async fn amounts_of_one_hour_add_up_to_the_last_billionth() {
    let store = in_memory().await;
    for _ in 0..3 {
        post(
            &store,
            &of(vec![paid(5, "a", 1_000_000_002), paid(6, "a", 8)]),
        )
        .await;
    }
    let rows = store.ledger(5, 6).await.unwrap();
    assert_eq!(rows, [paid(5, "a", 3_000_000_006)]);
    let all = store.paid().await.unwrap();
    assert_eq!(all, [paid(0, "a", 3_000_000_030)]);
}

/// However absurd a price was: the books are written and read again.
#[tokio::test]
async fn sums_beyond_all_money_stay_at_the_largest() {
    let store = in_memory().await;
    let all = |hour| LedgerEntry {
        micros: i64::MAX,
        cost: NanoUsd(i64::MAX),
        idle: NanoUsd(i64::MAX),
        ..paid(hour, "a", 0)
    };
    post(&store, &of(vec![all(5), all(5), all(6), paid(6, "a", 8)])).await;
    assert_eq!(store.ledger(5, 6).await.unwrap(), [all(5)]);
    assert_eq!(store.paid().await.unwrap(), [all(0)]);
    assert_eq!(store.spent(None, 5).await.unwrap(), NanoUsd(i64::MAX));
}

#[tokio::test]
async fn what_was_spent_is_known_by_deployment_and_in_all() {
    let store = in_memory().await;
    let postings = of(vec![paid(1, "a", 10), paid(2, "a", 5), paid(2, "b", 100)]);
    post(&store, &postings).await;
    let spent = async |name: Option<&str>, from| store.spent(name, from).await.unwrap();
    assert_eq!(spent(Some("a"), 1).await, NanoUsd(15));
    assert_eq!(spent(Some("a"), 2).await, NanoUsd(5));
    assert_eq!(spent(None, 2).await, NanoUsd(105));
    assert_eq!(spent(Some("nobody"), 0).await, NanoUsd(0));
}

#[tokio::test]
async fn what_would_have_been_adds_up_too() {
    let store = in_memory().await;
    let entry = WhatIfEntry {
        hour: 3,
        deployment: "a".to_owned(),
        arrivals: 2,
        paid: NanoUsd(40),
        serverless: NanoUsd(30),
        pod: NanoUsd(20),
        optimum: NanoUsd(10),
    };
    let later = WhatIfEntry {
        hour: 12,
        ..entry.clone()
    };
    let postings = Postings {
        what_if: vec![entry.clone(), entry.clone(), later],
        ..Postings::default()
    };
    post(&store, &postings).await;
    let rows = store.what_if(0, 10).await.unwrap();
    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0].arrivals, rows[0].optimum), (4, NanoUsd(20)));
    assert_eq!(rows[0].paid, NanoUsd(80));
    assert!(store.what_if(4, 10).await.unwrap().is_empty());
    let ever = store.compared().await.unwrap();
    assert_eq!(ever.len(), 1);
    assert_eq!((ever[0].arrivals, ever[0].pod), (6, NanoUsd(60)));
}

#[tokio::test]
async fn old_arrivals_are_dropped_and_new_ones_come_in_order() {
    let store = in_memory().await;
    let slot = |slot| SlotArrivals {
        slot,
        deployment: "a".to_owned(),
        arrivals: 3,
    };
    let postings = Postings {
        arrivals: vec![slot(30), slot(10), slot(20)],
        ..Postings::default()
    };
    post(&store, &postings).await;
    assert_eq!(
        store.arrivals(10).await.unwrap(),
        [slot(10), slot(20), slot(30)]
    );
    store.post(&Postings::default(), 20).await.unwrap();
    assert_eq!(store.arrivals(0).await.unwrap(), [slot(20), slot(30)]);
}

#[tokio::test]
async fn measures_go_with_their_deployment() {
    let store = in_memory().await;
    with_deployments(&store, &["a"]).await;
    let row = |name: &str, millis| MeasureRow {
        deployment: name.to_owned(),
        tier: Tier::Serverless,
        what: Measure::Start,
        counts: vec![(millis, 4), (9_000, 1)],
    };
    store.save_measures(&[row("a", 1)]).await.unwrap();
    store
        .save_measures(&[row("gone", 1), row("a", 2)])
        .await
        .unwrap();
    assert_eq!(store.measures().await.unwrap(), [row("a", 2)]);
}
