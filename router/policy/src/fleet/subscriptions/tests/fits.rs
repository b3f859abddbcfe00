//! Who may serve a queue at all: where its model fits, and how many may.

use super::*;

fn starving(terms: &Terms) -> QueueView<'_> {
    QueueView {
        waiting: 5,
        oldest: Duration::from_secs(60),
        ..queue("q", terms)
    }
}

#[test]
fn what_can_never_fit_or_is_not_for_this_worker_is_never_joined() {
    let unfit = [
        Terms {
            memory: Mib(80_001),
            ..terms()
        },
        Terms {
            devices: 2,
            ..terms()
        },
        Terms {
            shape: Shape::Cpu,
            ..terms()
        },
    ];
    for terms in unfit {
        let view = starving(&terms);
        assert_eq!(joined(&decide(&worker("a", &[]), &[view], 0.0)), [""; 0]);
        let view = QueueView {
            subscribed: true,
            ..view
        };
        assert_eq!(
            left(&decide(&worker("a", &[]), &[view], 0.0)),
            [LeaveReason::Unfit]
        );
    }
    let gone = QueueView {
        terms: None,
        subscribed: true,
        ..starving(&unfit[0])
    };
    assert_eq!(
        left(&decide(&worker("a", &[]), &[gone], 0.0)),
        [LeaveReason::Gone]
    );
}

/// What `devices` still offer is what pinned models leave: less than one of them needs,
/// where it takes more than half.
#[test]
fn a_pinned_model_that_is_here_is_served_though_no_second_one_would_fit() {
    let terms = Terms {
        memory: Mib(70_000),
        pinned: true,
        ..terms()
    };
    let left_over = [Mib(10_000)];
    let worker = WorkerView {
        devices: &left_over,
        ..worker("a", &[])
    };
    for residence in [Residence::Loading, Residence::Resident] {
        let view = QueueView {
            residence,
            waiting: 1,
            ..queue("pinned", &terms)
        };
        assert_eq!(joined(&decide(&worker, &[view], 0.0)), ["pinned"]);
    }
}

#[test]
fn the_cap_holds_except_for_what_is_pinned() {
    let capped = Terms {
        max_workers: NonZeroU32::new(1),
        ..terms()
    };
    let pinned = Terms {
        pinned: true,
        ..capped
    };
    let holders = [Identity::of("b")];
    let view = |terms| QueueView {
        waiting: 10_000,
        holders: &holders,
        ..queue("q", terms)
    };
    assert_eq!(
        decide(&worker("a", &[]), &[view(&capped)], 0.0).join.len(),
        0
    );
    assert_eq!(
        decide(&worker("a", &[]), &[view(&pinned)], 0.0).join.len(),
        1
    );
    let idle = QueueView {
        waiting: 0,
        ..view(&pinned)
    };
    assert_eq!(
        joined(&decide(&worker("a", &[]), &[idle], 0.0)),
        ["q"],
        "preloaded"
    );
}
