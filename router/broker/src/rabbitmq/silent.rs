use crate::BrokerError;

/// What is told of `queue`, which does not answer where the broker does. One that
/// a crash left behind, and that its maker does not mend, is put right by hand.
pub(super) fn silent(queue: &str) -> BrokerError {
    BrokerError::new(format!(
        "queue {queue} does not answer; if it stays so, a crash of the broker left its name \
         alone, and `rabbitmqctl delete_queue {queue}` (with --vhost) makes way for a new one"
    ))
}
