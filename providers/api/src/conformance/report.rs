use std::fmt;

/// One thing that every adapter must do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clause {
    /// Its stable name, as in `create-idempotent`.
    pub name: &'static str,
    /// What it asks, in one sentence.
    pub description: &'static str,
}

/// How an adapter did on a clause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It did as asked.
    Passed,
    /// It did not; says what was seen.
    Failed(String),
    /// It could not be tried; says why.
    Skipped(String),
}

/// A clause and how the adapter did on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// What was asked.
    pub clause: Clause,
    /// What came of it.
    pub outcome: Outcome,
}

/// Every verdict of a run, in the order of the trial.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    verdicts: Vec<Verdict>,
}

/// Why a clause did not pass.
pub(super) enum Miss {
    Failed(String),
    Skipped(String),
}

/// What trying a clause gives.
pub(super) type Checked<T = ()> = Result<T, Miss>;

impl From<String> for Miss {
    fn from(why: String) -> Self {
        Miss::Failed(why)
    }
}

impl Report {
    pub(super) fn add(&mut self, clause: Clause, checked: Checked) {
        let outcome = match checked {
            Ok(()) => Outcome::Passed,
            Err(Miss::Failed(why)) => Outcome::Failed(why),
            Err(Miss::Skipped(why)) => Outcome::Skipped(why),
        };
        self.verdicts.push(Verdict { clause, outcome });
    }

    /// Every verdict, in the order of the trial.
    pub fn verdicts(&self) -> &[Verdict] {
        &self.verdicts
    }

    /// Whether no clause failed.
    pub fn passed(&self) -> bool {
        self.failures().next().is_none()
    }

    /// The verdicts on the clauses that failed.
    pub fn failures(&self) -> impl Iterator<Item = &Verdict> {
        self.verdicts
            .iter()
            .filter(|verdict| matches!(verdict.outcome, Outcome::Failed(_)))
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Clause { name, description } = self.clause;
        match &self.outcome {
            Outcome::Passed => write!(f, "pass {name}"),
            Outcome::Failed(why) => write!(f, "FAIL {name}: {description} Seen: {why}"),
            Outcome::Skipped(why) => write!(f, "skip {name}: {why}"),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.verdicts
            .iter()
            .try_for_each(|verdict| writeln!(f, "{verdict}"))
    }
}
