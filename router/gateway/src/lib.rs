//! The request plane: identify → record → decide → acquire → forward → settle.
//!
//! It opens no database and makes no instance: it reads the [`Table`] and asks
//! through [`Wake`]. A warm request waits for nobody but its backend.
//!
//! [`Table`]: thermocline_table::Table
//! [`Wake`]: thermocline_table::Wake

mod acquire;
mod attempt;
mod body;
mod call;
mod deadline;
mod flights;
mod forwarded;
mod gateway;
mod guard;
mod head;
mod identify;
mod inbound;
mod missed;
mod model_field;
mod names;
mod refusal;
mod serve;
mod settle;
mod threads;
mod trust;
mod upgrade;
mod upstream;
mod websocket;

pub use flights::FlightLimits;
pub use gateway::{Access, Gateway, Ready, Settings};
pub use threads::{Threads, serve};
pub use trust::TrustedProxies;
