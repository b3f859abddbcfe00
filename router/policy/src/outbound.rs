//! Which addresses may be connected to.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Where clouds answer instances about themselves, beside link-local addresses:
/// Alibaba Cloud, Oracle Cloud, Azure's host, Amazon over IPv6.
const METADATA: [IpAddr; 4] = [
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V4(Ipv4Addr::new(192, 0, 0, 192)),
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
];

/// Whether nothing at `ip` is ever reached, whoever named it: link-local,
/// metadata, unspecified and broadcast addresses, also inside an IPv6 one.
pub fn is_never_reached(ip: IpAddr) -> bool {
    let ip = embedded(ip.to_canonical());
    let never = match ip {
        IpAddr::V4(v4) => v4.is_link_local() || v4.is_unspecified() || v4.is_broadcast(),
        IpAddr::V6(v6) => v6.is_unicast_link_local() || v6.is_unspecified(),
    };
    never || METADATA.contains(&ip)
}

/// Whether `ip` is on loopback or in a private network.
pub fn is_private(ip: IpAddr) -> bool {
    match embedded(ip.to_canonical()) {
        IpAddr::V4(v4) => v4.is_loopback() || v4.is_private() || is_shared(v4),
        IpAddr::V6(v6) => v6.is_loopback() || v6.is_unique_local(),
    }
}

/// The IPv4 address that a NAT64 address stands for (RFC 6052, 64:ff9b::/96).
fn embedded(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V6(v6) => match v6.segments() {
            [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
                IpAddr::V4((u32::from(high) << 16 | u32::from(low)).into())
            }
            _ => ip,
        },
        IpAddr::V4(_) => ip,
    }
}

/// Behind a carrier's address translation (RFC 6598, 100.64.0.0/10).
fn is_shared(v4: Ipv4Addr) -> bool {
    let [first, second, ..] = v4.octets();
    first == 100 && second & 0b1100_0000 == 64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn metadata_is_never_reached_in_whatever_form() {
        for never in [
            "169.254.169.254",
            "fe80::1",
            "fd00:ec2::254",
            "0.0.0.0",
            "::ffff:169.254.1.1",
            "100.100.100.200",
            "192.0.0.192",
            "168.63.129.16",
            "64:ff9b::169.254.169.254",
        ] {
            assert!(is_never_reached(ip(never)), "{never}");
        }
    }

    #[test]
    fn private_networks_are_told_from_the_rest() {
        for inner in [
            "127.0.0.1",
            "10.0.0.1",
            "192.168.1.1",
            "100.64.0.1",
            "::1",
            "::ffff:127.0.0.1",
            "64:ff9b::10.0.0.1",
        ] {
            assert!(
                is_private(ip(inner)) && !is_never_reached(ip(inner)),
                "{inner}"
            );
        }
        for outer in ["203.0.113.7", "100.128.0.1", "64:ff9b::203.0.113.7"] {
            assert!(
                !is_private(ip(outer)) && !is_never_reached(ip(outer)),
                "{outer}"
            );
        }
    }
}
