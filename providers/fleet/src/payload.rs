use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http::header::CONTENT_LENGTH;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use sha2::{Digest, Sha256};

use crate::access::hex;
use crate::excuse::Excuse;
use crate::parked::Payload;
use crate::room::Lounge;

/// Reads the whole of `body`, `most` bytes at most; what can be seen to be too
/// much beforehand is not read at all.
pub(crate) async fn read(
    headers: &HeaderMap,
    mut body: Incoming,
    lounge: &Arc<Lounge>,
    most: u64,
) -> Result<Payload, Excuse> {
    let mut room = lounge.room();
    let announced = announced(headers);
    if announced > most {
        return Err(Excuse::TooLarge);
    }
    room.grow(announced).map_err(|_| Excuse::Full)?;
    let (mut bytes, mut digest) = (BytesMut::new(), Sha256::new());
    let mut unpaid = announced;
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| Excuse::BodyLeft)?.into_data() else {
            continue; // trailers
        };
        let length = data.len() as u64;
        if bytes.len() as u64 + length > most {
            return Err(Excuse::TooLarge);
        }
        room.grow(length.saturating_sub(unpaid))
            .map_err(|_| Excuse::Full)?;
        unpaid = unpaid.saturating_sub(length);
        digest.update(&data);
        bytes.extend_from_slice(&data);
    }
    Ok(Payload {
        bytes: bytes.freeze(),
        sha256: hex(&digest.finalize()),
        _room: room,
    })
}

/// A body that is there already.
pub(crate) fn whole(bytes: Bytes, lounge: &Arc<Lounge>) -> Result<Payload, Excuse> {
    let mut room = lounge.room();
    room.grow(bytes.len() as u64).map_err(|_| Excuse::Full)?;
    Ok(Payload {
        sha256: hex(&Sha256::digest(&bytes)),
        bytes,
        _room: room,
    })
}

fn announced(headers: &HeaderMap) -> u64 {
    let length = headers.get(CONTENT_LENGTH).and_then(|it| it.to_str().ok());
    length.and_then(|text| text.parse().ok()).unwrap_or(0)
}
