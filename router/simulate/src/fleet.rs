use std::time::Duration;

use thermocline_policy::{Moment, Optimum, Tier};

use crate::assumptions::Assumptions;
use crate::candidate::Candidate;
use crate::plot::Course;
use crate::report::{Counted, Report};
use crate::run::Run;
use crate::tally::Tally;
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

/// One deployment, on a clock that begins with its first arrival.
#[derive(Debug)]
struct Deployment {
    assumptions: Assumptions,
    arrivals: u64,
    /// Its first and its last arrival.
    span: Option<(Moment, Moment)>,
    optimum: Optimum,
    runs: Vec<Run>,
}

impl Fleet {
    /// So many deployments, 1 or more, each under every candidate.
    pub fn new(candidates: &[Candidate], assumptions: &Assumptions, deployments: usize) -> Self {
        let each = vec![assumptions.clone(); deployments.max(1)];
        Fleet::of(candidates, assumptions, each)
    }

    /// One deployment for each of `each`, which holds what is assumed of it;
    /// `assumptions` are those of a deployment that nothing else is known of.
    pub fn of(candidates: &[Candidate], assumptions: &Assumptions, each: Vec<Assumptions>) -> Self {
        let deployment = |assumptions| Deployment::new(candidates, assumptions);
        Fleet {
            candidates: candidates.to_vec(),
            assumptions: assumptions.clone(),
            deployments: each.into_iter().map(deployment).collect(),
            last: Moment::ORIGIN,
        }
    }

    /// One arrival, never before the last.
    pub fn arrive(&mut self, arrival: Arrival) {
        self.last = arrival.at;
        if let Some(deployment) = self.deployments.get_mut(arrival.deployment) {
            deployment.arrive(arrival.at, arrival.service);
        }
    }

    /// Ends each deployment with its last arrival, and counts.
    ///
    /// `names` are those of the deployments; none when the trace names none.
    /// With the report come the courses of each deployment.
    pub fn finish(mut self, names: &[String]) -> (Report, Vec<Vec<Course>>) {
        self.deployments.iter_mut().for_each(Deployment::end);
        let counted: Vec<Counted<'_>> = self.deployments.iter().map(Deployment::counted).collect();
        let span = self.last.since(Moment::ORIGIN);
        let report = Report::of(&self.candidates, &self.assumptions, &counted, names, span);
        let courses = self.deployments.iter();
        let courses = courses.map(|it| it.courses(&self.candidates)).collect();
        (report, courses)
    }
}

impl Deployment {
    fn new(candidates: &[Candidate], assumptions: Assumptions) -> Self {
        let runs = candidates.iter().map(|it| Run::new(*it, &assumptions));
        Deployment {
            arrivals: 0,
            span: None,
            optimum: Optimum::new(Moment::ORIGIN),
            runs: runs.collect(),
            assumptions,
        }
    }

    fn arrive(&mut self, at: Moment, service: Duration) {
        let (first, _) = self.span.unwrap_or((at, at));
        self.span = Some((first, at));
        self.arrivals += 1;
        let now = Moment::from_origin(at.since(first));
        self.optimum.take(now, service, &self.assumptions.model);
        for run in &mut self.runs {
            run.arrive(now, service);
        }
    }

    fn end(&mut self) {
        let end = Moment::from_origin(self.lasted());
        self.optimum.advance_to(end, &self.assumptions.model);
        self.runs.iter_mut().for_each(|run| run.end(end));
    }

    /// From its first to its last arrival.
    fn lasted(&self) -> Duration {
        let (first, last) = self.span.unwrap_or_default();
        last.since(first)
    }

    fn counted(&self) -> Counted<'_> {
        let tallies: Vec<&Tally> = self.runs.iter().map(Run::tally).collect();
        Counted {
            assumptions: &self.assumptions,
            arrivals: self.arrivals,
            span: self.lasted(),
            optimum: self.least(&tallies),
            tallies,
        }
    }

    fn least(&self, tallies: &[&Tally]) -> f64 {
        if !self.assumptions.tiers.has(Tier::Pod) {
            return self.optimum.hindsight().serverless_alone();
        }
        let mut hindsight = self.optimum.hindsight().clone();
        let done = tallies.iter().map(|tally| tally.usd);
        done.for_each(|usd| hindsight.was_possible(usd));
        hindsight.least()
    }

    fn courses(&self, candidates: &[Candidate]) -> Vec<Course> {
        let (first, _) = self.span.unwrap_or_default();
        let tiers = self.assumptions.tiers;
        std::iter::zip(candidates, &self.runs)
            .filter(|(candidate, _)| candidate.lacks(tiers).is_none())
            .map(|(candidate, run)| Course {
                policy: candidate.to_string(),
                begin: first,
                thresholds: *run.thresholds(),
                switches: run.switches().to_vec(),
            })
            .collect()
    }
}
