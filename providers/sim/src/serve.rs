use std::future::Future;
use std::io;
use std::sync::Arc;

use axum::serve::ListenerExt;
use thermocline_clock::Clock;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::api::{self, Api};
use crate::cloud::Cloud;
use crate::rendezvous::random_hex;
use crate::settings::Settings;
use crate::unused::unused;

/// Runs a simulated cloud at `listener` for whoever knows `token`, until
/// `shutdown`, a call that asks for it, or ten minutes without instance or
/// call; then every instance ends.
///
/// # Errors
/// When the listener breaks or the system gives no random bytes.
pub async fn serve(
    listener: TcpListener,
    token: String,
    settings: Settings,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let cloud = Cloud::new(
        Clock::system(),
        settings,
        format!("sim-{}", random_hex::<4>()?),
    );
    let cloud = Arc::new(cloud);
    let end = CancellationToken::new();
    let routes = api::routes(Api {
        cloud: cloud.clone(),
        token: token.into(),
        end: end.clone(),
    });
    let listener = listener.tap_io(|stream| {
        let _only_slower_without = stream.set_nodelay(true);
    });
    let served = axum::serve(listener, routes)
        .with_graceful_shutdown(over(cloud.clone(), end, shutdown))
        .await;
    cloud.stop_all();
    served
}

async fn over(cloud: Arc<Cloud>, end: CancellationToken, shutdown: impl Future<Output = ()>) {
    tokio::select! {
        () = shutdown => {}
        () = end.cancelled() => {}
        () = unused(&cloud) => {}
    }
}
