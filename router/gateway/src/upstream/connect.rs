use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use rustls_platform_verifier::ConfigVerifierExt;
use thermocline_clock::Clock;
use thermocline_policy::{Moment, Tier};
use thermocline_table::Backend;
use tokio::net::{TcpStream, lookup_host};
use tokio_rustls::TlsConnector;

use super::{Connection, ExchangeError, UpstreamIo};

const PATIENCE: Duration = Duration::from_secs(5);

/// Opens connections to backends.
pub(crate) struct Connector {
    tls: Option<TlsConnector>,
    clock: Clock,
    /// Whether the user's own instances may be on loopback and private addresses.
    private_dedicated: bool,
}

impl Connector {
    /// A connector; without TLS where the machine's certificates cannot be read.
    pub(crate) fn new(clock: Clock, private_dedicated: bool) -> Self {
        let tls = ClientConfig::with_platform_verifier()
            .inspect_err(|error| tracing::warn!(%error, "https backends cannot be verified"))
            .ok()
            .map(|config| TlsConnector::from(Arc::new(config)));
        Connector {
            tls,
            clock,
            private_dedicated,
        }
    }

    /// A new connection to `backend`, in five seconds and before `deadline`.
    pub(crate) async fn connect(
        &self,
        backend: &Backend,
        deadline: Moment,
    ) -> Result<Connection, ExchangeError> {
        let by = deadline.min(self.clock.now() + PATIENCE);
        match self.clock.timeout_at(by, self.open(backend)).await {
            Ok(opened) => opened,
            Err(_) if by == deadline => Err(ExchangeError::Deadline),
            Err(_) => Err(ExchangeError::Connect(io::ErrorKind::TimedOut.into())),
        }
    }

    async fn open(&self, backend: &Backend) -> Result<Connection, ExchangeError> {
        let tcp = self.tcp(backend).await?;
        let _ = tcp.set_nodelay(true);
        let io = match backend.target.tls {
            false => UpstreamIo::Plain(tcp),
            true => UpstreamIo::Tls(self.handshake(tcp, &backend.target.host).await?),
        };
        Ok(Connection::new(io, backend.id))
    }

    async fn tcp(&self, backend: &Backend) -> Result<TcpStream, ExchangeError> {
        let target = &backend.target;
        let addresses: Vec<SocketAddr> = match target.host.parse::<IpAddr>() {
            Ok(ip) => vec![SocketAddr::new(ip, target.port)],
            Err(_) => lookup_host((target.host.as_str(), target.port))
                .await
                .map_err(ExchangeError::Connect)?
                .collect(),
        };
        let named_by_user = backend.tier == Tier::Dedicated;
        let mut last = ExchangeError::Connect(io::ErrorKind::NotFound.into());
        for address in addresses {
            if named_by_user && !may_reach(address.ip(), self.private_dedicated) {
                last = ExchangeError::Forbidden;
                continue;
            }
            match TcpStream::connect(address).await {
                Ok(tcp) => return Ok(tcp),
                Err(error) => last = ExchangeError::Connect(error),
            }
        }
        Err(last)
    }

    async fn handshake(
        &self,
        tcp: TcpStream,
        host: &str,
    ) -> Result<Box<tokio_rustls::client::TlsStream<TcpStream>>, ExchangeError> {
        let tls = self
            .tls
            .as_ref()
            .ok_or_else(|| ExchangeError::Connect(io::ErrorKind::Unsupported.into()))?;
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| ExchangeError::Connect(io::ErrorKind::InvalidInput.into()))?;
        let stream = tls.connect(name, tcp).await;
        stream.map(Box::new).map_err(ExchangeError::Connect)
    }
}

/// Where clouds answer instances about themselves, beside link-local addresses:
/// Alibaba Cloud, Oracle Cloud, Azure's host, Amazon over IPv6.
const METADATA: [IpAddr; 4] = [
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V4(Ipv4Addr::new(192, 0, 0, 192)),
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
];

/// Whether an address that a user named may be reached: link-local and
/// metadata addresses never, loopback and private ones as configured.
fn may_reach(ip: IpAddr, private: bool) -> bool {
    let ip = embedded(ip.to_canonical());
    let never = match ip {
        IpAddr::V4(v4) => v4.is_link_local() || v4.is_unspecified() || v4.is_broadcast(),
        IpAddr::V6(v6) => v6.is_unicast_link_local() || v6.is_unspecified(),
    };
    let inner = match ip {
        IpAddr::V4(v4) => v4.is_loopback() || v4.is_private() || is_shared(v4),
        IpAddr::V6(v6) => v6.is_loopback() || v6.is_unique_local(),
    };
    !never && !METADATA.contains(&ip) && (private || !inner)
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

    #[test]
    fn metadata_is_never_reached_and_private_only_where_allowed() {
        let reach = |ip: &str, private| may_reach(ip.parse().unwrap(), private);
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
            assert!(!reach(never, true), "{never}");
        }
        for inner in [
            "127.0.0.1",
            "10.0.0.1",
            "192.168.1.1",
            "100.64.0.1",
            "::1",
            "::ffff:127.0.0.1",
            "64:ff9b::10.0.0.1",
        ] {
            assert!(reach(inner, true) && !reach(inner, false), "{inner}");
        }
        for outer in ["203.0.113.7", "100.128.0.1", "64:ff9b::203.0.113.7"] {
            assert!(reach(outer, false), "{outer}");
        }
    }
}
