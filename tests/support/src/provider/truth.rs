use thermocline_policy::Moment;
use thermocline_provider::ProviderInstance;

/// One of the calls of the provider protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Call {
    /// `capabilities`
    Capabilities,
    /// `offers`
    Offers,
    /// `create`
    Create,
    /// `get`
    Get,
    /// `list`
    List,
    /// `delete`
    Delete,
    /// `renew`
    Renew,
}

/// A call that was made, whatever came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallSeen {
    /// Which.
    pub call: Call,
    /// The key of a create, the id of a get, delete or renew, the owner of a list,
    /// empty otherwise.
    pub subject: String,
    /// When it came in, on the provider's clock.
    pub at: Moment,
}

/// What is really so at the provider.
#[derive(Debug, Clone, Default)]
pub struct Truth {
    /// The instances that exist, in order of creation; failed ones exist too.
    pub live: Vec<ProviderInstance>,
    /// The most that ever existed at once.
    pub most_live: usize,
    /// How many were ever made.
    pub created: usize,
    /// How many were deleted, not counting those that vanished.
    pub deleted: usize,
    /// The calls in order.
    pub calls: Vec<CallSeen>,
}

impl Truth {
    /// How many times `call` was made.
    pub fn count(&self, call: Call) -> usize {
        self.times(call).count()
    }

    /// When `call` was made.
    pub fn times(&self, call: Call) -> impl Iterator<Item = Moment> {
        let made = self.calls.iter().filter(move |seen| seen.call == call);
        made.map(|seen| seen.at)
    }
}
