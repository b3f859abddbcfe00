//! Every decision about made-up traffic, held against a file. After a change
//! that is meant, `THERMOCLINE_GOLDEN=write` writes the files anew.

use std::fmt::Write;
use std::path::PathBuf;

use thermocline_simulate::{Arrival, Candidate, Fleet, Generator, Shape};

use crate::{assumptions, seconds};

/// What each policy decided, and what that cost.
fn story(generator: &Generator, wait: f64) -> String {
    let assumptions = assumptions(wait);
    let mut fleet = Fleet::new(&Candidate::ALL, &assumptions, 1);
    for at in generator.arrivals(1) {
        fleet.arrive(Arrival {
            at,
            service: assumptions.model.work.service,
            deployment: 0,
        });
    }
    let (report, courses) = fleet.finish(&[]);
    let mut out = format!(
        "{generator}, waiting ${wait}/s: {} arrivals, optimum ${:.4}\n",
        report.trace.arrivals,
        report.optimum.cost_usd.unwrap()
    );
    for (policy, course) in report.policies.iter().zip(&courses[0]) {
        let (name, cost) = (&policy.policy, policy.cost_usd.unwrap());
        let (cold, hours) = (policy.cold_starts, policy.pod_hours);
        writeln!(
            out,
            "\n{name}: ${cost:.4}, {cold} cold starts, {hours:.3} pod hours"
        )
        .unwrap();
        for switch in &course.switches {
            let (at, to, reason) = (seconds(switch.at), switch.to, switch.reason);
            let idled = !switch.transition && seconds(switch.at) > 0.0;
            let how = if idled { " (its pod stopped idle)" } else { "" };
            writeln!(out, "{at:.3} {to} {reason}{how}").unwrap();
        }
    }
    out
}

fn hold(shape: Shape, wait: f64) {
    let name = shape.as_str();
    let generator: Generator = format!("{name}:hours=24").parse().unwrap();
    let told = story(&generator, wait);
    assert_eq!(
        told,
        story(&generator, wait),
        "the same seed, the same bytes"
    );
    let suffix = if wait > 0.0 { "_waiting" } else { "" };
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("golden/{name}{suffix}.txt"));
    if std::env::var_os("THERMOCLINE_GOLDEN").is_some() {
        std::fs::write(&file, &told).unwrap();
    }
    let golden = std::fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(told, golden, "{}", file.display());
}

#[test]
fn poisson() {
    hold(Shape::Poisson, 0.0);
}

#[test]
fn diurnal() {
    hold(Shape::Diurnal, 0.0);
}

#[test]
fn on_off() {
    hold(Shape::OnOff, 0.0);
    hold(Shape::OnOff, 0.005);
}

#[test]
fn bursty() {
    hold(Shape::Bursty, 0.0);
    hold(Shape::Bursty, 0.005);
}

#[test]
fn rare() {
    hold(Shape::Rare, 0.0);
    hold(Shape::Rare, 0.005);
}
