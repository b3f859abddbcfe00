//! Jobs of the shared fleet that nobody will run any more, with their requests.

mod archive;
mod groups;
mod read;
mod replay;
mod row;

pub use archive::{DeadLetterLimits, NewDeadLetter};
pub use groups::DeadLetterGroup;
pub use read::DeadLetterFilter;
pub use row::{DeadLetterCause, DeadLetterRow, DeadLetterState};
