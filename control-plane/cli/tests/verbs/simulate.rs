mod ledger;

use serde_json::Value;

use crate::stub::{Ran, run};

/// Nobody is asked.
const NOBODY: &str = "http://127.0.0.1:9";

async fn simulated(args: &[&str]) -> Ran {
    let args: Vec<&str> = ["simulate"].iter().chain(args).copied().collect();
    run(NOBODY, &args, &[]).await
}

fn trace(rows: &str) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&file, rows).unwrap();
    file
}

fn path(file: &tempfile::NamedTempFile) -> &str {
    file.path().to_str().unwrap()
}

#[tokio::test]
async fn the_result_has_the_documented_shape_and_the_same_bytes_each_time() {
    let args = ["--generate", "on_off:rps=0.2,hours=6", "-o", "json"];
    let ran = simulated(&args).await;
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert_eq!(ran, simulated(&args).await);
    let json: Value = serde_json::from_str(&ran.out).unwrap();
    assert!(json["trace"]["arrivals"].as_u64().unwrap() > 1_000);
    assert_eq!(json["assumptions"]["boot_s"], 150.0);
    let optimum = json["optimum"]["cost_usd"].as_f64().unwrap();
    let policies = json["policies"].as_array().unwrap();
    assert_eq!(policies.len(), 5);
    for policy in policies {
        let number = |path: &str| policy.pointer(path).and_then(Value::as_f64).unwrap();
        let ratio = number("/cost_usd") / optimum;
        assert!(
            (number("/cost_over_optimum") - ratio).abs() < 1e-3,
            "{policy}"
        );
        assert!(number("/wait_s/p50") <= number("/wait_s/p99"));
        for field in ["cold_starts", "transitions", "pod_hours"] {
            assert!(policy[field].is_number(), "{field}: {policy}");
        }
        assert!(policy.get("pod_utility").is_some());
    }
}

#[tokio::test]
async fn the_table_tells_what_was_assumed() {
    let ran = simulated(&[
        "--generate",
        "poisson:hours=1",
        "--boot",
        "40s",
        "--policy",
        "regret",
    ])
    .await;
    assert_eq!(ran.code, 0, "{}", ran.err);
    for part in [
        "pod $1.39/h",
        "boot 40 s",
        "÷ OPTIMUM",
        "regret",
        "with hindsight",
    ] {
        assert!(ran.out.contains(part), "{part}: {}", ran.out);
    }
}

#[tokio::test]
async fn the_share_of_a_cold_start_that_is_billed_is_a_sentence() {
    for (share, words) in [
        ("1", "(billed whole)"),
        ("0", "(not billed)"),
        ("0.5", "(0.5 of it billed)"),
    ] {
        let traffic = ["--generate", "poisson:hours=1", "--policy", "regret"];
        let ran = simulated(&[&traffic[..], &["--billed-cold-share", share]].concat()).await;
        assert!(ran.out.contains(words), "{words}: {}", ran.out);
    }
}

#[tokio::test]
async fn a_missed_objective_is_exit_3() {
    let objective = |p95: &'static str| async move {
        let traffic = "poisson:rps=0.5,hours=3";
        simulated(&[
            "--generate",
            traffic,
            "--policy",
            "always:pod",
            "--objective",
            p95,
        ])
        .await
    };
    assert_eq!(objective("p95=8s").await.code, 0);
    let missed = objective("p95=1s").await;
    assert_eq!(missed.code, 3);
    assert!(
        missed.err.contains("always:pod misses the objective"),
        "{}",
        missed.err
    );
}

#[tokio::test]
async fn a_bad_trace_is_exit_2_with_file_and_line() {
    for (rows, line, part) in [
        ("t_s,exec_s\n1,1\n2,-2\n", ":3", "0 or more"),
        ("t_s,model,t_s\n1,a,2\n", ":1", "names the column t_s twice"),
        ("t_s,model\n1,a\n2,\n", ":3", "model is missing"),
        ("t_s\n1\nNaN\n", ":3", "t_s must be"),
        ("t_s\n\"\"\n", ":2", "t_s is missing"),
        ("t_s,exec_s\n1,2\n1\n", ":3", "1 fields; the header has 2"),
        ("t_s,exec_s\n1,1e9\n", ":2", "exec_s must not be above"),
        ("seconds\n1\n", ":1", "no column t_s"),
        ("t_s\n", "", "holds no arrival"),
        ("", ":1", "no column t_s"),
        ("t_s\n0\n1e12\n", ":3", "lies more than"),
    ] {
        let file = trace(rows);
        let ran = simulated(&["--trace", path(&file)]).await;
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{rows:?}");
        let place = format!("{}{line}: ", path(&file));
        assert!(
            ran.err.contains(&place) && ran.err.contains(part),
            "{rows:?}: {}",
            ran.err
        );
    }
    let missing = simulated(&["--trace", "/nowhere/at/all.csv"]).await;
    assert_eq!(missing.code, 2, "{}", missing.err);
}

#[tokio::test]
async fn flags_that_make_no_sense_are_exit_2() {
    for (flag, value, allowed) in [
        ("--policy", "greedy", "allowed: thresholds"),
        ("--usd-per-hour", "NaN", "0 to 1000000"),
        ("--usd-per-hour", "1e300", "0 to 1000000"),
        ("--usd-per-second", "-1", "0 to 1000000"),
        ("--billed-cold-share", "1.5", "from 0 to 1"),
        ("--slot", "0s", "from 1s to 1h"),
        ("--window", "0s", "from 1s to 24h"),
        ("--boot", "-5s", "must not be negative"),
        ("--concurrency", "0", "from 1 to 65536"),
        ("--objective", "8s", "p95=8s"),
        ("--objective", "p95=0s", "above 0s"),
        ("--seed", "-1", "from 0 to 18446744073709551615"),
        ("--seed", "1.5", "from 0 to 18446744073709551615"),
        (
            "--generate",
            "poisson:rps=-1",
            "rps must be a number above 0",
        ),
        ("--generate", "poisson:rps=1e9", "at most 100000000"),
        ("--generate", "poisson:hours=1e9", "not be above 8784"),
        ("--plot", "/nowhere/at/all.svg", "a folder that exists"),
    ] {
        let traffic = ["--generate", "poisson"];
        let traffic = if flag == "--generate" {
            &[][..]
        } else {
            &traffic
        };
        let ran = simulated(&[traffic, &[flag, value]].concat()).await;
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{flag}: {ran:?}");
        let named = ran.err.contains(flag) && ran.err.contains(allowed);
        assert!(named, "{flag} {value}: {}", ran.err);
    }
    let nothing = simulated(&[]).await;
    assert_eq!(nothing.code, 2);
    for source in ["--trace", "--from-ledger", "--generate"] {
        assert!(nothing.err.contains(source), "{}", nothing.err);
    }
}

#[tokio::test]
async fn rows_out_of_order_are_sorted_with_a_note() {
    let (sorted, shuffled) = (
        trace("t_s\n5\n8\n200\n201\n"),
        trace("t_s\n201\n8\n5\n200\n"),
    );
    let of = |file| async move { simulated(&["--trace", path(file), "-o", "json"]).await };
    let (sorted, shuffled) = (of(&sorted).await, of(&shuffled).await);
    assert_eq!(sorted.out, shuffled.out);
    assert_eq!(sorted.err, "");
    assert!(shuffled.err.contains("out of order"), "{}", shuffled.err);
}

#[tokio::test]
async fn each_model_is_a_deployment_of_its_own() {
    let file = trace("t_s,model,exec_s\n0,a,2\n1,b,\n2,a,2\n");
    let ran = simulated(&[
        "--trace",
        path(&file),
        "--policy",
        "always:serverless",
        "-o",
        "json",
    ])
    .await;
    let json: Value = serde_json::from_str(&ran.out).unwrap();
    let deployments = json["deployments"].as_array().unwrap();
    assert_eq!(deployments.len(), 2);
    assert_eq!(deployments[0]["model"], "a");
    let cost = |json: &Value| json["policies"][0]["cost_usd"].as_f64().unwrap();
    let sum: f64 = deployments.iter().map(cost).sum();
    assert!((cost(&json) - sum).abs() < 1e-6);
    // One cold start each: 30 s, then 2 + 2 and 3 s of work at once, then 5 s idle.
    assert!(
        (cost(&deployments[1]) - 0.00076 * 38.0).abs() < 1e-6,
        "{}",
        cost(&deployments[1])
    );
}

#[tokio::test]
async fn a_chart_shows_rate_thresholds_and_tiers() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("out.svg");
    let plot = file.to_str().unwrap();
    let ran = simulated(&["--generate", "diurnal:rps=0.1", "--plot", plot]).await;
    assert_eq!(ran.code, 0, "{}", ran.err);
    let svg = std::fs::read_to_string(&file).unwrap();
    for part in [
        "<svg",
        "<polygon",
        "stroke-dasharray",
        ">pod<",
        ">break_even<",
        "</svg>",
    ] {
        assert!(svg.contains(part), "{part}");
    }
    let models = trace("t_s,model\n-3,a\n0,b\n5,a\n");
    let ran = simulated(&["--trace", path(&models), "--plot", plot]).await;
    assert_eq!(ran.code, 0, "{}", ran.err);
    let svg = std::fs::read_to_string(&file).unwrap();
    for model in [", a</text>", ", b</text>"] {
        assert!(svg.contains(model), "each has a chart: {model}");
    }
}
