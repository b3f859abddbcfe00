use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use thermocline_clock::Clock;
use thermocline_policy::{Moment, Tier};
use tokio::net::TcpListener;

use super::{Backend, serve};
use crate::settings::LiveSettings;

/// Serves at `listener` what an instance serves, without a cloud around it: a
/// machine of the user's own. A request takes `service_time`; it serves until
/// it is dropped.
pub async fn serve_alone(listener: TcpListener, name: &str, service_time: Duration) -> Infallible {
    let backend = Backend {
        deployment: name.to_owned(),
        instance: name.to_owned(),
        tier: Tier::Dedicated,
        ready_path: String::new(),
        ready_at: Moment::ORIGIN,
        service_time: Some(service_time),
        settings: Arc::new(LiveSettings::default()),
        clock: Clock::system(),
        workers: None,
    };
    match serve(listener, Arc::new(backend)).await {}
}
