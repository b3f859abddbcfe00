use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use rustls_platform_verifier::ConfigVerifierExt;
use thermocline_clock::Clock;
use thermocline_policy::outbound::{is_never_reached, is_private};
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
        // What a provider names may be private.
        let no_private = backend.tier == Tier::Dedicated && !self.private_dedicated;
        let mut last = ExchangeError::Connect(io::ErrorKind::NotFound.into());
        for address in addresses {
            let ip = address.ip();
            if is_never_reached(ip) || (no_private && is_private(ip)) {
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
