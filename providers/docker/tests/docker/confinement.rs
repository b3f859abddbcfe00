use thermocline_provider::{Provider, ProviderErrorKind};

use crate::support::{key, on_docker};

/// The daemon made of the body what we meant by it.
#[tokio::test]
async fn a_container_has_no_more_rights_than_it_needs() {
    on_docker(async |ground| {
        let made = ground.provider.create(&key(), &ground.request(&[])).await;
        let found = ground
            .docker
            .inspect_container(&made.unwrap().id, None)
            .await;
        let found = found.unwrap();
        let host = found.host_config.unwrap();
        assert_eq!(host.privileged, Some(false));
        assert_eq!(host.cap_drop, Some(vec!["ALL".into()]));
        assert_eq!(host.security_opt, Some(vec!["no-new-privileges".into()]));
        assert_eq!(host.pids_limit, Some(4096));
        assert_eq!(host.memory, Some(64 * 1024 * 1024));
        assert_eq!(host.binds, None);
        assert!(found.mounts.unwrap_or_default().is_empty());
        for mode in [host.pid_mode, host.uts_mode, host.userns_mode] {
            assert!(mode.is_none_or(|m| m.is_empty()));
        }
    })
    .await;
}

#[tokio::test]
async fn a_machine_without_the_gpu_runtime_says_so_and_keeps_no_husk() {
    on_docker(async |ground| {
        let runtimes = ground.docker.info().await.unwrap().runtimes;
        if runtimes.unwrap_or_default().contains_key("nvidia") {
            eprintln!("skipped: this machine gives GPUs to containers");
            return;
        }
        let mut request = ground.request(&[]);
        request.gpus = 1;
        let error = ground.provider.create(&key(), &request).await.unwrap_err();
        assert_eq!(error.kind, ProviderErrorKind::HostMisconfigured);
        assert!(error.detail.contains("NVIDIA Container Toolkit"), "{error}");
        assert!(ground.containers().await.is_empty());
    })
    .await;
}
