//! What only a process of its own can show: signals, crashes, memory, files.

mod adapters;
mod canaries;
mod chaos;
mod crash;
mod evidence;
mod full_house;
mod kill_points;
mod memory;
mod no_daemon;
mod provider_keys;
mod reach;
mod refusals;
mod shutdown;
mod slow_clients;
mod workers;
