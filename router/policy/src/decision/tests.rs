use super::*;

mod brakes;
mod instead;
mod properties;
mod replayed;

fn view() -> View {
    View {
        tiers: TierSet::EMPTY.with(Tier::Serverless).with(Tier::Pod),
        forced: None,
        current: Some(Tier::Serverless),
        local: LocalFit::NoMemory,
        pod: PodState::Absent,
        pod_pinned: false,
        pod_in_flight: 0,
        count: 0,
        observed: true,
        since_transition: None,
        thresholds: Thresholds {
            promote_rps: 2.0,
            demote_rps: 1.0,
            ..Thresholds::default()
        },
        brakes: TierMap::default(),
    }
}

fn answer(view: View) -> (Tier, Reason) {
    let decision = decide(&view);
    (decision.tier, decision.reason)
}

fn braked(serverless: Brake, pod: Brake) -> TierMap<Brake> {
    let mut brakes = TierMap::default();
    (brakes[Tier::Serverless], brakes[Tier::Pod]) = (serverless, pod);
    brakes
}

#[test]
fn the_rules_stand_in_their_order() {
    let all: TierSet = Tier::ALL.into_iter().collect();
    let mut v = View {
        tiers: all,
        current: Some(Tier::Pod),
        forced: Some(Tier::Pod),
        local: LocalFit::Fits,
        pod: PodState::Warm,
        count: 10_000,
        ..view()
    };
    assert_eq!(answer(v), (Tier::Pod, Reason::Forced));
    v.forced = None;
    assert_eq!(answer(v), (Tier::Dedicated, Reason::Dedicated));
    v.tiers = TierSet::EMPTY
        .with(Tier::Local)
        .with(Tier::Serverless)
        .with(Tier::Pod);
    assert_eq!(answer(v), (Tier::Local, Reason::LocalFits));
    v.local = LocalFit::NoMemory;
    assert_eq!(answer(v), (Tier::Pod, Reason::PodWarm));
    v.tiers = TierSet::EMPTY.with(Tier::Local).with(Tier::Pod);
    assert_eq!(answer(v), (Tier::Pod, Reason::NoServerless));
    v.tiers = TierSet::EMPTY.with(Tier::Serverless);
    assert_eq!(answer(v), (Tier::Serverless, Reason::NoPod));
    v.tiers = TierSet::EMPTY.with(Tier::Local);
    assert_eq!(answer(v), (Tier::Local, Reason::NoCapacity));
}

#[test]
fn counts_are_compared_not_rates() {
    let mut v = view();
    v.count = 599;
    assert_eq!(answer(v), (Tier::Serverless, Reason::BelowPromote));
    v.count = 600;
    assert_eq!(answer(v), (Tier::Pod, Reason::Promote));
    v.current = Some(Tier::Pod);
    v.pod = PodState::Warm;
    v.count = 300;
    assert_eq!(answer(v), (Tier::Pod, Reason::PodWarm));
    v.count = 299;
    assert_eq!(answer(v), (Tier::Serverless, Reason::BelowPromote));
}

#[test]
fn serverless_serves_while_the_pod_boots() {
    let v = View {
        pod: PodState::Booting,
        count: 700,
        ..view()
    };
    let decision = decide(&v);
    assert_eq!(decision.tier, Tier::Pod);
    assert_eq!(
        decision.meanwhile,
        Some((Tier::Serverless, Reason::PodBooting))
    );
}

#[test]
fn a_demotion_waits_for_data_work_and_hold() {
    let low = View {
        current: Some(Tier::Pod),
        pod: PodState::Warm,
        ..view()
    };
    assert_eq!(
        answer(View {
            observed: false,
            ..low
        }),
        (Tier::Pod, Reason::Unobserved)
    );
    assert_eq!(
        answer(View {
            pod_in_flight: 1,
            ..low
        }),
        (Tier::Pod, Reason::Busy)
    );
    assert_eq!(
        answer(View {
            pod_pinned: true,
            ..low
        }),
        (Tier::Pod, Reason::PodWarm)
    );
    let mut held = View {
        since_transition: Some(Duration::from_secs(59)),
        ..low
    };
    held.thresholds.hold = Duration::from_secs(60);
    assert_eq!(answer(held), (Tier::Pod, Reason::Hold));
    held.since_transition = Some(Duration::from_secs(60));
    assert_eq!(answer(held), (Tier::Serverless, Reason::BelowPromote));
}

#[test]
fn a_demoted_pod_that_has_not_gone_yet_comes_back_only_by_promotion() {
    let mut v = View {
        current: Some(Tier::Serverless),
        pod: PodState::Warm,
        count: 300,
        ..view()
    };
    assert_eq!(answer(v), (Tier::Serverless, Reason::BelowPromote));
    v.count = 600;
    assert_eq!(answer(v), (Tier::Pod, Reason::Promote));
    v.count = 0;
    v.pod_pinned = true;
    assert_eq!(answer(v), (Tier::Pod, Reason::PodWarm));
}

#[test]
fn a_refused_transition_names_the_tier_that_was_wanted() {
    let waiting = View {
        pod: PodState::BackingOff,
        count: 900,
        ..view()
    };
    assert_eq!(decide(&waiting).refused(), Some(Tier::Pod));
    let busy = View {
        current: Some(Tier::Pod),
        pod: PodState::Warm,
        pod_in_flight: 1,
        ..view()
    };
    assert_eq!(decide(&busy).refused(), Some(Tier::Serverless));
    assert_eq!(decide(&view()).refused(), None);
}

#[test]
fn missing_data_does_not_block_a_promotion() {
    let v = View {
        observed: false,
        count: 600,
        ..view()
    };
    assert_eq!(answer(v), (Tier::Pod, Reason::Promote));
}

#[test]
fn a_failed_promotion_leaves_serverless_serving() {
    let v = View {
        pod: PodState::BackingOff,
        count: 900,
        ..view()
    };
    assert_eq!(answer(v), (Tier::Serverless, Reason::NoCapacity));
}

#[test]
fn after_an_idle_stop_the_next_request_decides_and_not_the_window() {
    let stopped = View {
        current: Some(Tier::Pod),
        pod: PodState::Idled,
        count: 900,
        ..view()
    };
    let decision = decide(&stopped);
    assert_eq!(
        (decision.tier, decision.reason),
        (Tier::Serverless, Reason::Idle)
    );
    assert_eq!(decision.meanwhile, None, "nothing boots");
    let told = transition(&stopped, &decision).unwrap();
    assert!(told.is_idle_stop());
    let asked = View {
        pod: PodState::Absent,
        ..stopped
    };
    assert_eq!(answer(asked), (Tier::Pod, Reason::Promote));
}

#[test]
fn an_objective_is_named_where_it_decides() {
    let mut v = view();
    v.thresholds = Thresholds {
        basis: Basis::Objective,
        promote_rps: 0.0,
        demote_rps: 0.0,
        least_arrivals: 1,
        ..v.thresholds
    };
    v.count = 1;
    assert_eq!(answer(v), (Tier::Pod, Reason::Objective));
    v.current = Some(Tier::Pod);
    for pod in [PodState::Booting, PodState::Warm] {
        assert_eq!(answer(View { pod, ..v }), (Tier::Pod, Reason::Objective));
    }
}

#[test]
fn what_is_left_of_a_hold_runs_towards_the_other_tier_alone() {
    let mut v = view();
    v.thresholds.hold = Duration::from_secs(60);
    v.thresholds.hold_down = Duration::from_secs(600);
    v.since_transition = Some(Duration::from_secs(50));
    assert_eq!(v.hold_left(Tier::Pod), Some(Duration::from_secs(10)));
    assert_eq!(v.hold_left(Tier::Serverless), None, "it is there");
    v.current = Some(Tier::Pod);
    assert_eq!(
        v.hold_left(Tier::Serverless),
        Some(Duration::from_secs(550))
    );
    v.since_transition = Some(Duration::from_secs(600));
    assert_eq!(v.hold_left(Tier::Serverless), None);
}

#[test]
fn an_idle_stop_under_a_budget_of_serverless_is_no_transition() {
    let mut view = View {
        pod: PodState::Idled,
        current: Some(Tier::Pod),
        ..view()
    };
    view.brakes[Tier::Serverless] = Brake::Stop;
    let decision = decide(&view);
    assert_eq!(
        (decision.tier, decision.reason),
        (Tier::Serverless, Reason::Idle)
    );
}
