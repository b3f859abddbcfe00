//! The two listeners: one for the gateway, on loopback, and one for workers.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use thermocline_edge::{Accept, Lifecycle, Timeouts, connection_limit, listen, serve_connection};

use crate::body::Body;
use crate::hub::Hub;

/// Listens on `address`, and answers as `answer` does until `lifecycle` ends it.
///
/// # Errors
/// The system's, as "address in use".
pub(crate) fn serve<F>(
    hub: &Arc<Hub>,
    address: SocketAddr,
    lifecycle: &Lifecycle,
    answer: fn(Arc<Hub>, Request<Incoming>) -> F,
) -> io::Result<SocketAddr>
where
    F: Future<Output = Response<Body>> + Send + 'static,
{
    let listener = listen(address)?;
    let bound = listener.local_addr()?;
    let accepting = accept(hub.clone(), listener, lifecycle.clone(), answer)?;
    tokio::spawn(accepting);
    Ok(bound)
}

fn accept<F>(
    hub: Arc<Hub>,
    listener: TcpListener,
    lifecycle: Lifecycle,
    answer: fn(Arc<Hub>, Request<Incoming>) -> F,
) -> io::Result<impl Future<Output = ()> + Send>
where
    F: Future<Output = Response<Body>> + Send + 'static,
{
    let accept = Accept::new(listener, connection_limit(), hub.clock.clone())?;
    Ok(async move {
        loop {
            let (stream, _, place) = tokio::select! {
                accepted = accept.next() => accepted,
                () = lifecycle.abort.cancelled() => return,
            };
            let (clock, hub) = (hub.clock.clone(), hub.clone());
            let service = service_fn(move |request| {
                let answered = answer(hub.clone(), request);
                async move { Ok::<_, Infallible>(answered.await) }
            });
            let connection = serve_connection(
                stream,
                service,
                Timeouts::default(),
                lifecycle.clone(),
                clock,
            );
            tokio::spawn(async move {
                connection.await;
                drop(place);
            });
        }
    })
}
