//! Ends what is parked in vain: requests whose holders died, also where no worker
//! is left to ask for them, and those that no worker could ever hold.

use std::sync::Arc;
use std::time::Duration;

use thermocline_policy::Moment;

use crate::hub::Hub;

/// Between two looks.
const EVERY: Duration = Duration::from_secs(1);
/// How long the broker must have been there for silence to mean anything:
/// workers report every other second, and find it again when it was away.
const HEARD_AGAIN: Duration = Duration::from_secs(5);

/// Looks after what is parked, for ever.
pub(crate) async fn watch(hub: Arc<Hub>) {
    hub.sightings().deaf_until(hub.clock.now());
    loop {
        hub.clock.sleep(EVERY).await;
        let now = hub.clock.now();
        if hub.broker.available().is_err() {
            hub.sightings().deaf_until(now);
        }
        hub.give_up_lost(now);
        hub.give_up_beyond(now);
    }
}

impl Hub {
    fn give_up_lost(&self, now: Moment) {
        let sightings = self.sightings();
        if sightings.listened(now) < HEARD_AGAIN {
            return;
        }
        let lost = self
            .lot()
            .give_up_lost(now, |holder| sightings.life(holder, now));
        if lost {
            self.unwritten.notify_one();
        }
    }
}
