use std::io;

use bytes::Bytes;
use thermocline_wire::fleet::frame;
use tokio::sync::mpsc;

use crate::scene::{Granted, Held, Worker, head};

/// A result whose body the test sends piece by piece.
pub(crate) struct Streamed {
    pieces: mpsc::Sender<io::Result<Bytes>>,
    pub(crate) posted: tokio::task::JoinHandle<Result<(), String>>,
}

impl Streamed {
    pub(crate) async fn begin(
        worker: Worker,
        held: &Held,
        granted: &Granted,
        headers: &[(&str, &str)],
    ) -> Self {
        let (pieces, mut read) = mpsc::channel::<io::Result<Bytes>>(1);
        let head = frame(&head(&granted.grant.run, headers)).unwrap();
        pieces.send(Ok(head.into())).await.unwrap();
        let body = futures_util::stream::poll_fn(move |cx| read.poll_recv(cx));
        let job = held.job.clone();
        let posted = tokio::spawn(async move {
            worker
                .post_body(&job, reqwest::Body::wrap_stream(body))
                .await
        });
        Streamed { pieces, posted }
    }

    pub(crate) async fn send(&self, text: &'static str) {
        self.pieces
            .send(Ok(Bytes::from_static(text.as_bytes())))
            .await
            .unwrap();
    }

    pub(crate) async fn end(self) -> Result<(), String> {
        drop(self.pieces);
        self.posted.await.unwrap()
    }
}
