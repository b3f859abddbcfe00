use std::time::Duration;

/// Which machines the adapter rents, and how.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Disk of an instance, GB, at least 8.
    pub disk_gb: u32,
    /// Whether Vast.ai must have verified the machine.
    pub verified: bool,
    /// How reliable the machine must have been, 0 to 1.
    pub reliability: f64,
    /// Acceptable countries by their two letters; any when empty.
    pub countries: Vec<String>,
    /// How many times the least bid is bid, at least 1; instances are then
    /// interruptible. `None` rents on demand.
    pub bid: Option<f64>,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            disk_gb: 20,
            verified: true,
            reliability: 0.95,
            countries: Vec::new(),
            bid: None,
        }
    }
}

/// The least time between two calls of a kind; Vast.ai counts each by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spacing {
    /// Searches of offers.
    pub search: Duration,
    /// Creates.
    pub create: Duration,
    /// Lists of instances.
    pub list: Duration,
    /// Looks at one instance.
    pub show: Duration,
    /// Deletes.
    pub destroy: Duration,
}

impl Spacing {
    /// Calls follow each other at once, until an answer says otherwise.
    pub const NONE: Spacing = Spacing {
        search: Duration::ZERO,
        create: Duration::ZERO,
        list: Duration::ZERO,
        show: Duration::ZERO,
        destroy: Duration::ZERO,
    };
}

impl Default for Spacing {
    /// What the service has been seen to ask for.
    fn default() -> Self {
        Spacing {
            search: Duration::from_secs(2),
            create: Duration::from_millis(4_500),
            list: Duration::from_secs(1),
            show: Duration::from_secs(2),
            destroy: Duration::from_secs(3),
        }
    }
}
