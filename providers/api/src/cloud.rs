//! What adapters of clouds share that have no idempotency keys: marks by which
//! instances are known again, doubts about what may exist, one create per key
//! at a time, whose key was refused, and what answers say in their headers and words.

mod doubts;
mod headers;
mod keyed;
mod marks;
mod turns;
mod words;

pub use doubts::Doubts;
pub use headers::retry_after;
pub use keyed::Keyed;
pub use marks::{Marks, SECRET_HEADER, key_in, name};
pub use turns::Turns;
pub use words::one_line;
