//! What only a process of its own can show: signals, crashes, memory, files.

mod adapters;
mod canaries;
mod crash;
mod kill_points;
mod evidence;
mod memory;
mod no_daemon;
mod provider_keys;
mod reach;
mod refusals;
mod shutdown;
mod slow_clients;
