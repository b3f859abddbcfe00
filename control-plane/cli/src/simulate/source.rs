use std::time::Duration;

use thermocline_simulate::{Arrival, Assumptions, Generator, Ledger, Trace, TraceError};

use super::{Simulate, known, ledger};
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
        let missing = || Failure::mistake("--trace, --generate or --from-ledger is required");
        let path = args.trace.as_deref().ok_or_else(missing)?;
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
        ledger::fetch(session, since).await.map(Source::Ledger)
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

    /// What stands above the chart of `deployment`, where there are names.
    pub(super) fn title(&self, deployment: Option<&str>) -> String {
        let of = match self {
            Source::File(_, file) => file.clone(),
            Source::Ledger(_) => "the ledger".to_owned(),
            Source::MadeUp(generator, seed) => format!("{generator}, seed {seed}"),
        };
        match deployment {
            Some(name) => format!("{of}, {name}"),
            None => of,
        }
    }

    /// What is assumed of each deployment.
    pub(super) async fn assume(
        &self,
        args: &Simulate,
        session: Option<&Session>,
    ) -> Result<Vec<Assumptions>, Failure> {
        let assumed = args.assumptions();
        let (Source::Ledger(ledger), Some(session)) = (self, session) else {
            return Ok(vec![assumed; self.deployments().len().max(1)]);
        };
        let mut each = Vec::new();
        for name in ledger.deployments() {
            let known = known::of(session, name, &assumed).await?;
            each.push(args.over(known));
        }
        Ok(each)
    }

    pub(super) fn replay(
        &self,
        assumed: &[Assumptions],
        mut each: impl FnMut(Arrival),
    ) -> Result<(), Failure> {
        let Some(of_all) = assumed.first() else {
            return Ok(());
        };
        match self {
            Source::File(trace, _) => trace
                .replay(|row| of_all.service(row), each)
                .map_err(unusable),
            Source::Ledger(ledger) => {
                ledger.replay(assumed, each);
                Ok(())
            }
            Source::MadeUp(generator, seed) => {
                for at in generator.arrivals(*seed) {
                    each(Arrival {
                        at,
                        service: of_all.model.work.service,
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
