use std::collections::BTreeMap;
use std::time::Duration;

use thermocline_policy::parse_duration;

/// What an instance's environment changes about it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Overrides {
    pub(crate) service_time: Option<Duration>,
    pub(crate) boot: Option<Duration>,
    pub(crate) ready_delay: Duration,
    pub(crate) exit: Option<Exit>,
    pub(crate) no_capacity: bool,
}

/// An instance that ends by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exit {
    pub(crate) after: Duration,
    pub(crate) code: i32,
}

impl Overrides {
    /// Reads the `SIM_…` variables; says which cannot be read.
    pub(crate) fn from_env(env: &BTreeMap<String, String>) -> Result<Self, String> {
        let code = match env.get("SIM_EXIT_CODE") {
            Some(code) => code
                .parse()
                .map_err(|_| "SIM_EXIT_CODE is no number".to_owned())?,
            None => 0,
        };
        Ok(Overrides {
            service_time: duration(env, "SIM_SERVICE_TIME")?,
            boot: duration(env, "SIM_BOOT")?,
            ready_delay: duration(env, "SIM_READY_DELAY")?.unwrap_or_default(),
            exit: duration(env, "SIM_EXIT_AFTER")?.map(|after| Exit { after, code }),
            no_capacity: env.get("SIM_NO_CAPACITY").is_some_and(|value| value == "1"),
        })
    }
}

fn duration(env: &BTreeMap<String, String>, name: &str) -> Result<Option<Duration>, String> {
    let text = env.get(name);
    text.map(|text| parse_duration(text).map_err(|error| format!("{name} {error}")))
        .transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<Overrides, String> {
        let env = pairs
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        Overrides::from_env(&env.collect())
    }

    #[test]
    fn nothing_said_changes_nothing() {
        assert_eq!(read(&[("HOME", "x")]), Ok(Overrides::default()));
    }

    #[test]
    fn an_exit_has_a_time_and_a_code() {
        let read = read(&[("SIM_EXIT_AFTER", "2s"), ("SIM_EXIT_CODE", "137")]);
        let exit = read.unwrap().exit;
        let after = Duration::from_secs(2);
        assert_eq!(exit, Some(Exit { after, code: 137 }));
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let error = read(&[("SIM_BOOT", "10")]).unwrap_err();
        assert_eq!(error, "SIM_BOOT needs a unit");
    }
}
