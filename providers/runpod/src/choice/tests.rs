use serde_json::{Value, json};

use super::*;

fn gpu(id: &str, pool: &str, memory: u64, secure: f64, serverless: f64) -> Value {
    json!({
        "id": format!("NVIDIA {id}"), "name": id, "pool": pool, "memory": memory,
        "price": { "secure": secure, "community": 0.0, "serverless": serverless },
    })
}

fn gpus() -> Vec<Gpu> {
    let all = json!([
        gpu("H100", "ADA_80_PRO", 80, 2.7, 4.2),
        gpu("L4", "AMPERE_24", 24, 0.43, 0.69),
        gpu("3090", "AMPERE_24", 24, 0.46, 0.69),
        gpu("A4000", "AMPERE_16", 16, 0.25, 0.58),
        gpu("4090", "ADA_24", 24, 0.69, 1.1),
    ]);
    serde_json::from_value(all).unwrap()
}

fn request(gpu: &[&str], vram_mib: u64) -> InstanceRequest {
    let request = json!({
        "owner": "o", "deployment": "d", "tier": "pod", "image": "i", "port": 80,
        "gpu": gpu, "vram_mib": vram_mib,
    });
    serde_json::from_value(request).unwrap()
}

#[test]
fn pods_try_what_was_named_in_its_order() {
    let wanted = request(&["NVIDIA H100", "L4"], 0);
    assert_eq!(
        pod_types(&wanted, &gpus(), Cloud::Secure),
        ["NVIDIA H100", "NVIDIA L4"]
    );
    let pool = request(&["AMPERE_24"], 0);
    assert_eq!(
        pod_types(&pool, &gpus(), Cloud::Secure),
        ["NVIDIA L4", "NVIDIA 3090"]
    );
}

#[test]
fn pods_try_the_cheapest_that_fit_when_nothing_was_named() {
    let tried = pod_types(&request(&[], 20 * 1_024), &gpus(), Cloud::Secure);
    assert_eq!(
        tried,
        ["NVIDIA L4", "NVIDIA 3090", "NVIDIA 4090", "NVIDIA H100"]
    );
    assert_eq!(
        pod_types(&request(&[], 1), &gpus(), Cloud::Community),
        [""; 0]
    );
    assert_eq!(
        pod_types(&request(&["A4000"], 20 * 1_024), &gpus(), Cloud::Secure),
        [""; 0]
    );
}

#[test]
fn an_endpoint_named_by_type_excludes_the_rest_of_its_pool() {
    let chosen = pools(&request(&["L4", "ADA_24"], 0), &gpus());
    assert_eq!(chosen.pools, ["AMPERE_24", "ADA_24"]);
    assert_eq!(chosen.excluded, ["NVIDIA 3090"]);
    let any = pools(&request(&[], 20 * 1_024), &gpus());
    assert_eq!(any.pools, ["AMPERE_24", "ADA_24", "ADA_80_PRO"]);
    assert_eq!(any.excluded, [""; 0]);
}

#[test]
fn only_a_request_without_any_gpu_gets_a_cpu() {
    assert!(is_for_cpu(&request(&[], 0)));
    assert!(!is_for_cpu(&request(&[], 1)) && !is_for_cpu(&request(&["L4"], 0)));
    let cpus = json!([{
        "id": "cpu3c", "vcpu": { "min": 2, "max": 16 }, "ramGbPerVcpu": 2.0,
        "price": { "securePerVcpu": 0.03, "serverlessPerVcpu": 0.04 },
    }]);
    let cpus: Vec<Cpu> = serde_json::from_value(cpus).unwrap();
    let mut wanted = request(&[], 0);
    assert_eq!(cpu(&wanted, &cpus, false), Some(("cpu3c".to_owned(), 2)));
    wanted.memory_mib = 10 * 1_024;
    assert_eq!(cpu(&wanted, &cpus, false), Some(("cpu3c".to_owned(), 8)));
    wanted.cpus = 32.0;
    assert_eq!(cpu(&wanted, &cpus, false), None);
}
