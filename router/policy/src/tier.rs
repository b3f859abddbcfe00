use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// One of the four ways of having capacity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// The user's own instance, reached by URL; never created or stopped by us.
    Dedicated,
    /// A container on this machine.
    Local,
    /// A provider's endpoint that is paid per second of work.
    Serverless,
    /// A rented machine that is paid while it exists.
    Pod,
}

impl Tier {
    /// Every tier, in the order in which the rules look at them.
    pub const ALL: [Tier; 4] = [Tier::Dedicated, Tier::Local, Tier::Serverless, Tier::Pod];

    /// The tiers in which we cause instances to exist.
    pub const CREATED: [Tier; 3] = [Tier::Local, Tier::Serverless, Tier::Pod];

    /// The name used in specifications, headers and metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Tier::Dedicated => "dedicated",
            Tier::Local => "local",
            Tier::Serverless => "serverless",
            Tier::Pod => "pod",
        }
    }

    /// The inverse of `tier as u8`; `None` above 3.
    pub fn from_index(index: u8) -> Option<Tier> {
        Tier::ALL.get(usize::from(index)).copied()
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Tier {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        Tier::ALL
            .into_iter()
            .find(|tier| tier.as_str() == name)
            .ok_or(())
    }
}

/// A set of tiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TierSet(u8);

impl TierSet {
    /// The set without any tier.
    pub const EMPTY: TierSet = TierSet(0);

    /// This set with `tier` in it.
    #[must_use]
    pub const fn with(self, tier: Tier) -> TierSet {
        TierSet(self.0 | 1 << tier as u8)
    }

    /// Whether `tier` is in it.
    pub const fn has(self, tier: Tier) -> bool {
        self.0 & (1 << tier as u8) != 0
    }

    /// Whether every tier of `other` is in it.
    pub const fn has_all(self, other: TierSet) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether no tier is in it.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl FromIterator<Tier> for TierSet {
    fn from_iter<I: IntoIterator<Item = Tier>>(tiers: I) -> Self {
        tiers.into_iter().fold(TierSet::EMPTY, TierSet::with)
    }
}

/// One value for each tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TierMap<T>([T; 4]);

impl<T> TierMap<T> {
    /// The map whose values `value` computes.
    pub fn from_fn(mut value: impl FnMut(Tier) -> T) -> Self {
        TierMap(Tier::ALL.map(&mut value))
    }

    /// Every tier with its value.
    pub fn iter(&self) -> impl Iterator<Item = (Tier, &T)> {
        Tier::ALL.into_iter().zip(&self.0)
    }
}

impl<T> std::ops::Index<Tier> for TierMap<T> {
    type Output = T;

    fn index(&self, tier: Tier) -> &T {
        &self.0[tier as usize]
    }
}

impl<T> std::ops::IndexMut<Tier> for TierMap<T> {
    fn index_mut(&mut self, tier: Tier) -> &mut T {
        &mut self.0[tier as usize]
    }
}
