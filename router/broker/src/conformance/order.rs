use super::stage::{said, same};
use super::{Checked, Stage, Trial, trial};

pub(super) const TRIALS: &[Trial] = &[
    trial!(
        "order",
        "Messages come in the order in which they were published.",
        order
    ),
    trial!(
        "prefetch",
        "What exceeds the prefetch stays visible and comes once there is room.",
        prefetch
    ),
    trial!(
        "shared-queue",
        "Of two consumers each gets what the other did not.",
        shared_queue
    ),
    trial!(
        "take",
        "Take gives the first that waits, and nothing where nothing does.",
        take
    ),
];

async fn order(stage: &Stage<'_>) -> Checked {
    stage.publish(&["a", "b", "c"]).await?;
    let mut deliveries = stage.consume(1).await?;
    for body in ["a", "b", "c"] {
        said(stage.expect(&mut deliveries, body, 0).await?.ack().await)?;
    }
    stage.silent(&mut deliveries).await
}

async fn prefetch(stage: &Stage<'_>) -> Checked {
    stage.publish(&["a", "b", "c", "d", "e"]).await?;
    let mut deliveries = stage.consume(2).await?;
    let first = stage.expect(&mut deliveries, "a", 0).await?;
    let _second = stage.expect(&mut deliveries, "b", 0).await?;
    stage.silent(&mut deliveries).await?;
    stage.deep(3).await?;
    same(said(stage.broker().depth(stage.queue).await)?.consumers, 1)?;
    said(first.ack().await)?;
    let _third = stage.expect(&mut deliveries, "c", 0).await?;
    stage.deep(2).await
}

async fn shared_queue(stage: &Stage<'_>) -> Checked {
    let mut one = stage.consume(1).await?;
    let mut other = stage.consume(1).await?;
    stage.publish(&["a", "b"]).await?;
    let first = stage.next(&mut one).await?;
    let second = stage.next(&mut other).await?;
    let mut bodies = [first.body().clone(), second.body().clone()];
    bodies.sort();
    same(
        bodies.map(|body| body.to_vec()),
        [b"a".to_vec(), b"b".to_vec()],
    )
}

async fn take(stage: &Stage<'_>) -> Checked {
    if stage.take().await?.is_some() {
        return Err("something was in a queue that never was".into());
    }
    stage.publish(&["a", "b"]).await?;
    let taken = stage.take().await?.ok_or("nothing was taken")?;
    same(&taken.body()[..], b"a")?;
    stage.deep(1).await?;
    said(taken.ack().await)?;
    said(stage.take().await?.ok_or("nothing was taken")?.ack().await)?;
    same(stage.take().await?.is_none(), true)
}
