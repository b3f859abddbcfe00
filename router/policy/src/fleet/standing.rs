//! How workers order each other for a queue, without asking.

use super::{Identity, Peer, QueueView, Terms, WorkerView};

/// How many workers that do not serve `queue` would take it before this one.
///
/// Who may not pull it takes no turn. First those that are not busy, then those that have room without evicting
/// anything, then by lot: once all are full, a model mostly comes back to the same
/// worker, which knows how much it is used. Each worker counts with what it last
/// reported, this one too, so all arrive at the same order; while reports are on
/// their way they may not, and then the next look settles it.
pub(super) fn ahead(worker: &WorkerView, queue: &QueueView, terms: &Terms) -> usize {
    let place = |peer: &Peer| {
        let crowded = peer.free < terms.memory;
        (peer.busy, crowded, peer.id.lot(queue.id, 0), peer.id)
    };
    let own = place(&worker.reported);
    let able = |peer: &&Peer| {
        let fits = peer.shape == terms.shape && peer.memory >= terms.memory;
        fits && !queue.barred.contains(&peer.id)
    };
    let others = worker.peers.iter().filter(able);
    others
        .filter(|peer| place(peer) < own && !queue.holders.contains(&peer.id))
        .count()
}

/// Whether `one` has a better lot for `queue` than `other`. Lots never change.
pub fn outranks(one: Identity, other: Identity, queue: Identity) -> bool {
    (one.lot(queue, 0), one) < (other.lot(queue, 0), other)
}

/// How many of the workers that serve `queue` have a better lot than this one.
///
/// Lots never change. So of several that joined at once, those within the cap
/// see at most as many before them as the cap allows and stay, whatever they
/// know or do not know yet; and each of the others leaves as soon as it knows.
pub(super) fn outranked(worker: &WorkerView, queue: &QueueView) -> usize {
    let me = worker.reported.id;
    let better = |other: &&Identity| outranks(**other, me, queue.id);
    queue.holders.iter().filter(better).count()
}
