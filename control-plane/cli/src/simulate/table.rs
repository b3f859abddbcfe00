use std::time::Duration;

use thermocline_simulate::{
    AssumptionsReport, DeploymentReport, PolicyReport, Report, TraceReport,
};

use crate::output::{NOTHING, about, counted, dollars, or_nothing, table};

const HEADER: [&str; 10] = [
    "POLICY",
    "COST $",
    "÷ OPTIMUM",
    "COLD STARTS",
    "WAIT P50",
    "P95",
    "P99",
    "TRANSITIONS",
    "POD HOURS",
    "POD UTILITY",
];

/// The result for people.
pub(super) fn tell(report: &Report) -> String {
    let mut out = format!(
        "{}.\n{}\n{}\n",
        arrivals(&report.trace),
        general(report),
        table(&HEADER, report.policies.iter().map(row)),
    );
    out.push_str(&match report.optimum.cost_usd {
        Some(usd) => format!(
            "\nThe optimum costs ${}: the cheapest course with hindsight, with one pod per deployment; no policy above is cheaper.\n",
            dollars(usd)
        ),
        None => "\nWithout a serverless tier there is nothing to compare.\n".to_owned(),
    });
    out.extend(left_out(report));
    for one in &report.deployments {
        out.push_str(&format!(
            "\n{} ({}, optimum {})\n",
            one.model,
            arrivals(&one.trace),
            or_nothing(one.optimum.cost_usd.map(|usd| format!("${}", dollars(usd)))),
        ));
        let own = one.assumptions.as_ref();
        out.extend(own.map(|own| format!("{}\n", assumptions(own))));
        out.push_str(&table(&HEADER, one.policies.iter().map(row)));
        out.push('\n');
    }
    out
}

/// Which deployments the sums are without.
fn left_out(report: &Report) -> Option<String> {
    let count = report.left_out.len() as u64;
    (count > 0).then(|| {
        format!(
            "{} with one tier alone, of whose cost no policy decides, left out of these sums: {}.\n",
            counted(count, "deployment"),
            report.left_out.join(", ")
        )
    })
}

fn arrivals(trace: &TraceReport) -> String {
    let span = match trace.span_s {
        3600.0.. => format!("{:.1} h", trace.span_s / 3600.0),
        seconds => about(Duration::try_from_secs_f64(seconds).unwrap_or_default()),
    };
    format!("{} in {span}", counted(trace.arrivals, "arrival"))
}

/// What is assumed of all; nothing where each deployment has its own.
fn general(report: &Report) -> String {
    let own = |one: &DeploymentReport| one.assumptions.is_some();
    match !report.deployments.is_empty() && report.deployments.iter().all(own) {
        true => String::new(),
        false => format!("{}\n", assumptions(&report.assumptions)),
    }
}

fn assumptions(a: &AssumptionsReport) -> String {
    format!(
        "Assumed: pod ${}/h, serverless ${}/s, waiting ${}/s; service {}, or {} input tokens/s and {} s an output token; \
cold start {} s ({}), boot {} s; idle {} s serverless, {} s pod; {} at a time; \
window {} s, slot {} s; {}{} of 100 pod starts fail, seed {}.",
        a.usd_per_hour,
        a.usd_per_second,
        a.value_of_wait_usd_per_s,
        service(a),
        a.in_tokens_per_s,
        a.s_per_out_token,
        a.cold_start_s,
        billed(a.billed_cold_share),
        a.boot_s,
        a.serverless_idle_s,
        a.pod_idle_s,
        a.concurrency,
        a.window_s,
        a.slot_s,
        held_to(a),
        (1000.0 * a.pod_failure_share).round() / 10.0,
        a.seed,
    )
}

fn service(a: &AssumptionsReport) -> String {
    let (serverless, pod) = (a.service_time_s, a.service_time_on_pod_s);
    match serverless == pod {
        true => format!("{serverless} s"),
        false => format!("{serverless} s on serverless and {pod} s on a pod"),
    }
}

fn held_to(a: &AssumptionsReport) -> String {
    let objective = a.objective_p95_s;
    objective.map_or_else(String::new, |p95| {
        format!("an objective of 95 of 100 within {p95} s; ")
    })
}

/// The share of a cold start that is billed.
fn billed(share: f64) -> String {
    match share {
        1.0 => "billed whole".to_owned(),
        0.0 => "not billed".to_owned(),
        share => format!("{share} of it billed"),
    }
}

fn row(policy: &PolicyReport) -> Vec<String> {
    if let Some(tier) = policy.lacks {
        let mut row = vec![policy.policy.clone(), format!("no {tier} tier")];
        row.resize(HEADER.len(), NOTHING.to_owned());
        return row;
    }
    let seconds = |s: f64| format!("{s:.1} s");
    vec![
        policy.policy.clone(),
        or_nothing(policy.cost_usd.map(dollars)),
        or_nothing(policy.cost_over_optimum.map(|ratio| format!("{ratio:.3}"))),
        policy.cold_starts.to_string(),
        seconds(policy.wait_s.p50),
        seconds(policy.wait_s.p95),
        seconds(policy.wait_s.p99),
        policy.transitions.to_string(),
        format!("{:.2}", policy.pod_hours),
        or_nothing(policy.pod_utility.map(|utility| format!("{utility:.1}"))),
    ]
}
