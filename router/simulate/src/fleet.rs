use std::time::Duration;

use thermocline_policy::Moment;

use crate::assumptions::Assumptions;
use crate::candidate::Candidate;
use crate::optimum::Optimum;
use crate::plot::Course;
use crate::report::{Counted, Report};
use crate::run::Run;
use crate::trace::Arrival;

/// All deployments of a trace, each under every policy, beside its optimum.
///
/// Memory is that of the deployments and their changes of tier; it does not
/// grow with the arrivals.
#[derive(Debug)]
pub struct Fleet {
    candidates: Vec<Candidate>,
    assumptions: Assumptions,
    deployments: Vec<Deployment>,
    last: Moment,
}

#[derive(Debug)]
struct Deployment {
    arrivals: u64,
    optimum: Optimum,
    runs: Vec<Run>,
}

impl Fleet {
    /// So many deployments, 1 or more, each under every candidate.
    pub fn new(candidates: &[Candidate], assumptions: &Assumptions, deployments: usize) -> Self {
        let optimum = Optimum::new(&assumptions.model, assumptions.slot);
        let runs = || {
            candidates
                .iter()
                .map(|c| Run::new(*c, assumptions))
                .collect()
        };
        Fleet {
            deployments: (0..deployments.max(1))
                .map(|_| Deployment {
                    arrivals: 0,
                    optimum: optimum.clone(),
                    runs: runs(),
                })
                .collect(),
            candidates: candidates.to_vec(),
            assumptions: assumptions.clone(),
            last: Moment::ORIGIN,
        }
    }

    /// One arrival, never before the last.
    pub fn arrive(&mut self, arrival: Arrival) {
        self.last = arrival.at;
        if let Some(deployment) = self.deployments.get_mut(arrival.deployment) {
            deployment.arrivals += 1;
            deployment.optimum.arrive(arrival.at, arrival.service);
            for run in &mut deployment.runs {
                run.arrive(arrival.at, arrival.service);
            }
        }
    }

    /// Ends the replay with the slot of the last arrival, and counts.
    ///
    /// `names` are those of the deployments; none when the trace names none.
    /// With the report come the courses of the first deployment.
    pub fn finish(mut self, names: &[String]) -> (Report, Vec<Course>) {
        let end = end_of_slot(self.last, self.assumptions.slot);
        for deployment in &mut self.deployments {
            deployment.optimum.advance_to(end);
            deployment.runs.iter_mut().for_each(|run| run.end(end));
        }
        let counted: Vec<Counted<'_>> = self.deployments.iter().map(Deployment::counted).collect();
        let span = self.last.since(Moment::ORIGIN);
        let report = Report::of(&self.candidates, &self.assumptions, &counted, names, span);
        (report, self.courses())
    }

    fn courses(&self) -> Vec<Course> {
        let first = self.deployments.iter().take(1).flat_map(|d| &d.runs);
        std::iter::zip(&self.candidates, first)
            .map(|(candidate, run)| Course {
                policy: candidate.to_string(),
                thresholds: *run.thresholds(),
                switches: run.switches().to_vec(),
            })
            .collect()
    }
}

impl Deployment {
    fn counted(&self) -> Counted<'_> {
        Counted {
            arrivals: self.arrivals,
            optimum: self.optimum.least(),
            tallies: self.runs.iter().map(Run::tally).collect(),
        }
    }
}

fn end_of_slot(now: Moment, slot: Duration) -> Moment {
    let slot = slot.as_nanos() as u64;
    Moment::from_nanos((now.nanos() / slot + 1) * slot)
}
