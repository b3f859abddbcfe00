//! A proxy that someone else started.

use std::net::SocketAddr;
use std::str::FromStr;

use super::Target;

/// A peer as the command line names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct External {
    pub(super) name: String,
    address: SocketAddr,
    prefix: String,
    pid: Option<u32>,
}

impl External {
    /// The peer as a target.
    pub(super) fn target(&self) -> Target {
        let External {
            name,
            address,
            prefix,
            pid,
        } = self.clone();
        Target {
            name,
            address,
            prefix,
            root: pid,
        }
    }
}

impl FromStr for External {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, rest) = text
            .split_once('=')
            .ok_or("expected name=http://ADDRESS:PORT/PREFIX,pid=PID")?;
        let (url, pid) = match rest.split_once(",pid=") {
            Some((url, digits)) => (
                url,
                Some(digits.parse().map_err(|_| "the pid is no number")?),
            ),
            None => (rest, None),
        };
        let place = url
            .strip_prefix("http://")
            .ok_or("only http:// can be measured")?;
        let at = place.find('/').unwrap_or(place.len());
        let address: SocketAddr = place[..at]
            .parse()
            .map_err(|_| "expected an IP address and a port")?;
        if !address.ip().is_loopback() {
            return Err("only loopback addresses are loaded");
        }
        let prefix = place[at..].trim_end_matches('/').to_owned();
        Ok(External {
            name: name.to_owned(),
            address,
            prefix,
            pid,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_address_prefix_and_pid() {
        let peer: External = "mine=http://127.0.0.1:9000/d/bench/,pid=77"
            .parse()
            .unwrap();
        let address = "127.0.0.1:9000".parse().unwrap();
        let expected = External {
            name: "mine".into(),
            address,
            prefix: "/d/bench".into(),
            pid: Some(77),
        };
        assert_eq!(peer, expected);
        assert_eq!("a=http://[::1]:80".parse::<External>().unwrap().prefix, "");
    }

    #[test]
    fn only_this_machine_is_loaded() {
        assert!("x=http://192.0.2.1:80".parse::<External>().is_err());
        assert!("x=http://localhost:80".parse::<External>().is_err());
    }
}
