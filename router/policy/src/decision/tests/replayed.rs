use proptest::prelude::*;

use super::*;
use crate::{Moment, Window};

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

proptest! {
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
