use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use thermocline_policy::Moment;
use thermocline_provider::fleet::SeenWorker;

/// Over how long a throughput is taken.
const SPAN: Duration = Duration::from_secs(60);

/// How many jobs workers finish a second, from the counts that they report.
#[derive(Debug, Default)]
pub(super) struct Throughput {
    /// The last count of each life of a worker.
    counts: HashMap<String, u64>,
    /// When how many more had been finished.
    finished: VecDeque<(Moment, u64)>,
}

impl Throughput {
    /// Jobs a second, as of `now`; 0 until two looks at a worker.
    pub(super) fn of<'w>(
        &mut self,
        workers: impl Iterator<Item = &'w SeenWorker>,
        now: Moment,
    ) -> f64 {
        let mut more = 0;
        let mut counts = HashMap::new();
        for SeenWorker { report, .. } in workers {
            let life = format!("{} {}", report.worker, report.incarnation);
            let before = self.counts.get(&life).copied().unwrap_or(report.jobs);
            more += report.jobs.saturating_sub(before);
            counts.insert(life, report.jobs);
        }
        self.counts = counts;
        self.finished.push_back((now, more));
        while self.finished.len() > 1 && now.since(self.finished[0].0) > SPAN {
            self.finished.pop_front();
        }
        self.rate(now)
    }

    /// The first look is the beginning of the time, not a part of what was done in it.
    fn rate(&self, now: Moment) -> f64 {
        let Some((since, _)) = self.finished.front() else {
            return 0.0;
        };
        let span = now.since(*since).as_secs_f64();
        let jobs: u64 = self.finished.iter().skip(1).map(|(_, jobs)| jobs).sum();
        if span > 0.0 { jobs as f64 / span } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thermocline_wire::fleet::{Report, Shape, WorkerState};

    fn worker(name: &str, jobs: u64) -> SeenWorker {
        SeenWorker {
            report: Report {
                worker: name.into(),
                incarnation: "1".into(),
                sequence: 1,
                valid_ms: 1_000,
                state: WorkerState::Ready,
                shape: Shape::Gpu,
                permits: 2,
                in_flight: 0,
                memory_mib: 0,
                free_mib: 0,
                devices_mib: Vec::new(),
                pinned_mib: Vec::new(),
                resident: Vec::new(),
                subscribed: Vec::new(),
                may_pull: None,
                loads: 0,
                evictions: 0,
                jobs,
                load_rate: 0.0,
            },
            age: Duration::ZERO,
        }
    }

    #[test]
    fn what_a_worker_had_done_before_it_was_seen_does_not_count() {
        let mut throughput = Throughput::default();
        let at = |second| Moment::from_origin(Duration::from_secs(second));
        assert_eq!(throughput.of([worker("a", 1_000)].iter(), at(0)), 0.0);
        assert_eq!(throughput.of([worker("a", 1_020)].iter(), at(10)), 2.0);
        let both = [worker("a", 1_020), worker("b", 500)];
        assert_eq!(throughput.of(both.iter(), at(20)), 1.0);
        assert_eq!(throughput.of([].iter(), at(100)), 0.0);
    }
}
