//! `force` and `unforce`: a person's word over the policy's.

use std::time::{Duration, SystemTime};

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::json;

use crate::args::Force;
use crate::failure::Failure;
use crate::session::Session;

/// Puts a deployment on a tier, for a time or until `unforce`.
///
/// # Errors
/// Refused, when it lacks the tier; not found; those of the call.
pub(crate) async fn force(session: &Session, args: &Force) -> Result<(), Failure> {
    let until = args
        .duration
        .map(|duration| end(session, duration))
        .transpose()?;
    let mut body = json!({ "tier": args.tier });
    if let Some(until) = &until {
        body["until"] = json!(until);
    }
    let path = ["deployments", &args.name, "forced"];
    let answer = session.client.put(&path, &body).await?;
    session.show(&answer, || {
        let until = until.as_deref().unwrap_or("`thermocline unforce`");
        Ok(format!(
            "{} is forced to {} until {until}",
            args.name, args.tier
        ))
    })
}

/// Gives a deployment back to the policy.
///
/// # Errors
/// Not found, and those of the call.
pub(crate) async fn unforce(session: &Session, name: &str) -> Result<(), Failure> {
    let answer = session
        .client
        .delete(&["deployments", name, "forced"])
        .await?;
    session.show(&answer, || Ok(format!("{name} is not forced")))
}

fn end(session: &Session, duration: Duration) -> Result<String, Failure> {
    rfc3339_after(session.clock.wall(), duration)
        .ok_or_else(|| Failure::usage(vec!["--for ends beyond the calendar".to_owned()]))
}

fn rfc3339_after(now: SystemTime, duration: Duration) -> Option<String> {
    let now = DateTime::<Utc>::from(now);
    let until = now.checked_add_signed(chrono::TimeDelta::from_std(duration).ok()?)?;
    Some(until.to_rfc3339_opts(SecondsFormat::Secs, true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_a_time_in_utc() {
        let hours = Duration::from_secs(2 * 3600);
        let end = rfc3339_after(SystemTime::UNIX_EPOCH, hours);
        assert_eq!(end.as_deref(), Some("1970-01-01T02:00:00Z"));
        assert_eq!(rfc3339_after(SystemTime::UNIX_EPOCH, Duration::MAX), None);
    }
}
