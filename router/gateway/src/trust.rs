use std::net::IpAddr;

use ipnet::IpNet;

/// Peers whose `x-forwarded-*` headers are believed.
#[derive(Debug, Clone, Default)]
pub struct TrustedProxies(Vec<IpNet>);

impl TrustedProxies {
    /// Those within `networks`.
    pub fn new(networks: Vec<IpNet>) -> Self {
        TrustedProxies(networks)
    }

    /// Whether `peer` is one of them.
    pub fn trusts(&self, peer: IpAddr) -> bool {
        let peer = peer.to_canonical();
        self.0.iter().any(|network| network.contains(&peer))
    }
}
