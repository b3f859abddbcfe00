use proptest::prelude::*;

use super::*;
use crate::{Count, Prices, Shadow, UsdPerSecond, Work};

const STEP: Duration = Duration::from_secs(10);

fn model(boot: u64) -> CostModel {
    CostModel {
        prices: Prices {
            pod: UsdPerSecond::of(0.001),
            serverless: UsdPerSecond::of(0.002),
            ..Prices::default()
        },
        work: Work {
            boot: Duration::from_secs(boot),
            ..Work::default()
        },
    }
}

/// Without a pod, or with one that is ready and has cost nothing yet.
fn begun(ready: bool) -> Hindsight {
    match ready {
        true => Hindsight::resumed(Moment::ORIGIN, SoFar::default()),
        false => Hindsight::new(Moment::ORIGIN),
    }
}

/// Every way through the moments, tried out.
struct Ways<'c> {
    costs: &'c [SlotCost],
    boot: usize,
    boot_usd: f64,
}

impl Ways<'_> {
    fn without(&self, i: usize) -> f64 {
        let cost = self.costs.get(i);
        cost.map_or(0.0, |cost| cost.serverless + self.after(i))
    }

    fn with(&self, i: usize) -> f64 {
        let Some(cost) = self.costs.get(i) else {
            return 0.0;
        };
        let stays = cost.machine + self.with(i + 1);
        cost.spill + stays.min(cost.last_work + self.after(i))
    }

    /// What comes after the arrivals of moment `i`, without a pod then.
    fn after(&self, i: usize) -> f64 {
        let never = self.without(i + 1);
        let ready = i + self.boot;
        if ready >= self.costs.len() {
            return never;
        }
        let meanwhile: f64 = (i + 1..ready).map(|j| self.costs[j].serverless).sum();
        never.min(self.boot_usd + meanwhile + self.with(ready))
    }
}

fn slot(serverless: f64, spill: f64) -> SlotCost {
    SlotCost {
        serverless,
        spill,
        machine: 0.01,
        last_work: 0.003,
    }
}

/// Without a boot, what a pod costs is the time that it works.
#[test]
fn a_pod_that_boots_at_once_is_paid_for_its_work() {
    let model = model(0);
    let mut shadow = Shadow::booting_from(Moment::ORIGIN);
    let mut hindsight = Hindsight::new(Moment::ORIGIN);
    let gap = Duration::from_secs(100);
    let mut now = Moment::ORIGIN;
    for _ in 0..3 {
        shadow.take(now, model.work.service, &model);
        hindsight.advance(shadow.end_slot(gap, &model), gap, &model);
        now = now + gap;
    }
    // Three requests of 3 s, a hundred seconds apart, at $0.001 a second.
    assert!(
        (hindsight.least() - 0.009).abs() < 1e-12,
        "{}",
        hindsight.least()
    );
}

proptest! {
    #[test]
    fn nothing_is_cheaper(
        costs in prop::collection::vec((0.0f64..0.1, 0.0f64..0.02), 0..12),
        boot in 1usize..4,
    ) {
        // While a pod that was wished for at the beginning boots, all is beside it.
        let spill = |i, a, spill| if i < boot { a } else { spill };
        let costs = costs.into_iter().enumerate();
        let costs: Vec<SlotCost> = costs.map(|(i, (a, s))| slot(a, spill(i, a, s))).collect();
        let model = model(boot as u64 * 10);
        let mut hindsight = Hindsight::new(Moment::ORIGIN);
        for cost in &costs {
            hindsight.advance(*cost, STEP, &model);
        }
        let boot_usd = model.boot_usd();
        let exact = Ways { costs: &costs, boot, boot_usd }.without(0);
        prop_assert!((hindsight.least() - exact).abs() < 1e-9, "{} {exact}", hindsight.least());
    }

    /// Whatever comes, whatever it costs and however long things take.
    #[test]
    fn neither_tier_alone_is_cheaper(
        counts in prop::collection::vec(0u64..40, 1..60),
        prices in (0.0f64..0.002, 0.0f64..0.002, 0.0f64..0.01),
        times in (0u64..20, 0u64..60, 0u64..200, 0u64..30),
        share in 0.0f64..=1.0,
        concurrency in 1u32..20,
        ready: bool,
    ) {
        let (serverless, pod, wait) = prices;
        let seconds = Duration::from_secs;
        let model = CostModel {
            prices: Prices {
                serverless: UsdPerSecond::of(serverless),
                pod: UsdPerSecond::of(pod),
                wait: UsdPerSecond::of(wait).unwrap(),
            },
            work: Work {
                service: seconds(times.0),
                service_on_pod: seconds(times.0),
                cold_start: seconds(times.1),
                billed_cold_share: share,
                boot: seconds(times.2),
                serverless_idle: seconds(times.3),
                concurrency,
            },
        };
        let mut shadow = match ready {
            true => Shadow::default(),
            false => Shadow::booting_from(Moment::ORIGIN),
        };
        let mut hindsight = begun(ready);
        let (mut now, mut sum) = (Moment::ORIGIN, 0.0);
        for count in counts {
            let count = Count {
                start: now,
                span: STEP,
                requests: count,
                in_hand: 0,
            };
            shadow.count(&count, &model);
            let cost = shadow.end_slot(STEP, &model);
            hindsight.advance(cost, STEP, &model);
            sum += cost.serverless;
            now = now + STEP;
        }
        prop_assert!((hindsight.serverless_alone() - sum).abs() < 1e-9);
        prop_assert!(hindsight.least() <= hindsight.serverless_alone() + 1e-12);
        prop_assert!(hindsight.least() <= hindsight.pod_alone());
        let done = sum * 0.5;
        hindsight.was_possible(done);
        prop_assert!(hindsight.least() <= done + 1e-12);
    }
}

#[test]
fn a_pod_alone_pays_its_boot_and_serverless_meanwhile() {
    let model = CostModel {
        work: Work {
            service: Duration::from_secs(1),
            service_on_pod: Duration::from_secs(1),
            cold_start: Duration::ZERO,
            serverless_idle: Duration::ZERO,
            ..model(25).work
        },
        ..model(25)
    };
    let alone = |mut shadow: Shadow, ready| {
        let mut hindsight = begun(ready);
        let mut now = Moment::ORIGIN;
        for _ in 0..5 {
            shadow.take(now, model.work.service, &model);
            let cost = shadow.end_slot(STEP, &model);
            hindsight.advance(cost, STEP, &model);
            now = now + STEP;
        }
        hindsight.pod_alone()
    };
    // Ready at 25 s: the arrivals at 0, 10 and 20 s are on serverless.
    let boots = alone(Shadow::booting_from(Moment::ORIGIN), false);
    assert!((boots - (0.05 + 3.0 * 0.002)).abs() < 1e-9, "{boots}");
    let kept = alone(Shadow::default(), true);
    assert!((kept - 0.05).abs() < 1e-9, "{kept}");
}

/// A pod that nobody has paid for so far is not there after a restart.
#[test]
fn who_goes_on_without_a_pod_pays_for_what_comes() {
    let model = model(150);
    let so_far = SoFar {
        serverless: 0.66,
        pod: 3.0,
        least: 0.66,
    };
    let mut hindsight = Hindsight::resumed(Moment::ORIGIN, so_far);
    hindsight.advance(slot(0.38, 0.0), STEP, &model);
    assert!((hindsight.serverless_alone() - 1.04).abs() < 1e-9);
    assert!((hindsight.least() - 1.04).abs() < 1e-9, "{hindsight:?}");
    // Where keeping one is the cheapest so far, it is there and goes on costing.
    let mut kept = Hindsight::resumed(
        Moment::ORIGIN,
        SoFar {
            pod: 0.5,
            least: 0.5,
            ..so_far
        },
    );
    kept.advance(slot(0.38, 0.0), STEP, &model);
    assert!((kept.pod_alone() - 0.51).abs() < 1e-9);
    assert!(kept.least() <= 0.51 && kept.least() >= 0.5, "{kept:?}");
}

#[test]
fn memory_is_that_of_one_boot() {
    let model = model(150);
    let mut hindsight = Hindsight::new(Moment::ORIGIN);
    for i in 0..10_000 {
        let cost = slot(f64::from(i % 7) * 0.01, 0.0);
        hindsight.advance(cost, STEP, &model);
    }
    assert!(hindsight.begins.len() <= 17, "{}", hindsight.begins.len());
}

/// Numbers between 0 and 1 from a fixed sequence (Lehmer, 2^31 − 1).
struct Numbers(u64);

impl Numbers {
    fn unit(&mut self) -> f64 {
        self.0 = self.0 * 48_271 % 2_147_483_647;
        self.0 as f64 / 2_147_483_647.0
    }
}

/// A few requests, near and far apart.
fn trace(numbers: &mut Numbers) -> Vec<Moment> {
    let mut now = 0.0;
    (0..10)
        .map(|_| {
            let mean = [1.0, 10.0, 40.0, 200.0][(numbers.unit() * 4.0) as usize];
            now -= mean * numbers.unit().ln();
            Moment::from_origin(Duration::from_secs_f64(now))
        })
        .collect()
}

/// What it costs to serve those on a pod whose bit is set, and the others on serverless.
fn course(arrivals: &[Moment], on_pod: u32, model: &CostModel) -> Option<f64> {
    let (work, price) = (&model.work, model.prices.pod.unwrap());
    let mut meter = crate::ServerlessMeter::default();
    let mut usd = 0.0;
    let mut last: Option<Moment> = None;
    for (i, at) in arrivals.iter().enumerate() {
        if on_pod & (1 << i) == 0 {
            usd += model.paid(&meter.take(*at, work.service, work));
            continue;
        }
        let since = at.since(last.unwrap_or(Moment::ORIGIN));
        let in_time = since >= work.boot;
        // Kept since the last that it served, or stopped after that and booted in time.
        let kept = last.map(|_| since);
        let booted = in_time.then(|| work.boot + last.map_or(Duration::ZERO, |_| work.service));
        usd += price.over(kept.into_iter().chain(booted).min()?);
        last = Some(*at);
    }
    usd += last.map_or(0.0, |_| price.over(work.service));
    Some(usd)
}

/// No course of a small trace is cheaper; and it is not far below the cheapest.
#[test]
fn it_is_just_below_the_cheapest_of_all_courses() {
    let mut numbers = Numbers(4_711);
    let (mut sum, mut worst) = (0.0, 0.0_f64);
    const TRACES: u32 = 400;
    for _ in 0..TRACES {
        let mut model = model((numbers.unit() * 60.0) as u64 + 1);
        model.work.cold_start = Duration::from_secs_f64(numbers.unit() * 40.0);
        let arrivals = trace(&mut numbers);
        let mut shadow = Shadow::booting_from(Moment::ORIGIN);
        let mut hindsight = Hindsight::new(Moment::ORIGIN);
        let mut last = Moment::ORIGIN;
        for at in &arrivals {
            let span = at.since(last);
            hindsight.advance(shadow.end_slot(span, &model), span, &model);
            shadow.take(*at, model.work.service, &model);
            last = *at;
        }
        hindsight.advance(
            shadow.end_slot(Duration::ZERO, &model),
            Duration::ZERO,
            &model,
        );
        let courses = 0..1 << arrivals.len();
        let all = courses.filter_map(|on_pod| course(&arrivals, on_pod, &model));
        let ratio = hindsight.least() / all.fold(f64::INFINITY, f64::min);
        sum += ratio;
        worst = worst.max(ratio);
    }
    let mean = sum / f64::from(TRACES);
    assert!(
        worst < 1.0 + 1e-9 && mean > 0.85,
        "worst {worst}, mean {mean}"
    );
}
