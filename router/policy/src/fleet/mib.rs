use std::fmt;
use std::iter::Sum;
use std::ops::Add;

const BYTES: u64 = 1 << 20;

/// An amount of memory in MiB; sums and differences stop at the ends of the range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Mib(pub u64);

impl Mib {
    /// Nothing.
    pub const ZERO: Mib = Mib(0);

    /// What is left of it after `other`; nothing when that is more.
    pub const fn less(self, other: Mib) -> Mib {
        Mib(self.0.saturating_sub(other.0))
    }

    /// So many bytes, rounded up.
    pub const fn covering(bytes: u64) -> Mib {
        Mib(bytes.div_ceil(BYTES))
    }

    /// So many bytes, rounded down.
    pub const fn within(bytes: u64) -> Mib {
        Mib(bytes / BYTES)
    }

    /// As bytes.
    pub const fn bytes(self) -> u64 {
        self.0.saturating_mul(BYTES)
    }

    /// An even share for each of `parts` (1 or more), rounded up.
    pub const fn share(self, parts: usize) -> Mib {
        Mib(self.0.div_ceil(if parts == 0 { 1 } else { parts as u64 }))
    }
}

impl Add for Mib {
    type Output = Mib;

    fn add(self, other: Mib) -> Mib {
        Mib(self.0.saturating_add(other.0))
    }
}

impl Sum for Mib {
    fn sum<I: Iterator<Item = Mib>>(amounts: I) -> Mib {
        amounts.fold(Mib::ZERO, Add::add)
    }
}

impl fmt::Display for Mib {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} MiB", self.0)
    }
}
