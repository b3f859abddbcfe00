use std::collections::BTreeMap;
use std::time::Duration;

use thermocline_provider::ProviderErrorKind;

use super::{Call, Fault};

/// An instance younger than this is hidden by the faults of the young.
pub(super) const YOUNG: Duration = Duration::from_secs(20);
/// How long an answer that never comes is waited for.
const SILENCE: Duration = Duration::from_secs(60);

/// What clouds are known to do wrong, each a switch; the wall clock's jumps
/// (F18) are not a provider's matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FaultKind {
    /// F1: asked too often, with a delay named or not.
    TooOften,
    /// F2: an error before the effect.
    ErrorBefore,
    /// F3: an error after the effect.
    ErrorAfter,
    /// F4: no answer after the effect.
    Silence,
    /// F5: young instances are not listed.
    UnlistedYoung,
    /// F6: get does not know young instances.
    UnknownYoung,
    /// F7: delete does not know young instances.
    UndeletableYoung,
    /// F8: delete is accepted, and nothing comes of it.
    DeafDelete,
    /// F9: what is made never becomes ready.
    NeverReady,
    /// F10: no capacity.
    NoCapacity,
    /// F11: lists are cut, empty, partial or refused.
    BadLists,
    /// F12: an instance vanishes when the switch is turned on.
    Vanishes,
    /// F13: a stranger has the same name, and is answered with.
    Namesake,
    /// F14: states flap.
    Flaps,
    /// F15: answers make no sense.
    Garbled,
    /// F16: the credentials do not count any more.
    Revoked,
    /// F17: new instances get the address of one that is gone.
    ReusedAddress,
}

impl FaultKind {
    /// All of them, in the order of their numbers.
    pub const ALL: [FaultKind; 17] = [
        FaultKind::TooOften,
        FaultKind::ErrorBefore,
        FaultKind::ErrorAfter,
        FaultKind::Silence,
        FaultKind::UnlistedYoung,
        FaultKind::UnknownYoung,
        FaultKind::UndeletableYoung,
        FaultKind::DeafDelete,
        FaultKind::NeverReady,
        FaultKind::NoCapacity,
        FaultKind::BadLists,
        FaultKind::Vanishes,
        FaultKind::Namesake,
        FaultKind::Flaps,
        FaultKind::Garbled,
        FaultKind::Revoked,
        FaultKind::ReusedAddress,
    ];
}

/// Which faults are switched on, and what decides whether one strikes.
#[derive(Debug, Default)]
pub(super) struct Switches {
    /// How many calls of a hundred each strikes.
    on: BTreeMap<FaultKind, u64>,
    dice: u64,
}

impl Switches {
    pub(super) fn set(&mut self, kind: FaultKind, percent: u64) {
        match percent {
            0 => self.on.remove(&kind),
            _ => self.on.insert(kind, percent),
        };
    }

    pub(super) fn seed(&mut self, seed: u64) {
        self.dice = seed;
    }

    pub(super) fn clear(&mut self) {
        self.on.clear();
    }

    pub(super) fn is_on(&self, kind: FaultKind) -> bool {
        self.on.contains_key(&kind)
    }

    /// From 0 to `below`, `below` excluded.
    pub(super) fn roll(&mut self, below: u64) -> u64 {
        // Knuth's MMIX generator; its upper bits are the good ones.
        self.dice = self
            .dice
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.dice >> 33) % below
    }

    /// Whether `kind` strikes now.
    pub(super) fn hits(&mut self, kind: FaultKind) -> bool {
        match self.on.get(&kind).copied() {
            None => false,
            Some(percent) => self.roll(100) < percent,
        }
    }

    /// How this very `call` goes wrong, if it does.
    pub(super) fn strike(&mut self, call: Call) -> Option<Fault> {
        let kinds = FaultKind::ALL.into_iter();
        let struck = kinds
            .filter(|kind| concerns(*kind, call))
            .find(|kind| self.hits(*kind))?;
        self.fault(struck)
    }

    fn fault(&mut self, kind: FaultKind) -> Option<Fault> {
        use ProviderErrorKind as E;
        Some(match kind {
            FaultKind::TooOften => {
                let delay = [None, Some(Duration::from_secs(3))][self.roll(2) as usize];
                Fault::Refused(E::RateLimited(delay))
            }
            FaultKind::ErrorBefore => Fault::Refused(E::Unavailable),
            FaultKind::ErrorAfter => Fault::LostReply(E::Unavailable),
            FaultKind::Silence => Fault::Silent(SILENCE),
            FaultKind::DeafDelete => Fault::Deaf,
            FaultKind::NoCapacity => Fault::Refused(E::NoCapacity),
            FaultKind::Revoked => Fault::Refused(E::Auth),
            FaultKind::Namesake => Fault::Namesake,
            FaultKind::Flaps => Fault::Flapping(self.roll(5) as u8),
            FaultKind::Garbled => Fault::Garbled(self.roll(5) as u8),
            FaultKind::BadLists => match self.roll(4) {
                0 => Fault::Blind,
                1 => Fault::Incomplete,
                2 => Fault::Cut,
                _ => Fault::Refused(E::Unavailable),
            },
            FaultKind::UnlistedYoung
            | FaultKind::UnknownYoung
            | FaultKind::UndeletableYoung
            | FaultKind::NeverReady
            | FaultKind::Vanishes
            | FaultKind::ReusedAddress => return None,
        })
    }
}

/// Whether a fault of `kind` is one of that `call`.
fn concerns(kind: FaultKind, call: Call) -> bool {
    let tells = matches!(call, Call::Create | Call::Get | Call::List);
    match kind {
        FaultKind::TooOften
        | FaultKind::ErrorBefore
        | FaultKind::ErrorAfter
        | FaultKind::Silence
        | FaultKind::Revoked => true,
        FaultKind::DeafDelete => call == Call::Delete,
        FaultKind::NoCapacity => call == Call::Create,
        FaultKind::BadLists => call == Call::List,
        FaultKind::Namesake => matches!(call, Call::Create | Call::List),
        FaultKind::Flaps | FaultKind::Garbled => tells,
        FaultKind::UnlistedYoung
        | FaultKind::UnknownYoung
        | FaultKind::UndeletableYoung
        | FaultKind::NeverReady
        | FaultKind::Vanishes
        | FaultKind::ReusedAddress => false,
    }
}
