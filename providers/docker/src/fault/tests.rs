use super::ProviderErrorKind::{HostMisconfigured, Invalid, PortConflict, Unavailable};
use super::*;

fn refused(status: u16, message: &str) -> Fault {
    Fault::Refused {
        status,
        message: message.to_owned(),
    }
}

/// What Docker 20.10 (and, where it differs, 28) answers to a create or a start.
const REFUSALS: &[(u16, &str, ProviderErrorKind)] = &[
    (
        500,
        "driver failed programming external connectivity on endpoint t5 (ddbbdd407192): Bind for 127.0.0.1:18998 failed: port is already allocated",
        PortConflict,
    ),
    (
        500,
        "driver failed programming external connectivity on endpoint t3 (282d6d8fef49): Error starting userland proxy: listen tcp4 127.0.0.1:18999: bind: address already in use",
        PortConflict,
    ),
    (
        500,
        "failed to set up container networking: driver failed programming external connectivity on endpoint t3 (282d6d8fef49): failed to bind host port for 127.0.0.1:18999:172.17.0.2:8000/tcp: address already in use",
        PortConflict,
    ),
    (
        500,
        "could not select device driver \"\" with capabilities: [[gpu]]",
        HostMisconfigured,
    ),
    (
        500,
        "failed to create task for container: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: error during container init: error running hook #0: exit status 1, stdout: , stderr: nvidia-container-cli: initialization error: nvml error: driver not loaded: unknown",
        HostMisconfigured,
    ),
    (
        400,
        "failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: exec: \"docker-init\": executable file not found in $PATH: unknown",
        HostMisconfigured,
    ),
    (
        400,
        "failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: exec: \"nosuch\": executable file not found in $PATH: unknown",
        Invalid,
    ),
    (
        400,
        "failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: exec: \"/etc\": permission denied: unknown",
        Invalid,
    ),
    (400, "No command specified", Invalid),
    (400, "Minimum memory limit allowed is 6MB", Invalid),
    (
        400,
        "invalid reference format: repository name must be lowercase",
        Invalid,
    ),
    (
        400,
        "Range of CPUs is from 0.01 to 2.00, as there are only 2 CPUs available",
        HostMisconfigured,
    ),
    (
        500,
        "mkdir /var/lib/docker/overlay2/ab: no space left on device",
        HostMisconfigured,
    ),
    (500, "context canceled", Unavailable),
];

#[test]
fn whose_fault_a_start_is() {
    for (status, message, kind) in REFUSALS {
        let error = refused(*status, message).of_start(Some(18999));
        assert_eq!(error.kind, *kind, "{message}");
    }
}

#[test]
fn no_error_names_a_path_or_an_address() {
    for (status, message, _) in REFUSALS {
        let error = refused(*status, message).of_start(Some(18999));
        let leaks = ["127.0.0.1", "172.17", "/var/", "/etc", "282d6d8fef49"];
        assert!(leaks.iter().all(|l| !error.detail.contains(l)), "{error}");
    }
}

#[test]
fn a_taken_port_is_named() {
    let taken = refused(500, "Bind for 0.0.0.0:80 failed: port is already allocated");
    let detail = taken.of_start(Some(80)).detail;
    assert_eq!(detail, "port 80 of this machine is taken");
}

#[test]
fn a_taken_name_is_no_taken_port() {
    let name = refused(
        409,
        "Conflict. The container name \"/t4\" is already in use by container \"77d83b64492d\". You have to remove (or rename) that container to be able to reuse that name.",
    );
    assert!(name.is_conflict());
    assert_ne!(name.of_start(Some(80)).kind, PortConflict);
}

#[test]
fn a_failed_pull_is_for_a_person_and_says_nothing_of_the_network() {
    let said = "Get \"https://no.such.example/v2/\": dial tcp: lookup no.such.example on 10.0.0.53:53: no such host";
    let error = refused(500, said).of_pull();
    assert_eq!(error.kind, Invalid);
    assert!(
        error
            .detail
            .ends_with("dial tcp: lookup … on … no such host")
    );
}

#[test]
fn a_daemon_that_is_not_there_says_nothing_about_what_exists() {
    for fault in [Fault::Absent, Fault::Broken] {
        let error = ProviderError::from(fault);
        assert!(error.transient() && !error.before_effect());
    }
}

#[test]
fn a_socket_that_is_missing_or_refuses_is_an_absent_daemon() {
    let cases = [
        (io::ErrorKind::NotFound, Fault::Absent),
        (io::ErrorKind::ConnectionRefused, Fault::Absent),
        (io::ErrorKind::PermissionDenied, Fault::Denied),
        (io::ErrorKind::ConnectionReset, Fault::Broken),
    ];
    for (kind, expected) in cases {
        let error = Error::from(io::Error::from(kind));
        assert_eq!(Fault::from(error), expected);
    }
}
