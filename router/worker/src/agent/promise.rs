//! Room for models of cold queues, from the look into the queue until the load.

use thermocline_policy::Moment;
use thermocline_policy::fleet::{Admission, Mib, Resident, Stage};
use thermocline_wire::fleet::Terms;

/// How a model gets into memory.
pub(super) struct Place {
    pub(super) devices: Vec<usize>,
    /// Idle models that go.
    pub(super) idle: Vec<String>,
    /// Models whose work in hand goes back first.
    pub(super) yielding: Vec<String>,
}

/// Room that a cold queue's model gets if there is a job for it.
pub(super) struct Promise {
    pub(super) terms: Terms,
    pub(super) place: Place,
    /// A gateway that knows the model.
    pub(super) reply_to: String,
}

impl Place {
    /// `None` when there is none now.
    pub(super) fn of(admission: Admission<'_>) -> Option<Self> {
        let own = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect();
        let (devices, idle, yielding) = match admission {
            Admission::Fits { devices } => (devices, Vec::new(), Vec::new()),
            Admission::Evict {
                devices,
                idle,
                yielding,
            } => (devices, own(idle), own(yielding)),
            Admission::Wait { .. } | Admission::Never => return None,
        };
        Some(Place {
            devices,
            idle,
            yielding,
        })
    }
}

impl Promise {
    /// Keeps `residents` as they will be needed: what makes room for `queue`
    /// does so for nobody else, and nobody else gets the rest of its room.
    pub(super) fn keep<'a>(&'a self, queue: &'a str, residents: &mut Vec<Resident<'a>>) {
        for device in &self.place.devices {
            let share = Mib(self.terms.memory_mib).share(self.place.devices.len());
            let freed = self.spare_victims(*device, residents);
            residents.push(loading(queue, device, share.less(freed)));
        }
    }

    /// Spares the models that go for this one; what they will free of `device`.
    fn spare_victims(&self, device: usize, residents: &mut [Resident<'_>]) -> Mib {
        let goes = |resident: &&mut Resident| {
            resident.devices.contains(&device)
                && self.place.idle.iter().any(|model| model == resident.model)
        };
        let victims = residents.iter_mut().filter(goes);
        victims
            .map(|victim| {
                (victim.in_flight, victim.preemptible) = (victim.in_flight.max(1), false);
                victim.share
            })
            .sum()
    }
}

fn loading<'a>(queue: &'a str, device: &'a usize, share: Mib) -> Resident<'a> {
    Resident {
        model: queue,
        devices: std::slice::from_ref(device),
        share,
        in_flight: 0,
        waiting: 1,
        stage: Stage::Loading,
        since: Moment::ORIGIN,
        last_used: Moment::ORIGIN,
        heat: Default::default(),
        others: 0,
        load_time: Default::default(),
        pinned: false,
        preemptible: false,
    }
}
