use proptest::prelude::*;

use super::*;

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
}
