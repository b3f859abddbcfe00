use std::time::Duration;

/// How the fake behaves when nothing goes wrong.
#[derive(Debug, Clone)]
pub struct Settings {
    /// From a pod's create until its container starts.
    pub provisioning: Duration,
    /// From there until it is running.
    pub starting: Duration,
    /// From there until its proxy reaches it; 502 meanwhile.
    pub listening: Duration,
    /// How long a serverless worker takes to start.
    pub cold_start: Duration,
    /// How long a request or a job takes.
    pub service_time: Duration,
    /// How long the pod proxy waits for an answer.
    pub proxy_silence: Duration,
    /// How long a load-balancing endpoint waits for a worker.
    pub no_worker_after: Duration,
    /// The status that it answers with then.
    pub no_worker_status: u16,
    /// The most workers over all endpoints.
    pub worker_quota: u32,
    /// Calls a minute, an hour, a day.
    pub calls: [u32; 3],
    /// Items on a page of a list; no pages when absent.
    pub page: Option<usize>,
    /// Whether lists leave out the environment.
    pub env_null_in_lists: bool,
    /// How long the result of a job is kept, of `/run` and of `/runsync`.
    pub kept: [Duration; 2],
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            provisioning: Duration::from_millis(500),
            starting: Duration::from_secs(1),
            listening: Duration::from_millis(500),
            cold_start: Duration::from_secs(1),
            service_time: Duration::from_millis(50),
            proxy_silence: Duration::from_secs(100),
            no_worker_after: Duration::from_secs(120),
            no_worker_status: 503,
            worker_quota: 10,
            calls: [600, 7_200, 50_000],
            page: None,
            env_null_in_lists: true,
            kept: [Duration::from_secs(1_800), Duration::from_secs(60)],
        }
    }
}

impl Settings {
    /// Nothing takes longer than it must.
    pub fn quick() -> Self {
        let short = Duration::from_millis(20);
        Settings {
            provisioning: short,
            starting: short,
            listening: short,
            cold_start: short,
            service_time: Duration::ZERO,
            calls: [100_000, 1_000_000, 10_000_000],
            ..Settings::default()
        }
    }
}
