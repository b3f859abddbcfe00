//! Reasons in words, by what made the thresholds that they speak of.

use std::time::Duration;

use thermocline_policy::Tier;

use crate::output::{about, counted};
use crate::view::{Decision, Inputs};

/// The rule that fired, in words and by its name.
pub(super) fn rule(reason: &str, inputs: &Inputs) -> String {
    match words(reason, inputs) {
        Some(words) => format!("{words} (rule `{reason}`)"),
        None => format!("rule `{reason}`"),
    }
}

/// `None` for a reason that only a newer server knows.
pub(super) fn words(reason: &str, inputs: &Inputs) -> Option<String> {
    let words = match reason {
        "forced" => "a person forced a tier",
        "dedicated" => "a pinned instance always wins",
        "local_fits" => "this machine's GPU memory holds it",
        "no_serverless" => "there is no serverless tier",
        "no_pod" => "there is no pod tier",
        "pod_warm" => return Some(stays(inputs)),
        "promote" => return Some(promoted(inputs)),
        "below_promote" => return Some(not_promoted(inputs)),
        "objective" => "the objective asks for a pod",
        "idle" => "its pod stopped for want of work, and nothing has come since",
        "pod_booting" => "the pod is still booting",
        "no_capacity" => "nobody has capacity to sell",
        "budget" => "a budget or a ceiling says so",
        "unobserved" => "less than a whole window has been seen",
        "busy" => "work in flight is not interrupted",
        "hold" => return Some(held(inputs)),
        "no_memory" => "its memory floor does not fit into the free GPU memory",
        "no_daemon" => "the Docker daemon cannot be reached",
        "backing_off" => "the last start failed and the next try is not due",
        _ => return None,
    };
    Some(words.to_owned())
}

fn stays(inputs: &Inputs) -> String {
    let words = match inputs.basis() {
        _ if inputs.pod_pinned => "a pod is kept",
        "regret" => "what serverless would have saved does not pay for a switch yet",
        "free" => "a pod costs nothing",
        "awaited_prices" => AWAITED,
        _ if inputs.demotes_below() == 0 => "a warm pod stays: no rate is too low for it",
        _ => {
            let least = counted(inputs.demotes_below(), "request");
            return format!("a warm pod stays while the window holds {least} or more");
        }
    };
    words.to_owned()
}

fn promoted(inputs: &Inputs) -> String {
    match inputs.basis() {
        "regret" => "a pod would have saved what a switch costs".to_owned(),
        "free" => "a pod costs nothing, so it serves from the first request on".to_owned(),
        _ => {
            let least = counted(inputs.promotes_from(), "request");
            format!("the window holds {least} or more")
        }
    }
}

fn not_promoted(inputs: &Inputs) -> String {
    let words = match inputs.basis() {
        _ if !inputs.has(Tier::Pod) => "there is no pod tier",
        "regret" => "what a pod would have saved does not pay for a switch yet",
        "never_pays" => "at these prices a pod never pays",
        "awaited_prices" => AWAITED,
        _ if inputs.count == 0 && inputs.promotes_from() <= 1 => "the window holds no request",
        _ => {
            let least = counted(inputs.promotes_from(), "request");
            return format!("the window holds fewer than {least}");
        }
    };
    words.to_owned()
}

const AWAITED: &str = "the first prices are on their way, and until then nothing moves";

/// What is left of a hold; how long ago the transition was does not say it.
fn held(inputs: &Inputs) -> String {
    let left = inputs.hold_left_s.map(Duration::try_from_secs_f64);
    match left {
        Some(Ok(left)) => format!(
            "the last transition is too recent, for {} more",
            about(left.max(Duration::from_secs(1)))
        ),
        _ => "the last transition is too recent".to_owned(),
    }
}

/// What a change of tier was made for. Seen from where it began, what keeps a
/// tier is no reason to leave it.
pub(super) fn change(decision: &Decision) -> String {
    let inputs = &decision.inputs;
    let back = decision.current == Some(Tier::Pod) && decision.tier == Tier::Serverless;
    let demoted = back && decision.reason == "below_promote";
    let words = match inputs.basis() {
        "regret" if demoted => "serverless would have saved what a switch costs".to_owned(),
        "rates" | "break_even" if demoted => {
            let least = counted(inputs.demotes_below(), "request");
            format!("the window held fewer than {least}")
        }
        _ => return rule(&decision.reason, inputs),
    };
    format!("{words} (rule `{}`)", decision.reason)
}
