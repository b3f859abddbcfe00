use std::time::Duration;

use thermocline_simulate::{Arrival, Assumptions, Generator, Trace, TraceError};

use super::Simulate;
use crate::failure::Failure;
use crate::output;

/// Where arrivals come from.
pub(super) enum Source {
    File(Trace, String),
    MadeUp(Generator, u64),
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
            output::note(&format!("{file}: rows are out of order; they are sorted in memory"));
        }
        Ok(Source::File(trace, file))
    }

    pub(super) fn span(&self) -> Duration {
        match self {
            Source::File(trace, _) => trace.span(),
            Source::MadeUp(generator, _) => generator.span,
        }
    }

    /// How many come; `None` where only the replay tells.
    pub(super) fn arrivals(&self) -> Option<u64> {
        match self {
            Source::File(trace, _) => Some(trace.arrivals()),
            Source::MadeUp(..) => None,
        }
    }

    pub(super) fn deployments(&self) -> &[String] {
        match self {
            Source::File(trace, _) => trace.deployments(),
            Source::MadeUp(..) => &[],
        }
    }

    pub(super) fn title(&self) -> String {
        let first = self.deployments().first();
        match (self, first) {
            (Source::File(_, file), Some(first)) => format!("{file}, {first}"),
            (Source::File(_, file), None) => file.clone(),
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
