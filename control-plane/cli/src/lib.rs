//! (starts here)
