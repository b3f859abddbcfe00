use super::*;

/// What users are told of every end.
const DOCS: &str = include_str!("../../../../docs/fleet.md");

/// The one after `excuse`; a new one has to be put into its place.
fn next(excuse: Excuse) -> Option<Excuse> {
    use FailureKind::{
        Incompatible, OutOfCapacity, Rejected, RuntimeDied, RuntimeFailed, TimedOut, WorkerLost,
    };
    Some(match excuse {
        Excuse::Full => Excuse::TooLarge,
        Excuse::TooLarge => Excuse::BodyLeft,
        Excuse::BodyLeft => Excuse::Upgrade,
        Excuse::Upgrade => Excuse::Unknown,
        Excuse::Unknown => Excuse::Withdrawn,
        Excuse::Withdrawn => Excuse::NoWorker,
        Excuse::NoWorker => Excuse::NoQueue,
        Excuse::NoQueue => Excuse::ColdStart,
        Excuse::ColdStart => Excuse::Deadline,
        Excuse::Deadline => Excuse::Poison,
        Excuse::Poison => Excuse::Undeliverable,
        Excuse::Undeliverable => Excuse::Failed(TimedOut),
        Excuse::Failed(TimedOut) => Excuse::Failed(OutOfCapacity),
        Excuse::Failed(OutOfCapacity) => Excuse::Failed(WorkerLost),
        Excuse::Failed(WorkerLost) => Excuse::Failed(Incompatible),
        Excuse::Failed(Incompatible) => Excuse::Failed(Rejected),
        Excuse::Failed(Rejected) => Excuse::Failed(RuntimeDied),
        Excuse::Failed(RuntimeDied) => Excuse::Failed(RuntimeFailed),
        Excuse::Failed(RuntimeFailed) => return None,
    })
}

fn all() -> impl Iterator<Item = Excuse> {
    std::iter::successors(Some(Excuse::Full), |excuse| next(*excuse))
}

/// Whether a row of the table of ends says `answer`, and how that is counted.
fn is_told(answer: &str, result: FleetResult) -> bool {
    let counted = format!("| `{}` |", result.as_str());
    let mut rows = DOCS.lines().filter(|line| line.ends_with(&counted));
    rows.any(|row| row.contains(answer))
}

#[test]
fn every_end_is_told_with_its_status_its_code_and_its_count() {
    for excuse in all() {
        let answer = format!("{} `{}`", excuse.status().as_u16(), excuse.words().0);
        assert!(is_told(&answer, excuse.result()), "{excuse:?}: {answer}");
    }
    for end in [End::Answered, End::BrokeOff, End::ClientLeft] {
        assert!(is_told("", end.result()), "{end:?}");
    }
}

#[test]
fn every_result_is_in_its_place() {
    for (place, result) in FleetResult::ALL.into_iter().enumerate() {
        assert_eq!(result as usize, place);
    }
}
