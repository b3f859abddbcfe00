use thermocline_provider::{Address, InstancePage, ProviderInstance, ProviderState};

use super::Fault;

/// The owner of what is nobody's business.
pub(super) const STRANGER: &str = "stranger";

/// What can be answered with less than the truth.
pub(super) trait Answer: Sized {
    /// The answer as `fault` leaves it.
    fn amiss(self, _fault: Fault) -> Self {
        self
    }
}

impl Answer for thermocline_provider::Capabilities {}
impl Answer for thermocline_provider::Deletion {}
impl Answer for Vec<thermocline_provider::Offer> {}

impl Answer for ProviderInstance {
    fn amiss(mut self, fault: Fault) -> Self {
        match fault {
            Fault::Flapping(how) => flap(&mut self, how),
            Fault::Garbled(how) => garble(&mut self, how),
            _ => {}
        }
        self
    }
}

impl Answer for Option<ProviderInstance> {
    fn amiss(self, fault: Fault) -> Self {
        self.map(|instance| instance.amiss(fault))
    }
}

impl Answer for InstancePage {
    fn amiss(mut self, fault: Fault) -> Self {
        match fault {
            Fault::Endless => {
                self.next = Some("again".to_owned());
                return self;
            }
            Fault::Blind => self.instances.clear(),
            Fault::Incomplete => {
                self.instances.clear();
                self.complete = false;
            }
            Fault::Cut => self.instances.truncate(self.instances.len() / 2),
            _ => {
                let instances = self.instances.into_iter();
                self.instances = instances.map(|instance| instance.amiss(fault)).collect();
            }
        }
        if !matches!(fault, Fault::Flapping(_) | Fault::Garbled(_)) {
            self.next = None;
        }
        self
    }
}

fn flap(instance: &mut ProviderInstance, how: u8) {
    instance.state = match how {
        0 => ProviderState::Starting,
        1 => ProviderState::Ready,
        2 => ProviderState::Stopping,
        3 => ProviderState::Gone,
        _ => ProviderState::Failed,
    };
    if instance.state != ProviderState::Ready {
        instance.address = None;
    }
}

fn garble(instance: &mut ProviderInstance, how: u8) {
    match how {
        0 => instance.key = "of nobody".to_owned(),
        1 => instance.owner = STRANGER.to_owned(),
        2 => instance.usd_per_hour = Some(f64::NAN),
        3 => instance.detail = "\u{0}<script>".repeat(1000),
        _ => {
            instance.address = instance.address.take().map(|address| Address {
                url: "no url".to_owned(),
                ..address
            });
        }
    }
}
