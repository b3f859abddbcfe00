//! What RunPod says, as far as it is read.

use std::collections::BTreeMap;

use serde::Deserialize;

/// A pod or an endpoint.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Thing {
    pub(crate) id: String,
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) env: Option<BTreeMap<String, String>>,
    #[serde(default)]
    pub(crate) ports: Option<Vec<String>>,
    /// Of a pod.
    #[serde(default)]
    pub(crate) status: Option<String>,
    #[serde(default)]
    pub(crate) cost: Option<f64>,
    /// Of an endpoint.
    #[serde(default, rename = "type")]
    pub(crate) kind: Option<String>,
    #[serde(default)]
    pub(crate) workers: Option<Workers>,
}

/// The bounds of an endpoint's workers.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(crate) struct Workers {
    pub(crate) min: u32,
    pub(crate) max: u32,
}

/// A page of a list.
#[derive(Debug, Deserialize)]
pub(crate) struct Page {
    #[serde(alias = "endpoints")]
    pub(crate) pods: Vec<Thing>,
    #[serde(default)]
    pub(crate) pagination: Option<Pagination>,
}

/// Where the next page is.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Pagination {
    pub(crate) has_next_page: bool,
    #[serde(default)]
    pub(crate) next_cursor: Option<String>,
}

/// The catalogue of GPUs.
#[derive(Debug, Deserialize)]
pub(crate) struct Gpus {
    pub(crate) gpus: Vec<Gpu>,
}

/// One GPU type.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Gpu {
    pub(crate) id: String,
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) pool: Option<String>,
    /// GiB of one.
    pub(crate) memory: u64,
    pub(crate) price: Price,
    #[serde(default)]
    pub(crate) availability: Option<String>,
}

/// Dollars an hour of one GPU.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct Price {
    #[serde(default)]
    pub(crate) secure: f64,
    #[serde(default)]
    pub(crate) community: f64,
    #[serde(default)]
    pub(crate) serverless: Option<f64>,
}

/// The catalogue of CPU flavours.
#[derive(Debug, Deserialize)]
pub(crate) struct Cpus {
    pub(crate) cpus: Vec<Cpu>,
}

/// One CPU flavour.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Cpu {
    pub(crate) id: String,
    pub(crate) vcpu: Range,
    pub(crate) ram_gb_per_vcpu: f64,
    pub(crate) price: CpuPrice,
}

/// The vCPUs of a flavour.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(crate) struct Range {
    pub(crate) min: u32,
    pub(crate) max: u32,
}

/// Dollars an hour of one vCPU.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CpuPrice {
    pub(crate) secure_per_vcpu: f64,
    pub(crate) serverless_per_vcpu: f64,
}
