use std::time::Duration;

use super::stage::{said, same};
use super::{Checked, Stage, Trial, trial};
use crate::Lost;

pub(super) const TRIALS: &[Trial] = &[
    trial!(
        "dropped",
        "What is dropped unsettled comes again with one attempt more.",
        dropped
    ),
    trial!(
        "holder-lost",
        "What a lost holder had comes again with one attempt more, to a subscription of before too.",
        holder_lost
    ),
    trial!(
        "late-settling",
        "A holder who lost it can neither settle nor renew.",
        late_settling
    ),
    trial!(
        "late-retry",
        "A holder who lost it publishes and buries nothing.",
        late_retry
    ),
    trial!(
        "renewed",
        "A holder who renews keeps it beyond any lease.",
        renewed
    ),
    trial!(
        "unsubscribed",
        "What was delivered stays with its holder when the subscription ends.",
        unsubscribed
    ),
    trial!(
        "unsubscribed-rest",
        "What a subscription did not hand out waits for others when it ends, uncounted.",
        unsubscribed_rest
    ),
];

async fn dropped(stage: &Stage<'_>) -> Checked {
    stage.publish(&["a"]).await?;
    let mut deliveries = stage.consume(1).await?;
    for attempts in 0..3 {
        drop(stage.expect(&mut deliveries, "a", attempts).await?);
    }
    said(stage.expect(&mut deliveries, "a", 3).await?.ack().await)
}

async fn holder_lost(stage: &Stage<'_>) -> Checked {
    stage.publish(&["a"]).await?;
    let mut deliveries = stage.consume(1).await?;
    let _held = stage.expect(&mut deliveries, "a", 0).await?;
    stage.subject.lose_holders().await;
    said(stage.expect(&mut deliveries, "a", 1).await?.ack().await)
}

async fn late_settling(stage: &Stage<'_>) -> Checked {
    stage.publish(&["a"]).await?;
    let mut deliveries = stage.consume(1).await?;
    let held = stage.expect(&mut deliveries, "a", 0).await?;
    stage.subject.lose_holders().await;
    same(held.renew().await, Err(Lost))?;
    same(held.ack().await, Err(Lost))?;
    let again = stage.expect(&mut deliveries, "a", 1).await?;
    stage.subject.lose_holders().await;
    same(again.give_back().await, Err(Lost))?;
    said(stage.expect(&mut deliveries, "a", 2).await?.ack().await)
}

async fn late_retry(stage: &Stage<'_>) -> Checked {
    stage.publish(&["a"]).await?;
    let mut deliveries = stage.consume(1).await?;
    let held = stage.expect(&mut deliveries, "a", 0).await?;
    stage.subject.lose_holders().await;
    same(held.retry("b".into(), Duration::ZERO).await, Err(Lost))?;
    let held = stage.expect(&mut deliveries, "a", 1).await?;
    stage.subject.lose_holders().await;
    same(held.bury("b".into(), "why".into()).await, Err(Lost))?;
    said(stage.expect(&mut deliveries, "a", 2).await?.ack().await)?;
    stage.silent(&mut deliveries).await
}

async fn renewed(stage: &Stage<'_>) -> Checked {
    stage.publish(&["a"]).await?;
    let mut deliveries = stage.consume(1).await?;
    let held = stage.expect(&mut deliveries, "a", 0).await?;
    let lease = stage.broker().lease().unwrap_or(Duration::from_millis(100));
    for _ in 0..8 {
        stage.subject.pass(lease / 2).await;
        said(held.renew().await)?;
    }
    stage.deep(0).await?;
    said(held.ack().await)
}

async fn unsubscribed(stage: &Stage<'_>) -> Checked {
    stage.publish(&["a"]).await?;
    let mut deliveries = stage.consume(1).await?;
    let held = stage.expect(&mut deliveries, "a", 0).await?;
    drop(deliveries);
    stage.silent(&mut stage.consume(1).await?).await?;
    said(held.ack().await)?;
    stage.deep(0).await
}

async fn unsubscribed_rest(stage: &Stage<'_>) -> Checked {
    let mut deliveries = stage.consume(3).await?;
    stage.publish(&["a", "b", "c"]).await?;
    let held = stage.expect(&mut deliveries, "a", 0).await?;
    drop(deliveries);
    let mut deliveries = stage.consume(3).await?;
    let others = [
        stage.next(&mut deliveries).await?,
        stage.next(&mut deliveries).await?,
    ];
    let mut seen = others.map(|other| (other.body().to_vec(), other.attempts()));
    seen.sort();
    same(seen, [(b"b".to_vec(), 0), (b"c".to_vec(), 0)])?;
    said(held.ack().await)
}
