//! Which workers there are, by what they say of themselves.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use thermocline_policy::Moment;
use thermocline_provider::fleet::SeenWorker;
use thermocline_wire::fleet::{Report, WorkerState};

use crate::course::{Holder, Life};

/// How long one is believed to live that has claimed but not reported.
const UNREPORTED: Duration = Duration::from_secs(10);
/// Workers report every other second.
const SILENT: Duration = Duration::from_secs(5);
/// How much later than the end of a connection a report must come: one that
/// was sent before it may still be on its way.
const ON_THE_WAY: Duration = Duration::from_secs(1);
/// How long is remembered when one was last heard of.
const REMEMBERED: Duration = Duration::from_secs(3600);
/// The longest time for which a worker may say that it is valid.
const MOST_VALID: Duration = Duration::from_secs(300);
/// The most lives that are remembered.
const MOST_LIVES: usize = 100_000;

/// The workers, and when each life of one was last heard of.
#[derive(Default)]
pub(crate) struct Sightings {
    reports: BTreeMap<String, (Report, Moment)>,
    lives: HashMap<(String, String), Heard>,
    /// Since when everything that is said is heard; `None` before that.
    listening: Option<Moment>,
}

/// The workers around a queue, by name.
#[derive(Debug, Clone, Default)]
pub(crate) struct Around {
    /// Those that take its jobs.
    pub(crate) serve: Vec<String>,
    /// Those that hold its model.
    pub(crate) hold: Vec<String>,
}

#[derive(Clone, Copy)]
struct Heard {
    at: Moment,
    valid: Duration,
}

impl Sightings {
    /// Nobody was heard until `now`.
    pub(crate) fn deaf_until(&mut self, now: Moment) {
        self.listening = Some(now);
    }

    /// How long whoever speaks has been heard.
    pub(crate) fn listened(&self, now: Moment) -> Duration {
        self.listening
            .map_or(Duration::ZERO, |since| now.since(since))
    }

    /// The last words of the workers that were heard within `span`.
    pub(crate) fn heard_within(
        &self,
        span: Duration,
        now: Moment,
    ) -> impl Iterator<Item = &Report> {
        let reports = self.reports.values();
        let heard = reports.filter(move |(_, at)| now.since(*at) < span);
        heard.map(|(report, _)| report)
    }

    /// How long ago the last report came; `None` when there was none.
    pub(crate) fn silence(&self, now: Moment) -> Option<Duration> {
        let last = self.reports.values().map(|(_, at)| *at).max();
        last.map(|at| now.since(at))
    }

    /// A worker reported; whether it was silent, and so perhaps deaf, for as long
    /// as nobody is who hears and is heard.
    pub(crate) fn report(&mut self, report: Report, now: Moment) -> bool {
        let valid = Duration::from_millis(report.valid_ms).min(MOST_VALID);
        let life = (report.worker.clone(), report.incarnation.clone());
        self.hear(life, Heard { at: now, valid }, now);
        let known = self.reports.get(&report.worker);
        let silent = known.is_none_or(|(_, at)| now.since(*at) >= SILENT);
        let stale = known.is_some_and(|(known, _)| {
            known.incarnation == report.incarnation && known.sequence > report.sequence
        });
        if !stale {
            self.reports.insert(report.worker.clone(), (report, now));
        }
        silent
    }

    /// A worker claimed, and so lives.
    pub(crate) fn claimed(&mut self, worker: &str, incarnation: &str, now: Moment) {
        let life = (worker.to_owned(), incarnation.to_owned());
        let known = self.lives.get(&life).map(|heard| heard.valid);
        let valid = known.unwrap_or(UNREPORTED);
        self.hear(life, Heard { at: now, valid }, now);
    }

    fn hear(&mut self, life: (String, String), heard: Heard, now: Moment) {
        if self.lives.len() >= MOST_LIVES {
            self.lives
                .retain(|_, heard| now.since(heard.at) < REMEMBERED);
        }
        if self.lives.len() < MOST_LIVES || self.lives.contains_key(&life) {
            self.lives.insert(life, heard);
        }
    }

    /// Whether `holder` lives.
    pub(crate) fn life(&self, holder: &Holder, now: Moment) -> Life {
        let life = (holder.worker.clone(), holder.incarnation.clone());
        let Some(heard) = self.lives.get(&life) else {
            return Life::Died;
        };
        let Some(parted) = holder.parted else {
            return self.connected_life(*heard, now);
        };
        if self.has_successor(holder, heard.at) || now >= heard.at + heard.valid {
            return Life::Died;
        }
        match heard.at >= parted + ON_THE_WAY {
            true => Life::Lives,
            false => Life::Unknown,
        }
    }

    /// Whether one whose connection is open lives. While nothing could be heard, silence
    /// proves nothing.
    fn connected_life(&self, heard: Heard, now: Moment) -> Life {
        if now < heard.at + heard.valid {
            Life::Lives
        } else if self.listened(now) < heard.valid {
            Life::Unknown
        } else {
            Life::Died
        }
    }

    /// Whether its worker has begun anew since it was last heard of.
    fn has_successor(&self, holder: &Holder, heard: Moment) -> bool {
        let last = self.reports.get(&holder.worker);
        last.is_some_and(|(report, at)| report.incarnation != holder.incarnation && *at > heard)
    }

    /// The workers that reported within the time that they named.
    pub(crate) fn workers(&self, now: Moment) -> Vec<SeenWorker> {
        let seen = |(report, at): &(Report, Moment)| SeenWorker {
            report: report.clone(),
            age: now.since(*at),
        };
        let reports = self.reports.values();
        reports.filter(|it| is_valid(it, now)).map(seen).collect()
    }

    /// Whether there is one.
    pub(crate) fn is_anybody(&self, now: Moment) -> bool {
        self.reports.values().any(|it| is_valid(it, now))
    }

    /// By deployment: the workers that take its jobs, and those that hold it.
    pub(crate) fn around_each(&self, now: Moment) -> HashMap<String, Around> {
        let mut around: HashMap<String, Around> = HashMap::new();
        for seen in self.workers(now) {
            let report = seen.report;
            let takes = takes(&report);
            for deployment in report.subscribed.into_iter().filter(|_| takes) {
                let serve = &mut around.entry(deployment).or_default().serve;
                serve.push(report.worker.clone());
            }
            for resident in report.resident.into_iter().filter(|it| !it.loading) {
                let hold = &mut around.entry(resident.deployment).or_default().hold;
                hold.push(report.worker.clone());
            }
        }
        around
    }

    /// Those that take jobs and say that they hold `deployment`, or load it.
    pub(crate) fn holders(&self, deployment: &str, now: Moment) -> Vec<String> {
        let holds = |seen: &SeenWorker| {
            let mut held = seen.report.resident.iter();
            takes(&seen.report) && held.any(|it| it.deployment == deployment)
        };
        let holders = self.workers(now).into_iter().filter(holds);
        holders.map(|seen| seen.report.worker).collect()
    }

    /// Whether one that takes jobs says that it has `deployment` loaded.
    pub(crate) fn is_loaded(&self, deployment: &str, now: Moment) -> bool {
        self.workers(now).iter().any(|seen| {
            let mut held = seen.report.resident.iter();
            takes(&seen.report) && held.any(|it| it.deployment == deployment && !it.loading)
        })
    }

    /// Forgets reports of workers that are long gone.
    pub(crate) fn forget(&mut self, now: Moment) {
        self.reports
            .retain(|_, (_, at)| now.since(*at) < REMEMBERED);
        self.lives
            .retain(|_, heard| now.since(heard.at) < REMEMBERED);
    }
}

/// Whether it was said within the time that it names.
fn is_valid((report, at): &(Report, Moment), now: Moment) -> bool {
    now.since(*at) < Duration::from_millis(report.valid_ms).min(MOST_VALID)
}

const fn takes(report: &Report) -> bool {
    matches!(report.state, WorkerState::Ready | WorkerState::Loading)
}

#[cfg(test)]
mod tests {
    use thermocline_wire::fleet::Shape;

    use super::*;

    fn at(millis: u64) -> Moment {
        Moment::from_origin(Duration::from_millis(millis))
    }

    pub(crate) fn report(incarnation: &str, sequence: u64) -> Report {
        Report {
            worker: "w".to_owned(),
            incarnation: incarnation.to_owned(),
            sequence,
            valid_ms: 6_000,
            state: WorkerState::Ready,
            shape: Shape::Gpu,
            permits: 1,
            in_flight: 0,
            memory_mib: 0,
            free_mib: 0,
            devices_mib: Vec::new(),
            pinned_mib: Vec::new(),
            resident: Vec::new(),
            subscribed: vec!["m".to_owned()],
            may_pull: None,
            loads: 0,
            evictions: 0,
            jobs: 0,
            load_rate: 0.0,
        }
    }

    fn holder(parted: Option<Moment>) -> Holder {
        Holder {
            run: String::new(),
            worker: "w".to_owned(),
            incarnation: "1".to_owned(),
            account: String::new(),
            parted,
        }
    }

    #[test]
    fn who_goes_on_reporting_lives_and_who_stops_died() {
        let mut sightings = Sightings::default();
        sightings.report(report("1", 1), at(0));
        let cut = holder(Some(at(1_000)));
        assert_eq!(sightings.life(&cut, at(1_100)), Life::Unknown);
        assert_eq!(sightings.life(&cut, at(6_000)), Life::Died);
        sightings.report(report("1", 2), at(2_500));
        assert_eq!(sightings.life(&cut, at(2_600)), Life::Lives);
    }

    #[test]
    fn the_silence_of_one_that_is_connected_counts_once_reports_are_heard_again() {
        let mut sightings = Sightings::default();
        let connected = holder(None);
        sightings.deaf_until(at(0));
        sightings.report(report("1", 1), at(0));
        assert_eq!(sightings.life(&connected, at(4_000)), Life::Lives);
        assert_eq!(sightings.life(&connected, at(6_000)), Life::Died);
        sightings.deaf_until(at(30_000));
        assert_eq!(sightings.life(&connected, at(31_000)), Life::Unknown);
        sightings.report(report("1", 2), at(32_000));
        assert_eq!(sightings.life(&connected, at(36_000)), Life::Lives);
    }

    #[test]
    fn a_report_that_was_on_its_way_proves_nothing() {
        let mut sightings = Sightings::default();
        sightings.report(report("1", 1), at(1_050));
        let cut = holder(Some(at(1_000)));
        assert_eq!(sightings.life(&cut, at(1_100)), Life::Unknown);
    }

    #[test]
    fn a_new_life_ends_the_one_before() {
        let mut sightings = Sightings::default();
        sightings.claimed("w", "1", at(0));
        let cut = holder(Some(at(1_000)));
        assert_eq!(sightings.life(&cut, at(1_500)), Life::Unknown);
        sightings.report(report("2", 1), at(1_600));
        assert_eq!(sightings.life(&cut, at(1_700)), Life::Died);
    }

    #[test]
    fn who_comes_and_who_was_silent_may_have_missed_something() {
        let mut sightings = Sightings::default();
        assert!(sightings.report(report("1", 1), at(0)));
        assert!(!sightings.report(report("1", 2), at(2_000)));
        assert!(!sightings.report(report("1", 3), at(6_900)));
        assert!(sightings.report(report("1", 4), at(12_000)));
    }

    #[test]
    fn workers_that_fall_silent_are_not_listed() {
        let mut sightings = Sightings::default();
        sightings.report(report("1", 5), at(0));
        sightings.report(report("1", 4), at(1_000));
        assert_eq!(sightings.workers(at(5_999))[0].report.sequence, 5);
        let around = &sightings.around_each(at(100))["m"];
        assert_eq!((around.serve.len(), around.hold.len()), (1, 0));
        assert!(sightings.workers(at(6_000)).is_empty());
    }
}
