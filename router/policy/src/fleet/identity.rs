/// A worker's or a queue's name as a number: the same in every process and
/// version, so that all workers order each other alike without asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity(u64);

impl Identity {
    /// The identity of `name`: FNV-1a over its bytes, then mixed.
    pub fn of(name: &str) -> Self {
        Identity(mix(fnv1a(name.as_bytes())))
    }

    /// This worker's lot for `queue` in `window`: evenly over all 64-bit
    /// numbers, and independent between workers, queues and windows.
    pub(super) const fn lot(self, queue: Identity, window: u64) -> u64 {
        mix(mix(self.0 ^ queue.0.rotate_left(32)) ^ mix(window))
    }
}

/// FNV-1a, 64 bits (Fowler, Noll, Vo; offset basis and prime of RFC 9923).
pub(super) fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// The finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
pub(super) const fn mix(mut bits: u64) -> u64 {
    bits = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// `bits` as a number from 0 up to, but without, 1.
pub(super) const fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_the_same_identity_in_every_version() {
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
        assert_eq!(mix(0), 0xe220_a839_7b1d_cdaf);
    }

    #[test]
    fn lots_are_even_between_workers() {
        let workers: Vec<_> = (0..4).map(|i| Identity::of(&format!("gpu-{i}"))).collect();
        let mut won = [0; 4];
        for queue in 0..4_000 {
            let queue = Identity::of(&format!("model-{queue}"));
            let best = (0..4).min_by_key(|i| workers[*i].lot(queue, 0)).unwrap();
            won[best] += 1;
        }
        assert!(won.iter().all(|n| (900..1_100).contains(n)), "{won:?}");
    }
}
