use bytes::Bytes;

use super::stage::{said, same};
use super::{Checked, Stage, Trial, trial};
use crate::Topic;

pub(super) const TRIALS: &[Trial] = &[
    trial!(
        "announcements",
        "Whoever listens hears what is announced on its topic, and nothing else.",
        announcements
    ),
    trial!(
        "announcements-are-not-kept",
        "Who comes later hears nothing of before.",
        not_kept
    ),
    trial!(
        "announcements-bounded",
        "A listener that is slow misses the oldest and hears the latest.",
        bounded
    ),
];

async fn announcements(stage: &Stage<'_>) -> Checked {
    let broker = stage.broker();
    let mut one = said(broker.listen(Topic::Demand).await)?;
    let mut other = said(broker.listen(Topic::Demand).await)?;
    let mut reports = said(broker.listen(Topic::Report).await)?;
    let mut stranger = said(stage.subject.stranger().listen(Topic::Demand).await)?;
    said(broker.announce(Topic::Demand, "a".into()).await)?;
    same(stage.next(&mut one).await?, Bytes::from("a"))?;
    same(stage.next(&mut other).await?, Bytes::from("a"))?;
    stage.silent(&mut reports).await?;
    stage.silent(&mut stranger).await
}

async fn not_kept(stage: &Stage<'_>) -> Checked {
    let broker = stage.broker();
    said(broker.announce(Topic::Report, "a".into()).await)?;
    let mut late = said(broker.listen(Topic::Report).await)?;
    stage.silent(&mut late).await?;
    said(broker.announce(Topic::Report, "b".into()).await)?;
    same(stage.next(&mut late).await?, Bytes::from("b"))
}

async fn bounded(stage: &Stage<'_>) -> Checked {
    let broker = stage.broker();
    let mut slow = said(broker.listen(Topic::Report).await)?;
    let told = u32::from(stage.subject.limits().announcements) * 3;
    for number in 0..told {
        said(
            broker
                .announce(Topic::Report, number.to_string().into())
                .await,
        )?;
    }
    let mut heard = 0;
    loop {
        let body = stage.next(&mut slow).await?;
        heard += 1;
        if body == (told - 1).to_string() {
            return same(heard < told, true);
        }
    }
}
