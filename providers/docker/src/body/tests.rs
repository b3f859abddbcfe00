use serde_json::{Value, json};

use super::*;

fn request() -> InstanceRequest {
    InstanceRequest {
        owner: "home".into(),
        deployment: "sdxl".into(),
        tier: Tier::Local,
        offer: None,
        image: "ghcr.io/acme/sdxl:1.4".into(),
        command: vec!["serve".into()],
        args: vec!["--fast".into()],
        env: [("STEPS".to_owned(), "30".to_owned())].into(),
        port: 8000,
        vram_mib: 11 * 1024,
        gpus: 2,
        gpu: Vec::new(),
        ready_path: "/ready".into(),
        idle_timeout_s: 0,
        max_workers: 0,
        queue_delay_s: 0,
        cpus: 1.5,
        memory_mib: 2048,
        max_lifetime_s: 0,
        devices: Vec::new(),
        host_port: Some(18000),
        fleet: None,
    }
}

fn body(request: &InstanceRequest) -> Value {
    serde_json::to_value(create_body("01JKEY", request).unwrap()).unwrap()
}

/// The whole of it: a field more here is a permission more, so look twice.
#[test]
fn the_body_of_a_container_that_sets_everything() {
    let expected = json!({
        "Image": "ghcr.io/acme/sdxl:1.4",
        "Entrypoint": ["serve"],
        "Cmd": ["--fast"],
        "Env": ["STEPS=30"],
        "ExposedPorts": { "8000/tcp": {} },
        "Labels": {
            "thermocline.owner": "home",
            "thermocline.instance": "01JKEY",
            "thermocline.deployment": "sdxl",
            "thermocline.tier": "local",
        },
        "HostConfig": {
            "Privileged": false,
            "CapDrop": ["ALL"],
            "SecurityOpt": ["no-new-privileges"],
            "NetworkMode": "bridge",
            "IpcMode": "private",
            "PidsLimit": 4096,
            "Memory": 2_147_483_648_u64,
            "MemorySwap": 2_147_483_648_u64,
            "NanoCpus": 1_500_000_000,
            "DeviceRequests": [{ "Count": 2, "Capabilities": [["gpu"]] }],
            "PortBindings": {
                "8000/tcp": [{ "HostIp": "127.0.0.1", "HostPort": "18000" }],
            },
            "LogConfig": {
                "Type": "json-file",
                "Config": { "max-size": "10m", "max-file": "2" },
            },
            "RestartPolicy": { "Name": "no" },
            "AutoRemove": false,
            "Init": true,
        },
    });
    assert_eq!(body(&request()), expected);
}

#[test]
fn what_is_not_asked_for_is_left_to_docker() {
    let plain = InstanceRequest {
        command: Vec::new(),
        args: Vec::new(),
        gpus: 0,
        cpus: 0.0,
        memory_mib: 0,
        devices: Vec::new(),
        host_port: None,
        ..request()
    };
    let body = body(&plain);
    for absent in ["Memory", "MemorySwap", "NanoCpus", "DeviceRequests"] {
        assert!(body["HostConfig"].get(absent).is_none(), "{absent}");
    }
    assert!(body.get("Entrypoint").is_none() && body.get("Cmd").is_none());
    let port = &body["HostConfig"]["PortBindings"]["8000/tcp"][0]["HostPort"];
    assert_eq!(port, "0");
}

#[test]
fn a_placement_names_its_gpus_and_no_count() {
    for gpus in [0, 2] {
        let placed = InstanceRequest {
            gpus,
            devices: vec!["GPU-8f2f".into(), "GPU-3b9f".into()],
            ..request()
        };
        let made = body(&placed);
        assert_eq!(
            made["HostConfig"]["DeviceRequests"],
            json!([{ "DeviceIDs": ["GPU-8f2f", "GPU-3b9f"], "Capabilities": [["gpu"]] }])
        );
        assert_eq!(made["Env"], json!(["STEPS=30"]), "they are not hidden");
    }
}

#[test]
fn an_image_cannot_help_itself_to_gpus() {
    let body = body(&InstanceRequest {
        gpus: 0,
        ..request()
    });
    assert_eq!(
        body["Env"],
        json!(["STEPS=30", "NVIDIA_VISIBLE_DEVICES=void"])
    );
}

fn refusal(change: impl FnOnce(&mut InstanceRequest)) -> ProviderError {
    let mut request = request();
    change(&mut request);
    create_body("01JKEY", &request).unwrap_err()
}

#[test]
fn variables_that_reach_out_of_the_container_are_refused_by_name() {
    for key in [
        "LD_PRELOAD",
        "LD_AUDIT",
        "NVIDIA_DRIVER_CAPABILITIES",
        "",
        "A=B",
    ] {
        let error = refusal(|r| {
            r.env.insert(key.to_owned(), "x".to_owned());
        });
        assert_eq!(error.kind, ProviderErrorKind::Invalid);
        assert!(error.detail.contains(&format!("`{key}`")), "{error}");
    }
}

#[test]
fn impossible_requests_are_refused_before_docker_is_asked() {
    let refusals = [
        refusal(|r| r.tier = Tier::Pod),
        refusal(|r| r.image.clear()),
        refusal(|r| r.port = 0),
        refusal(|r| r.cpus = f64::NAN),
        refusal(|r| r.cpus = -1.0),
    ];
    assert!(
        refusals
            .iter()
            .all(|e| e.kind == ProviderErrorKind::Invalid)
    );
}

#[test]
fn sizes_saturate() {
    let most = refusal_free(|r| r.memory_mib = u64::MAX);
    assert_eq!(most["HostConfig"]["Memory"], i64::MAX);
}

fn refusal_free(change: impl FnOnce(&mut InstanceRequest)) -> Value {
    let mut request = request();
    change(&mut request);
    body(&request)
}
