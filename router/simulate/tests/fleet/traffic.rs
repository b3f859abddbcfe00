//! Who asks for what, and when.

use std::time::Duration;

use thermocline_policy::Moment;
use thermocline_simulate::Chance;

use crate::catalog::Catalog;

/// One request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request {
    pub(crate) at: Moment,
    pub(crate) model: usize,
    pub(crate) service: Duration,
}

/// Requests at `rps` for `hours`, of models by their popularity; each takes
/// `service` seconds on average.
pub(crate) fn poisson(
    catalog: &Catalog,
    rps: f64,
    hours: f64,
    service: f64,
    seed: u64,
) -> Vec<Request> {
    let mut chance = Chance::new(seed);
    let mut reached = 0.0;
    let cumulative: Vec<f64> = catalog
        .0
        .iter()
        .map(|model| {
            reached += model.popularity;
            reached
        })
        .collect();
    let (mut now, mut requests) = (0.0, Vec::new());
    loop {
        now += chance.exponential(1.0 / rps);
        if now > hours * 3_600.0 {
            return requests;
        }
        let drawn = chance.unit() * reached;
        requests.push(Request {
            at: Moment::from_origin(Duration::from_secs_f64(now)),
            model: cumulative.partition_point(|end| *end <= drawn),
            service: Duration::from_secs_f64(chance.exponential(service)),
        });
    }
}
