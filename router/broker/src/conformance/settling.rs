use std::time::Duration;

use bytes::Bytes;

use super::stage::{said, same};
use super::{Checked, Stage, Trial, trial};

pub(super) const TRIALS: &[Trial] = &[
    trial!("ack", "What is acknowledged is forgotten.", ack),
    trial!(
        "give-back",
        "What is given back comes again, and no attempt is counted.",
        give_back
    ),
    trial!(
        "give-back-keeps-attempts",
        "Giving back forgets none of the attempts before.",
        keeps_attempts
    ),
    trial!(
        "retry-counted",
        "A retry brings the new body with one attempt more.",
        retry_counted
    ),
    trial!(
        "retry-spaced",
        "A retry does not come before its delay has passed.",
        retry_spaced
    ),
    trial!(
        "retry-lets-others-by",
        "While a retry waits, others are delivered.",
        lets_others_by
    ),
];

async fn ack(stage: &Stage<'_>) -> Checked {
    stage.publish(&["a"]).await?;
    let mut deliveries = stage.consume(5).await?;
    said(stage.expect(&mut deliveries, "a", 0).await?.ack().await)?;
    // What is answered to this came after the acknowledgement.
    same(stage.take().await?.is_none(), true)?;
    stage.subject.lose_holders().await;
    stage.silent(&mut deliveries).await?;
    stage.deep(0).await
}

async fn give_back(stage: &Stage<'_>) -> Checked {
    stage.publish(&["a"]).await?;
    let mut deliveries = stage.consume(1).await?;
    for _ in 0..3 {
        let delivery = stage.expect(&mut deliveries, "a", 0).await?;
        said(delivery.give_back().await)?;
    }
    said(stage.expect(&mut deliveries, "a", 0).await?.ack().await)
}

async fn keeps_attempts(stage: &Stage<'_>) -> Checked {
    stage.publish(&["a"]).await?;
    let mut deliveries = stage.consume(1).await?;
    let delivery = stage.expect(&mut deliveries, "a", 0).await?;
    said(
        delivery
            .retry(Bytes::from_static(b"b"), Duration::ZERO)
            .await,
    )?;
    drop(stage.expect(&mut deliveries, "b", 1).await?);
    said(
        stage
            .expect(&mut deliveries, "b", 2)
            .await?
            .give_back()
            .await,
    )?;
    said(stage.expect(&mut deliveries, "b", 2).await?.ack().await)
}

async fn retry_counted(stage: &Stage<'_>) -> Checked {
    stage.publish(&["a"]).await?;
    let mut deliveries = stage.consume(1).await?;
    for (attempts, body, next) in [(0, "a", "b"), (1, "b", "c"), (2, "c", "d")] {
        let delivery = stage.expect(&mut deliveries, body, attempts).await?;
        said(delivery.retry(next.into(), Duration::ZERO).await)?;
    }
    said(stage.expect(&mut deliveries, "d", 3).await?.ack().await)
}

async fn retry_spaced(stage: &Stage<'_>) -> Checked {
    stage.publish(&["a"]).await?;
    let mut deliveries = stage.consume(1).await?;
    let delivery = stage.expect(&mut deliveries, "a", 0).await?;
    said(delivery.retry("b".into(), Duration::from_secs(1)).await)?;
    stage.silent(&mut deliveries).await?;
    said(stage.expect(&mut deliveries, "b", 1).await?.ack().await)
}

async fn lets_others_by(stage: &Stage<'_>) -> Checked {
    stage.publish(&["a", "b"]).await?;
    let mut deliveries = stage.consume(1).await?;
    let delivery = stage.expect(&mut deliveries, "a", 0).await?;
    said(delivery.retry("a".into(), Duration::from_secs(1)).await)?;
    said(stage.expect(&mut deliveries, "b", 0).await?.ack().await)?;
    said(stage.expect(&mut deliveries, "a", 1).await?.ack().await)
}
