use std::net::SocketAddr;
use std::time::Duration;

/// Which machines pods are rented on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cloud {
    /// RunPod's own data centres.
    Secure,
    /// Other people's machines.
    Community,
}

impl Cloud {
    /// RunPod's word for it.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Cloud::Secure => "SECURE",
            Cloud::Community => "COMMUNITY",
        }
    }
}

/// How a serverless endpoint is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndpointType {
    /// In HTTP, which the image answers itself.
    LoadBalancer,
    /// In jobs, which the image's handler takes from a queue.
    Queue,
}

/// How the adapter uses an account.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The job API: scheme and host.
    pub job_url: String,
    /// Where a pod is reached; holds `{id}` and `{port}`.
    pub pod_url: String,
    /// Where a load-balancing endpoint is reached; holds `{id}`.
    pub endpoint_url: String,
    /// The type of new endpoints.
    pub endpoint_type: EndpointType,
    /// Where pods are rented.
    pub cloud: Cloud,
    /// Acceptable data centres; any when empty.
    pub data_centers: Vec<String>,
    /// Disk of an instance, GB, at least 1.
    pub disk_gb: u32,
    /// Requests that one worker of a load-balancing endpoint takes at a time, at least 1.
    pub requests_per_worker: u32,
    /// How long one request or job may run at an endpoint; at least 5 s.
    pub job_timeout: Duration,
    /// Where requests to queue endpoints are turned into jobs; a loopback address.
    pub job_listen: SocketAddr,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            job_url: "https://api.runpod.ai".to_owned(),
            pod_url: "https://{id}-{port}.proxy.runpod.net".to_owned(),
            endpoint_url: "https://{id}.api.runpod.ai".to_owned(),
            endpoint_type: EndpointType::LoadBalancer,
            cloud: Cloud::Secure,
            data_centers: Vec::new(),
            disk_gb: 20,
            requests_per_worker: 4,
            job_timeout: Duration::from_secs(600),
            job_listen: SocketAddr::from(([127, 0, 0, 1], 0)),
        }
    }
}
