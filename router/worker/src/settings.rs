use std::time::Duration;

use thermocline_policy::fleet::Shape;
use thermocline_policy::fleet::{Eviction, Patience, Scoring};

/// What a worker is told.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Its name, of its own in the installation.
    pub name: String,
    /// Jobs that it runs at a time; 1 or more.
    pub permits: u32,
    /// Which work it is for.
    pub shape: Shape,
    /// How often it reports itself.
    pub report_every: Duration,
    /// How often it looks at its queues anew.
    pub look_every: Duration,
    /// How long a delivery waits for a permit before it is given back.
    pub moment: Duration,
    /// Cold queues that it joins at once, and after how long one more.
    pub cold: (u32, Duration),
    /// How long jobs that need a load are passed over, at most, once it is their turn.
    pub regroup: Duration,
    /// How queues are scored.
    pub scoring: Scoring,
    /// What protects models from eviction.
    pub eviction: Eviction,
    /// Whether its models run on once it has drained, until its next start clears them.
    pub keep_models: bool,
    /// The back-off between attempts; how many, the deployment's terms say.
    pub patience: Patience,
}

impl Settings {
    /// The usual settings of a worker called `name` with so many permits.
    pub fn new(name: impl Into<String>, permits: u32) -> Self {
        Settings {
            name: name.into(),
            permits: permits.max(1),
            shape: Shape::Gpu,
            report_every: Duration::from_secs(2),
            look_every: Duration::from_millis(500),
            moment: Duration::from_millis(50),
            cold: (2, Duration::from_secs(1)),
            regroup: Duration::from_secs(20),
            scoring: Scoring::default(),
            eviction: Eviction::default(),
            keep_models: false,
            patience: Patience::default(),
        }
    }
}
