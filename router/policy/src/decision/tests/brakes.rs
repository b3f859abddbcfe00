use super::*;

#[test]
fn a_budget_leaves_the_cheapest_tier_that_it_allows() {
    use Brake::{NoStart, Off, Stop};
    let promoted = View {
        count: 10_000,
        ..view()
    };
    let decided = |pod, brakes| {
        let current = Some(Tier::Pod);
        answer(View {
            pod,
            brakes,
            current,
            ..promoted
        })
    };
    let (serverless, pod) = (Tier::Serverless, Tier::Pod);
    let (absent, warm) = (PodState::Absent, PodState::Warm);
    assert_eq!(
        decided(absent, braked(Off, NoStart)),
        (serverless, Reason::Budget)
    );
    assert_eq!(decided(warm, braked(Off, NoStart)), (pod, Reason::PodWarm));
    assert_eq!(
        decided(warm, braked(Off, Stop)),
        (serverless, Reason::Budget)
    );
    assert_eq!(decided(warm, braked(Stop, Off)), (pod, Reason::PodWarm));
    assert_eq!(
        decided(absent, braked(Stop, Stop)),
        (serverless, Reason::Budget)
    );
}

#[test]
fn a_pod_is_not_left_for_a_tier_that_may_not_serve() {
    let brakes = braked(Brake::Stop, Brake::Off);
    let current = Some(Tier::Pod);
    let quiet = View {
        pod: PodState::Warm,
        current,
        brakes,
        ..view()
    };
    assert_eq!(answer(quiet), (Tier::Pod, Reason::Budget));
}

#[test]
fn a_budget_brakes_what_is_forced_and_what_is_pinned() {
    let brakes = braked(Brake::Off, Brake::Stop);
    let forced = View {
        forced: Some(Tier::Pod),
        pod: PodState::Warm,
        brakes,
        ..view()
    };
    assert_eq!(answer(forced), (Tier::Pod, Reason::Budget));
    let pinned = View {
        pod_pinned: true,
        pod: PodState::Warm,
        brakes,
        ..view()
    };
    assert_eq!(answer(pinned), (Tier::Serverless, Reason::Budget));
}
