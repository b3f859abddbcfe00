use std::time::Duration;

use thermocline_simulate::{Arrival, Assumptions, Generator, Trace, TraceError};

use super::Simulate;
use super::ledger::Ledger;
use crate::failure::Failure;
use crate::output;
use crate::session::Session;

/// Where arrivals come from.
pub(super) enum Source {
    File(Trace, String),
    MadeUp(Generator, u64),
    Ledger(Ledger),
}

impl Source {
    pub(super) fn open(args: &Simulate) -> Result<Self, Failure> {
        if let Some(generator) = args.generate {
            return Ok(Source::MadeUp(generator, args.seed));
        }
        let path = args.trace.as_deref();
        let path = path.ok_or_else(|| Failure::mistake("--trace or --generate is required"))?;
        let trace = Trace::open(path).map_err(unusable)?;
        let file = path.display().to_string();
        if trace.is_unsorted() {
            output::note(&format!(
                "{file}: rows are out of order; they are sorted in memory"
            ));
        }
        Ok(Source::File(trace, file))
    }

    pub(super) async fn ledger(session: &Session, since: Duration) -> Result<Self, Failure> {
        Ledger::fetch(session, since).await.map(Source::Ledger)
    }

    pub(super) fn span(&self) -> Duration {
        match self {
            Source::Ledger(ledger) => ledger.span(),
            Source::File(trace, _) => trace.span(),
            Source::MadeUp(generator, _) => generator.span,
        }
    }

    /// How many come; `None` where only the replay tells.
    pub(super) fn arrivals(&self) -> Option<u64> {
        match self {
            Source::File(trace, _) => Some(trace.arrivals()),
            Source::MadeUp(..) => None,
            Source::Ledger(ledger) => Some(ledger.arrivals()),
        }
    }

    pub(super) fn deployments(&self) -> &[String] {
        match self {
            Source::File(trace, _) => trace.deployments(),
            Source::MadeUp(..) => &[],
            Source::Ledger(ledger) => ledger.deployments(),
        }
    }

    pub(super) fn title(&self) -> String {
        let first = self.deployments().first();
        match (self, first) {
            (Source::File(_, file), Some(first)) => format!("{file}, {first}"),
            (Source::File(_, file), None) => file.clone(),
            (Source::Ledger(_), first) => {
                let first = first.map_or("nothing", String::as_str);
                format!("the ledger, {first}")
            }
            (Source::MadeUp(generator, seed), _) => format!("{generator}, seed {seed}"),
        }
    }

    pub(super) fn replay(
        &self,
        assumptions: &Assumptions,
        mut each: impl FnMut(Arrival),
    ) -> Result<(), Failure> {
        match self {
            Source::File(trace, _) => trace
                .replay(|row| assumptions.service(row), each)
                .map_err(unusable),
            Source::Ledger(ledger) => {
                ledger.replay(assumptions.model.work.service, each);
                Ok(())
            }
            Source::MadeUp(generator, seed) => {
                for at in generator.arrivals(*seed) {
                    each(Arrival {
                        at,
                        service: assumptions.model.work.service,
                        deployment: 0,
                    });
                }
                Ok(())
            }
        }
    }
}

/// Whoever wrote the file is to mend it.
fn unusable(error: TraceError) -> Failure {
    Failure::mistake(error.to_string())
}
