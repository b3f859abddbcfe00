use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::{Mutex, mpsc};

use super::Cut;

/// The test's hand on the body of a response.
///
/// What is written queues up until a response with this gate takes it. One
/// response at a time does; the next one begins after [`Gate::finish`],
/// [`Gate::cut`] or the end of its connection.
#[derive(Debug, Clone)]
pub struct Gate {
    tell: mpsc::UnboundedSender<Order>,
    orders: Arc<Mutex<mpsc::UnboundedReceiver<Order>>>,
}

#[derive(Debug)]
pub(super) enum Order {
    Write(Bytes),
    Finish,
    Cut(Cut),
}

impl Gate {
    /// A gate with nothing to send yet.
    pub fn new() -> Self {
        let (tell, orders) = mpsc::unbounded_channel();
        let orders = Arc::new(Mutex::new(orders));
        Gate { tell, orders }
    }

    /// Sends `piece`: one chunk on the wire where the body is chunked.
    pub fn write(&self, piece: impl Into<Bytes>) {
        self.order(Order::Write(piece.into()));
    }

    /// Ends the body as it should end.
    pub fn finish(&self) {
        self.order(Order::Finish);
    }

    /// Breaks the connection off instead of ending the body.
    pub fn cut(&self, how: Cut) {
        self.order(Order::Cut(how));
    }

    /// Breaks the connection off with a plain close, as a dying process does.
    pub fn abort(&self) {
        self.cut(Cut::Close);
    }

    pub(super) async fn orders(&self) -> OrdersOf<'_> {
        self.orders.lock().await
    }

    fn order(&self, order: Order) {
        // Never an error: `self` holds the receiver.
        let _ = self.tell.send(order);
    }
}

pub(super) type OrdersOf<'a> = tokio::sync::MutexGuard<'a, mpsc::UnboundedReceiver<Order>>;

impl Default for Gate {
    fn default() -> Self {
        Gate::new()
    }
}
