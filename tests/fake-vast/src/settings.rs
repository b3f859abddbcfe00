use std::time::Duration;

/// How the fake behaves when nothing goes wrong.
#[derive(Debug, Clone)]
pub struct Settings {
    /// From a create until the image is being loaded; the status is null meanwhile.
    pub provisioning: Duration,
    /// From there until the container runs.
    pub loading: Duration,
    /// From there until its ports are mapped.
    pub mapping: Duration,
    /// How long a request to an instance takes.
    pub service_time: Duration,
    /// The least time between two calls of a kind; none when false.
    pub spaced: bool,
    /// The most instances on a page, 1 to 25.
    pub page: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            provisioning: Duration::from_millis(500),
            loading: Duration::from_secs(1),
            mapping: Duration::from_millis(500),
            service_time: Duration::from_millis(50),
            spaced: true,
            page: 25,
        }
    }
}

impl Settings {
    /// Nothing takes longer than it must, and calls may follow each other at once.
    pub fn quick() -> Self {
        let short = Duration::from_millis(20);
        Settings {
            provisioning: short,
            loading: short,
            mapping: short,
            service_time: Duration::ZERO,
            spaced: false,
            ..Settings::default()
        }
    }
}
