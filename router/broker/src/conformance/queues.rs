use std::time::Duration;

use super::stage::{said, same};
use super::{Checked, Stage, Trial, trial};
use crate::Depth;

pub(super) const TRIALS: &[Trial] = &[
    trial!(
        "no-queue",
        "A queue that nobody used is as deep as an empty one, and asking makes none.",
        no_queue
    ),
    trial!(
        "expiry",
        "A queue that nobody uses goes by itself, and comes back with the next message.",
        expiry
    ),
    trial!(
        "consumed-queue-stays",
        "A queue with a consumer does not expire, however long nothing comes.",
        consumed_stays
    ),
    trial!(
        "separate-queues",
        "What is in one queue is in no other.",
        separate_queues
    ),
    trial!(
        "isolation",
        "Another installation neither sees nor gets what is in a queue of the same name.",
        isolation
    ),
];

async fn no_queue(stage: &Stage<'_>) -> Checked {
    for _ in 0..3 {
        same(
            said(stage.broker().depth(stage.queue).await)?,
            Depth::default(),
        )?;
    }
    Ok(())
}

async fn expiry(stage: &Stage<'_>) -> Checked {
    let idle = stage.subject.limits().queue_idle;
    stage.publish(&["a"]).await?;
    said(stage.take().await?.ok_or("nothing was taken")?.ack().await)?;
    stage.subject.pass(idle + Duration::from_secs(2)).await;
    same(
        said(stage.broker().depth(stage.queue).await)?,
        Depth::default(),
    )?;
    stage.publish(&["b"]).await?;
    let mut deliveries = stage.consume(1).await?;
    said(stage.expect(&mut deliveries, "b", 0).await?.ack().await)
}

async fn consumed_stays(stage: &Stage<'_>) -> Checked {
    let idle = stage.subject.limits().queue_idle;
    let mut deliveries = stage.consume(1).await?;
    stage.subject.pass(idle + Duration::from_secs(2)).await;
    same(said(stage.broker().depth(stage.queue).await)?.consumers, 1)?;
    stage.publish(&["a"]).await?;
    said(stage.expect(&mut deliveries, "a", 0).await?.ack().await)
}

async fn separate_queues(stage: &Stage<'_>) -> Checked {
    let mut other = said(stage.broker().consume("another", 1).await)?;
    stage.publish(&["a"]).await?;
    stage.silent(&mut other).await?;
    stage.deep(1).await
}

async fn isolation(stage: &Stage<'_>) -> Checked {
    let stranger = stage.subject.stranger();
    let mut theirs = said(stranger.consume(stage.queue, 1).await)?;
    stage.publish(&["a"]).await?;
    stage.silent(&mut theirs).await?;
    same(said(stranger.take(stage.queue).await)?.is_none(), true)?;
    let mut ours = stage.consume(1).await?;
    said(stage.expect(&mut ours, "a", 0).await?.ack().await)
}
