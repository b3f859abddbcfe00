//! The clauses that every adapter must pass.
