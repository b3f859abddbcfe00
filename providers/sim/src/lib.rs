//! A cloud that is simulated, of instances that are real HTTP servers.
//!
//! It speaks version 1 of the provider plugin protocol, so the rest of
//! Thermocline cannot tell it from a plugin. It lives in a process of its own,
//! as a cloud does: whoever starts it may be killed, and finds it again, with
//! every instance, by a small file ([`ensure_running`]). What exists is only
//! in that process's memory.
//!
//! The environment of an instance changes how it behaves:
//!
//! | variable | effect |
//! |---|---|
//! | `SIM_SERVICE_TIME=200ms` | how long a request takes |
//! | `SIM_BOOT=10s` | how long a pod or a serverless worker takes to start |
//! | `SIM_READY_DELAY=5s` | it listens, but its ready path answers 503 that long |
//! | `SIM_EXIT_AFTER=2s`, `SIM_EXIT_CODE=1` | it ends by itself and is `failed` |
//! | `SIM_NO_CAPACITY=1` | its create is refused |
//!
//! Beside the protocol there are `PUT /v1/faults` ([`Faults`]), `PUT /v1/settings`
//! ([`Settings`]) and `POST /v1/stop`.

mod api;
mod backend;
mod child;
mod client;
mod cloud;
mod entry;
mod faults;
mod instance;
mod overrides;
mod refusal;
mod rendezvous;
mod serve;
mod settings;
mod spawn;
mod unused;
mod workers;

pub use backend::serve_alone;
pub use child::run_child;
pub use client::ended;
pub use faults::Faults;
pub use rendezvous::Endpoint;
pub use serve::serve;
pub use settings::Settings;
pub use spawn::{ensure_running, stop};
