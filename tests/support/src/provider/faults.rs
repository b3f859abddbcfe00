use std::collections::HashMap;
use std::time::Duration;

use thermocline_provider::{ProviderError, ProviderErrorKind};

use super::Call;
use crate::backend::Latch;

/// How a call goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It is refused, and nothing happens.
    Refused(ProviderErrorKind),
    /// It takes its effect, but is answered with an error.
    LostReply(ProviderErrorKind),
    /// It does not see what exists: get and delete know nothing, a list is
    /// empty and calls itself complete. No such fault for the other calls.
    Blind,
    /// A list that leaves everything out and says that it is not complete. No
    /// such fault for the other calls.
    Incomplete,
    /// A list that leaves half out and calls itself complete. No such fault for
    /// the other calls.
    Cut,
    /// A list whose next page has the cursor that this one has. No such fault for
    /// the other calls.
    Endless,
    /// It takes its effect, and is answered with an error only after so long.
    Silent(Duration),
    /// A delete that is accepted, and nothing comes of it. No such fault for
    /// the other calls.
    Deaf,
    /// A stranger's instance of the same name is answered with: by a create in
    /// place of ours, by a list beside ours. No such fault for the other calls.
    Namesake,
    /// What is answered is in a state that it is not in; one of five.
    Flapping(u8),
    /// What is answered makes no sense, in one of five ways.
    Garbled(u8),
}

/// What goes wrong, and for how long.
#[derive(Debug, Default)]
pub(super) struct Faults {
    planned: Vec<(Call, Fault, Span)>,
    held: Vec<(Call, Latch)>,
    /// How many calls do not see an instance that is made from now on.
    pub(super) blind_to_young: HashMap<Call, u32>,
}

#[derive(Debug)]
pub(super) enum Span {
    Next(u32),
    Until(Latch),
}

impl Span {
    fn is_over(&self) -> bool {
        match self {
            Span::Next(left) => *left == 0,
            Span::Until(latch) => latch.is_open(),
        }
    }
}

impl Faults {
    pub(super) fn plan(&mut self, call: Call, fault: Fault, span: Span) {
        self.planned.push((call, fault, span));
    }

    /// Has `call` wait until `latch` opens.
    pub(super) fn hold(&mut self, call: Call, latch: Latch) {
        self.held.push((call, latch));
    }

    /// What holds `call` up now.
    pub(super) fn holding(&self, call: Call) -> Vec<Latch> {
        let held = self.held.iter().filter(|(held, _)| *held == call);
        held.map(|(_, latch)| latch.clone()).collect()
    }

    /// How this very `call` goes wrong, if it does.
    pub(super) fn strike(&mut self, call: Call) -> Option<Fault> {
        self.planned.retain(|(_, _, span)| !span.is_over());
        let mut planned = self.planned.iter_mut();
        let (_, fault, span) = planned.find(|(planned, _, _)| *planned == call)?;
        if let Span::Next(left) = span {
            *left -= 1;
        }
        Some(*fault)
    }
}

/// The error that `kind` is answered with.
pub(super) fn error(kind: ProviderErrorKind) -> ProviderError {
    ProviderError::new(kind, "as the test wants it")
}
