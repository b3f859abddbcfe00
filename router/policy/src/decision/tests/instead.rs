use super::*;

fn lost(tiers: &[Tier]) -> TierSet {
    tiers.iter().copied().collect()
}

#[test]
fn where_serverless_cannot_be_had_a_pod_is_waited_for() {
    let serverless = lost(&[Tier::Serverless]);
    for pod in [PodState::Booting, PodState::Absent, PodState::Idled] {
        let view = View { pod, ..view() };
        assert_eq!(instead(&view, serverless), Some(Tier::Pod), "{pod:?}");
    }
    let failed = View {
        pod: PodState::BackingOff,
        ..view()
    };
    assert_eq!(instead(&failed, serverless), None);
    let both = lost(&[Tier::Serverless, Tier::Pod]);
    assert_eq!(instead(&view(), both), None);
}

#[test]
fn a_person_or_a_budget_that_wants_no_pod_gets_none() {
    let serverless = lost(&[Tier::Serverless]);
    let forced = View {
        forced: Some(Tier::Serverless),
        ..view()
    };
    assert_eq!(instead(&forced, serverless), None);
    let mut spent = View {
        brakes: braked(Brake::Off, Brake::NoStart),
        ..view()
    };
    assert_eq!(instead(&spent, serverless), None);
    spent.pod = PodState::Booting;
    assert_eq!(instead(&spent, serverless), Some(Tier::Pod), "it is there");
}

#[test]
fn a_tier_that_the_deployment_lacks_is_never_waited_for() {
    let only = View {
        tiers: TierSet::EMPTY.with(Tier::Serverless),
        ..view()
    };
    assert_eq!(instead(&only, lost(&[Tier::Serverless])), None);
    let pods = View {
        tiers: TierSet::EMPTY.with(Tier::Pod),
        ..view()
    };
    assert_eq!(instead(&pods, lost(&[Tier::Pod])), None);
}
