use proptest::prelude::*;

use super::*;
use crate::{Moment, Window};

mod brakes;

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

/// A deployment whose pod boots in `boot`, replayed through window and rules.
struct Replay {
    window: Window,
    thresholds: Thresholds,
    now: Moment,
    tier: Tier,
    pod_ready_at: Option<Moment>,
    boot: Duration,
    transitions: Vec<(f64, Tier)>,
    last_transition: Option<Moment>,
}

impl Replay {
    fn on(tier: Tier, promote_rps: f64, demote_rps: f64) -> Self {
        let thresholds = Thresholds {
            promote_rps,
            demote_rps,
            ..Thresholds::default()
        };
        Replay {
            window: Window::new(thresholds.window, Moment::ORIGIN),
            thresholds,
            now: Moment::ORIGIN,
            tier,
            pod_ready_at: (tier == Tier::Pod).then_some(Moment::ORIGIN),
            boot: Duration::from_secs(150),
            transitions: Vec::new(),
            last_transition: None,
        }
    }

    fn hold(mut self, hold: Duration) -> Self {
        self.thresholds.hold = hold;
        self
    }

    fn evaluate(&mut self) {
        let pod = match self.pod_ready_at {
            None => PodState::Absent,
            Some(at) if at > self.now => PodState::Booting,
            Some(_) => PodState::Warm,
        };
        let decision = decide(&View {
            current: Some(self.tier),
            pod,
            count: self.window.observe(self.now).count,
            observed: self.now >= Moment::ORIGIN + self.thresholds.window,
            since_transition: self.last_transition.map(|at| self.now.since(at)),
            thresholds: self.thresholds,
            ..view()
        });
        if decision.tier != self.tier {
            let at = self.now.since(Moment::ORIGIN).as_secs_f64();
            self.transitions.push((at, decision.tier));
            self.last_transition = Some(self.now);
            self.tier = decision.tier;
            self.pod_ready_at = (decision.tier == Tier::Pod).then(|| self.now + self.boot);
        }
    }

    /// `rps` evenly for `seconds`, evaluated at each arrival and each second.
    fn load(&mut self, rps: f64, seconds: f64) -> &mut Self {
        let start = self.now;
        let arrivals = (rps * seconds).round() as u64;
        let mut moments: Vec<(Duration, bool)> = (0..arrivals)
            .map(|i| (Duration::from_secs_f64((i + 1) as f64 / rps), true))
            .chain((1..=seconds as u64).map(|s| (Duration::from_secs(s), false)))
            .collect();
        moments.sort();
        for (offset, arrival) in moments {
            self.now = start + offset;
            if arrival {
                self.window.record(self.now);
            }
            self.evaluate();
        }
        self
    }
}

#[test]
fn b01_a_constant_load_between_the_thresholds_moves_nothing() {
    let mut from_serverless = Replay::on(Tier::Serverless, 2.0, 1.0);
    assert!(from_serverless.load(1.5, 1200.0).transitions.is_empty());

    let mut from_pod = Replay::on(Tier::Pod, 2.0, 1.0);
    assert!(from_pod.load(1.5, 1500.0).transitions.is_empty());

    let mut above = Replay::on(Tier::Serverless, 2.0, 1.0);
    above.load(2.5, 1200.0);
    assert_eq!(above.transitions.len(), 1);
    assert_eq!(above.transitions[0].1, Tier::Pod);
}

#[test]
fn b02_one_burst_gives_one_promotion_and_one_demotion() {
    let mut replay = Replay::on(Tier::Serverless, 2.0, 1.0).hold(Duration::from_secs(30));
    replay.load(15.0, 60.0).load(0.0, 900.0);
    let [(up_at, up), (down_at, down)] = replay.transitions[..] else {
        panic!("{:?}", replay.transitions)
    };
    assert_eq!((up, down), (Tier::Pod, Tier::Serverless));
    assert!((39.9..=41.0).contains(&up_at), "{up_at}");
    assert!((340.0..=344.0).contains(&down_at), "{down_at}");
}

#[test]
fn b42_a_hold_is_measured_by_the_clock_not_in_turns() {
    let mut replay = Replay::on(Tier::Pod, 2.0, 1.0).hold(Duration::from_secs(60));
    replay.now = Moment::from_origin(Duration::from_secs(1000));
    replay.last_transition = Some(replay.now);
    let start = replay.now;
    for _ in 0..100 {
        replay.now = replay.now + Duration::from_millis(2500); // a tick of 1 s made slow by 1.5 s
        replay.evaluate();
    }
    let after = replay.transitions[0].0 - start.since(Moment::ORIGIN).as_secs_f64();
    assert!((60.0..63.0).contains(&after), "{after}");
}

fn braked(serverless: Brake, pod: Brake) -> TierMap<Brake> {
    let mut brakes = TierMap::default();
    (brakes[Tier::Serverless], brakes[Tier::Pod]) = (serverless, pod);
    brakes
}

prop_compose! {
    fn any_view()(
        tiers in 1u8..16, forced in prop::option::of(0u8..4), current in prop::option::of(0u8..4),
        local in 0usize..4, pod in 0usize..5, pinned: bool, in_flight in 0u32..3,
        count in 0u64..2000, observed: bool, since in prop::option::of(0u64..100), hold in 0u64..100,
        brakes in prop::array::uniform2(0usize..3),
    ) -> View {
        let tier = |i: u8| Tier::from_index(i).unwrap();
        let brake = |i: usize| [Brake::Off, Brake::NoStart, Brake::Stop][i];
        View {
            tiers: (0..4).filter(|i| tiers & (1 << i) != 0).map(tier).collect(),
            forced: forced.map(tier),
            current: current.map(tier),
            local: [LocalFit::Fits, LocalFit::NoMemory, LocalFit::NoDaemon, LocalFit::BackingOff][local],
            pod: [PodState::Absent, PodState::Booting, PodState::Warm, PodState::BackingOff, PodState::Idled][pod],
            pod_pinned: pinned,
            pod_in_flight: in_flight,
            count,
            observed,
            since_transition: since.map(Duration::from_secs),
            thresholds: Thresholds { hold: Duration::from_secs(hold), ..view().thresholds },
            brakes: braked(brake(brakes[0]), brake(brakes[1])),
        }
    }
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

proptest! {
    #[test]
    fn the_answer_is_always_a_tier_that_it_has(view in any_view()) {
        let decision = decide(&view);
        prop_assert!(view.tiers.has(decision.tier), "{decision:?}");
        if let Some((tier, _)) = decision.meanwhile {
            prop_assert!(view.tiers.has(tier) && tier != decision.tier);
        }
    }

    #[test]
    fn a_tier_that_budgets_refuse_is_never_decided_on_for_another_reason(view in any_view()) {
        prop_assume!(view.pod != PodState::Idled);
        let decision = decide(&view);
        let refused = |tier: Tier| match view.brakes[tier] {
            Brake::Off => false,
            Brake::NoStart => tier == Tier::Pod && !matches!(view.pod, PodState::Warm | PodState::Booting),
            Brake::Stop => true,
        };
        if refused(decision.tier) {
            prop_assert_eq!(decision.reason, Reason::Budget);
        }
        if let Some((tier, _)) = decision.meanwhile {
            prop_assert!(!refused(tier));
        }
    }

    #[test]
    fn work_in_hand_or_missing_data_never_demotes(view in any_view()) {
        let both = TierSet::EMPTY.with(Tier::Serverless).with(Tier::Pod);
        let current = Some(Tier::Pod);
        let brakes = TierMap::default();
        let warm = View { tiers: both, forced: None, current, pod: PodState::Warm, brakes, ..view };
        if warm.pod_in_flight > 0 || !warm.observed {
            prop_assert_eq!(decide(&warm).tier, Tier::Pod);
        }
    }

    #[test]
    fn a_constant_rate_between_the_thresholds_never_moves(
        rps in 1.05f64..1.95, on_pod: bool, seconds in 400.0f64..900.0,
    ) {
        let start = if on_pod { Tier::Pod } else { Tier::Serverless };
        let mut replay = Replay::on(start, 2.0, 1.0);
        prop_assert!(replay.load(rps, seconds).transitions.is_empty());
    }

    #[test]
    fn one_burst_moves_at_most_up_and_down_once(
        rps in 0.1f64..20.0, seconds in 1.0f64..300.0, hold in 0u64..200,
    ) {
        let mut replay = Replay::on(Tier::Serverless, 2.0, 1.0).hold(Duration::from_secs(hold));
        replay.load(rps, seconds).load(0.0, 1000.0);
        prop_assert!(replay.transitions.len() <= 2, "{:?}", replay.transitions);
    }
}
