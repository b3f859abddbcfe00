use proptest::prelude::*;

use super::*;

const HOUR_MICROS: i64 = 3_600_000_000;

fn usd(dollars: f64) -> NanoUsd {
    NanoUsd::from_usd(dollars)
}

fn pods(usd_per_hour: f64, instances: u32) -> Commitment {
    Commitment {
        usd_per_hour: usd(usd_per_hour),
        instances,
        unpriced: 0,
    }
}

/// `hours` after midnight.
fn at(hours: f64) -> Calendar {
    Calendar::at((hours * HOUR_MICROS as f64) as i64)
}

fn daily(dollars: f64) -> Ceilings {
    Ceilings {
        usd_per_day: Some(usd(dollars)),
        ..Ceilings::default()
    }
}

fn hourly(dollars: f64) -> Ceilings {
    Ceilings {
        usd_per_hour: Some(usd(dollars)),
        ..Ceilings::default()
    }
}

#[test]
fn a_start_needs_an_hour_of_its_price_in_the_day() {
    let mut spending = Spending::default();
    let price = Some(usd(1.0));
    spending.today = usd(14.0);
    assert_eq!(daily(15.0).start(&spending, price, at(9.0)), Ok(()));
    spending.today = usd(14.1);
    let refused = daily(15.0).start(&spending, price, at(9.0));
    assert_eq!(
        refused.unwrap_err().to_string(),
        "its budget of $15 a day: $14.1 is spent, $1 more would be committed"
    );
    assert_eq!(
        daily(15.0).start(&spending, price, at(23.5)),
        Ok(()),
        "half an hour is left of the day"
    );
}

/// A refusal and the time of day at which it says that the start fits, hours.
fn refused(limit: f64, today: f64, price: f64, hours: f64) -> (String, Option<f64>) {
    let spending = Spending {
        today: usd(today),
        ..Spending::default()
    };
    let refused = daily(limit).start(&spending, Some(usd(price)), at(hours));
    let refused = refused.unwrap_err();
    let OverBudget::Day { fits_at, .. } = refused else {
        panic!("{refused}");
    };
    let fits_at = fits_at.map(|micros| micros as f64 / HOUR_MICROS as f64);
    (refused.to_string(), fits_at)
}

#[test]
fn what_fits_the_rest_of_the_day_starts_though_an_hour_never_fits() {
    let start = |hours| daily(0.03).start(&Spending::default(), Some(usd(0.25)), at(hours));
    assert!(start(23.87).is_err());
    assert_eq!(start(23.89), Ok(()));
    let (why, fits_at) = refused(0.03, 0.0, 0.25, 12.0);
    assert_eq!(
        why,
        "its budget of $0.03 a day: $0 is spent, $0.25 more would be committed"
    );
    assert_eq!(fits_at, Some(23.88));
}

#[test]
fn a_refusal_says_when_it_fits() {
    assert_eq!(refused(15.0, 15.0, 1.0, 9.0).1, Some(24.0));
    assert_eq!(refused(15.0, 14.5, 1.0, 9.0).1, Some(23.5));
    assert_eq!(refused(0.5, 0.5, 1.0, 9.0).1, Some(47.5), "tomorrow's end");
    assert_eq!(refused(0.0, 0.0, 1.0, 9.0).1, None);
    let (why, fits_at) = refused(0.01, 0.0, 1.0, 23.999);
    assert_eq!(fits_at, None, "its end at midnight alone is too dear");
    assert!(why.contains("$0.033333334 more"), "{why}");
}

#[test]
fn what_runs_stays_until_two_minutes_of_it_are_left() {
    let spending = |today| Spending {
        today: usd(today),
        own: pods(3.0, 1),
        ..Spending::default()
    };
    assert!(daily(15.0).stay(&spending(14.899), at(9.0)).is_ok());
    assert!(daily(15.0).stay(&spending(14.901), at(9.0)).is_err());
    assert!(daily(15.0).work(&spending(14.901), true, at(9.0)).is_err());
}

#[test]
fn a_budget_of_nothing_pays_for_nothing() {
    let none = Spending::default();
    assert!(daily(0.0).start(&none, Some(usd(0.0)), at(1.0)).is_err());
    assert!(daily(0.0).stay(&none, at(1.0)).is_err());
    assert!(daily(0.0).work(&none, true, at(1.0)).is_err());
}

#[test]
fn an_hours_ceiling_holds_now_and_later() {
    let spending = Spending {
        this_hour: usd(1.5),
        all: pods(1.0, 1),
        ..Spending::default()
    };
    let start = |at| hourly(2.0).start(&spending, Some(usd(1.0)), at);
    assert!(start(at(1.0)).is_err(), "this hour would come to $3.50");
    assert!(start(at(1.8)).is_ok(), "to $1.90");
}

#[test]
fn a_rate_above_the_ceiling_says_what_runs_and_what_one_more_would_cost() {
    let refused = |pods: Commitment, price| {
        let all = Spending {
            all: pods,
            ..Spending::default()
        };
        let refused = hourly(2.0).start(&all, Some(usd(price)), at(1.99));
        refused.unwrap_err().to_string()
    };
    let told = |what: &str| format!("the server's ceiling of $2 an hour: {what}");
    let none = Commitment::default();
    assert_eq!(refused(none, 50.0), told("a pod would cost $50 an hour"));
    assert_eq!(
        refused(pods(50.0, 1), 0.0),
        told("its pods cost $50 an hour together")
    );
    assert_eq!(
        refused(pods(1.0, 1), 1.1),
        told("its pods cost $1 an hour, and one more would cost $1.1")
    );
}

#[test]
fn serverless_gets_what_pods_leave_of_the_hour() {
    let spending = |this_hour| Spending {
        this_hour: usd(this_hour),
        all: pods(1.0, 1),
        ..Spending::default()
    };
    let work = |spent| hourly(2.0).work(&spending(spent), true, at(1.5));
    assert!(work(1.49).is_ok() && work(1.5).is_err());
}

#[test]
fn the_number_of_paid_instances_is_limited_whatever_they_cost() {
    let few = Ceilings {
        instances: Some(2),
        ..Ceilings::default()
    };
    let with = |n| Spending {
        all: pods(0.0, n),
        ..Spending::default()
    };
    assert_eq!(few.start(&with(1), None, at(0.0)), Ok(()));
    let refused = few.start(&with(2), None, at(0.0));
    assert_eq!(refused, Err(OverBudget::Instances { limit: 2 }));
}

#[test]
fn an_unknown_price_is_refused_where_money_is_limited() {
    let none = Spending::default();
    let unpriced = Err(OverBudget::Unpriced);
    assert_eq!(daily(9.0).start(&none, None, at(0.0)), unpriced);
    assert_eq!(hourly(9.0).start(&none, None, at(0.0)), unpriced);
    assert_eq!(hourly(9.0).work(&none, false, at(0.0)), unpriced);
    assert_eq!(Ceilings::default().start(&none, None, at(0.0)), Ok(()));
    let mut another = none;
    another.all.unpriced = 1;
    assert_eq!(
        hourly(9.0).start(&another, Some(usd(1.0)), at(0.0)),
        unpriced
    );
}

#[test]
fn above_a_ceiling_the_oldest_stay() {
    let prices = || [1.0, 2.0, 1.0].map(usd);
    assert_eq!(hourly(3.0).kept(prices()), 2);
    assert_eq!(hourly(2.0).kept(prices()), 1);
    assert_eq!(Ceilings::default().kept(prices()), 3);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Pods are started and stopped by the rules alone, at any prices; what is
    /// paid in a day, and in the one after it, stays within the budget when a
    /// deletion takes no longer than the reserve.
    #[test]
    fn no_day_costs_more_than_its_budget(
        budget in 0.1f64..50.0, price in 0.01f64..8.0, begin in 0u32..86_400, slow in 0u64..110,
    ) {
        let limits = daily(budget);
        let (mut spending, mut seconds) = (Spending::default(), f64::from(begin));
        let mut going = None;
        while seconds < 2.0 * 86_400.0 {
            if seconds == 86_400.0 {
                prop_assert!(spending.today <= usd(budget), "{spending:?}");
                spending.today = usd(0.0);
            }
            let now = at(seconds / 3600.0);
            if spending.own.instances == 0 {
                if limits.start(&spending, Some(usd(price)), now).is_ok() {
                    spending.own = pods(price, 1);
                }
            } else if limits.stay(&spending, now).is_err() {
                going = going.or(Some(seconds));
            }
            if going.is_some_and(|since| seconds - since >= slow as f64) {
                (spending.own, going) = (Commitment::default(), None);
            }
            spending.today.0 += usd(price).0 * i64::from(spending.own.instances) / 3600;
            seconds += 1.0;
        }
        prop_assert!(spending.today <= usd(budget), "{spending:?}");
    }

    /// Whatever starts when, no hour costs more than the ceiling.
    #[test]
    fn no_hour_costs_more_than_its_ceiling(
        ceiling in 0.5f64..20.0, events in prop::collection::vec((0u32..5400, 0.05f64..6.0, any::<bool>()), 1..40),
    ) {
        let limits = hourly(ceiling);
        let mut events = events;
        events.sort_by_key(|(second, ..)| *second);
        let mut live: Vec<NanoUsd> = Vec::new();
        let mut hours = [0i64; 2];
        let mut next = events.into_iter().peekable();
        for second in 0..5400u32 {
            let hour = (second / 3600) as usize;
            while let Some((_, price, up)) = next.next_if(|(at, ..)| *at == second) {
                let all = Commitment {
                    usd_per_hour: NanoUsd(live.iter().map(|p| p.0).sum()),
                    instances: live.len() as u32,
                    unpriced: 0,
                };
                let spending = Spending { this_hour: NanoUsd(hours[hour]), all, ..Spending::default() };
                match up {
                    true if limits.start(&spending, Some(usd(price)), at(f64::from(second) / 3600.0)).is_ok() => live.push(usd(price)),
                    false => drop(live.pop()),
                    true => {}
                }
            }
            hours[hour] += live.iter().map(|p| p.0 / 3600).sum::<i64>();
        }
        prop_assert!(hours.iter().all(|spent| *spent <= usd(ceiling).0), "{hours:?} {ceiling}");
    }
}
