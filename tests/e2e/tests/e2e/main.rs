//! Stories over the whole product, in one binary.

mod warm;
