//! What only a process of its own can show: signals, crashes, memory, files.

mod adapters;
mod canaries;
mod crash;
mod kill_points;
mod memory;
mod no_daemon;
mod refusals;
mod shutdown;
mod slow_clients;
