use super::stage::{said, same};
use super::{Checked, Stage, Trial, trial};
use crate::{Burial, DeadLetter};

pub(super) const TRIALS: &[Trial] = &[
    trial!(
        "bury",
        "What is buried is one dead letter with its report, and left its queue.",
        bury
    ),
    trial!(
        "letter-unacknowledged",
        "A dead letter that is not acknowledged comes again.",
        unacknowledged
    ),
    trial!(
        "undeliverable",
        "What is never settled becomes a dead letter in the end, without a report.",
        undeliverable
    ),
    trial!(
        "undeliverable-alone",
        "It becomes one also when nobody is left who would take it.",
        undeliverable_alone
    ),
    trial!(
        "letters-are-kept",
        "A dead letter waits for whoever comes to archive it.",
        kept
    ),
];

fn content(letter: &DeadLetter) -> (String, Burial, Vec<u8>) {
    let body = letter.delivery.body().to_vec();
    (letter.queue.clone(), letter.burial.clone(), body)
}

fn given_up(stage: &Stage<'_>) -> (String, Burial, Vec<u8>) {
    let report = "why".into();
    (
        stage.queue.to_owned(),
        Burial::GivenUp { report },
        b"b".to_vec(),
    )
}

/// Buries `b` in place of `a`, with `why` for a report.
async fn bury_one(stage: &Stage<'_>) -> Checked {
    stage.publish(&["a"]).await?;
    let taken = stage.take().await?.ok_or("nothing was taken")?;
    said(taken.bury("b".into(), "why".into()).await)
}

async fn bury(stage: &Stage<'_>) -> Checked {
    let mut letters = said(stage.broker().dead_letters().await)?;
    bury_one(stage).await?;
    let letter = stage.letter(&mut letters).await?;
    same(content(&letter), given_up(stage))?;
    said(letter.delivery.ack().await)?;
    stage.silent(&mut letters).await?;
    stage.deep(0).await
}

async fn unacknowledged(stage: &Stage<'_>) -> Checked {
    let mut letters = said(stage.broker().dead_letters().await)?;
    bury_one(stage).await?;
    for _ in 0..=stage.subject.limits().deliveries {
        drop(stage.letter(&mut letters).await?);
    }
    let letter = stage.letter(&mut letters).await?;
    same(content(&letter), given_up(stage))?;
    said(letter.delivery.ack().await)
}

async fn undeliverable(stage: &Stage<'_>) -> Checked {
    let mut letters = said(stage.broker().dead_letters().await)?;
    let mut deliveries = stage.consume(1).await?;
    stage.publish(&["a"]).await?;
    for attempts in 0..=stage.subject.limits().deliveries {
        let _held = stage.expect(&mut deliveries, "a", attempts).await?;
        stage.subject.lose_holders().await;
    }
    let letter = stage.letter(&mut letters).await?;
    let wanted = (stage.queue.to_owned(), Burial::Undeliverable, b"a".to_vec());
    same(content(&letter), wanted)?;
    said(letter.delivery.ack().await)?;
    stage.silent(&mut deliveries).await
}

async fn undeliverable_alone(stage: &Stage<'_>) -> Checked {
    let mut letters = said(stage.broker().dead_letters().await)?;
    let mut deliveries = stage.consume(1).await?;
    stage.publish(&["a"]).await?;
    let limit = stage.subject.limits().deliveries;
    for attempts in 0..limit {
        let _held = stage.expect(&mut deliveries, "a", attempts).await?;
        stage.subject.lose_holders().await;
    }
    let held = stage.expect(&mut deliveries, "a", limit).await?;
    drop(deliveries);
    stage.subject.lose_holders().await;
    let letter = stage.letter(&mut letters).await?;
    same(&letter.burial, &Burial::Undeliverable)?;
    drop(held);
    said(letter.delivery.ack().await)
}

async fn kept(stage: &Stage<'_>) -> Checked {
    bury_one(stage).await?;
    let idle = stage.subject.limits().queue_idle;
    stage.subject.pass(idle * 2).await;
    let mut letters = said(stage.broker().dead_letters().await)?;
    let letter = stage.letter(&mut letters).await?;
    same(content(&letter), given_up(stage))?;
    said(letter.delivery.ack().await)
}
