use proptest::prelude::*;

use super::*;

/// Any model that is not named yet.
fn any_resident() -> impl Strategy<Value = Resident<'static>> {
    let work = (0u32..2, 0u32..2, any::<bool>());
    let terms = (any::<bool>(), any::<bool>());
    let ages = (0u64..1_000, 0u64..60);
    (1u64..40, work, ages, 0u64..9, terms).prop_map(|(share, work, ages, uses, terms)| {
        let (in_flight, waiting, loading) = work;
        let (since, idle_for) = ages;
        let (pinned, preemptible) = terms;
        Resident {
            in_flight,
            waiting,
            stage: if loading && in_flight == 0 {
                Stage::Loading
            } else {
                Stage::Ready
            },
            since: at(since),
            last_used: at((1_000 - idle_for).max(since)),
            pinned: pinned && share < 5,
            preemptible,
            ..idle("", share, uses)
        }
    })
}

/// As many of `any` as fit into 100 MiB together, by their names.
fn held<'a>(any: &[Resident<'static>], names: &'a [String]) -> Vec<Resident<'a>> {
    let mut taken = 0;
    let fitting = any.iter().zip(names).filter(|(resident, _)| {
        taken += resident.share.0;
        taken <= 100
    });
    fitting
        .map(|(resident, model)| Resident { model, ..*resident })
        .collect()
}

proptest! {
    /// Whoever goes may go, the room is enough, and nobody goes for nothing.
    #[test]
    fn every_admission_keeps_the_rules(
        any in prop::collection::vec(any_resident(), 0..12),
        memory in 1u64..120,
        starving in any::<bool>(),
        preemptible in any::<bool>(),
    ) {
        let names: Vec<String> = (0..any.len()).map(|i| format!("m{i}")).collect();
        let held = held(&any, &names);
        let terms = Terms { preemptible, ..terms(memory) };
        let want = Want { terms: &terms, starving };
        let free = 100 - held.iter().map(|r| r.share.0).sum::<u64>();
        match admit(&want, &gpus::<1>(100), &held, &Eviction::default(), at(1_000)) {
            Admission::Fits { .. } => prop_assert!(free >= memory),
            Admission::Evict { idle, yielding, .. } => {
                let find = |name: &&str| held.iter().find(|r| r.model == *name).unwrap();
                let gone: Vec<_> = idle.iter().chain(&yielding).map(find).collect();
                let freed: u64 = gone.iter().map(|r| r.share.0).sum();
                prop_assert!(free + freed >= memory);
                for victim in gone {
                    prop_assert!(free + freed - victim.share.0 < memory, "{} could have stayed", victim.model);
                    prop_assert!(!victim.pinned && victim.stage == Stage::Ready);
                    prop_assert!(victim.in_flight == 0 || (victim.preemptible && !preemptible));
                    let forced = victim.waiting > 0 || victim.since > at(970);
                    let lulled = victim.waiting == 0 && victim.last_used <= at(995);
                    prop_assert!(!forced || starving || (victim.preemptible && !preemptible));
                    prop_assert!(!preemptible || lulled);
                }
            }
            Admission::Wait { until } => {
                prop_assert!(free < memory);
                prop_assert!(until.is_none_or(|until| until > at(1_000)));
            }
            Admission::Never => prop_assert!(memory > 100 - held.iter().filter(|r| r.pinned).map(|r| r.share.0).sum::<u64>()),
        }
    }
}
