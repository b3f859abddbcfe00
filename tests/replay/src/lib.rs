//! Replays of made-up traffic; see `tests/`.
