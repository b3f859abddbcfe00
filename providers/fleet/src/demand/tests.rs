use thermocline_wire::fleet::Terms;

use super::*;

const QUEUES: usize = 5_000;

fn model(name: &str) -> Arc<Model> {
    Arc::new(Model {
        deployment: name.to_owned(),
        generation: "0123456789abcdef".to_owned(),
        image: "image".to_owned(),
        command: Vec::new(),
        args: Vec::new(),
        env: BTreeMap::new(),
        port: 8000,
        ready_path: String::new(),
        ready_status: Vec::new(),
        start_timeout_ms: 600_000,
        gpus: 1,
        terms: Terms {
            memory_mib: 11_264,
            gpus: 1,
            max_workers: 3,
            idle_timeout_s: 30,
            ..Terms::default()
        },
    })
}

fn standing(waiting: u32) -> Standing {
    Standing {
        waiting,
        oldest: Duration::from_millis(1_234),
        running: 0,
    }
}

fn next(
    digest: &mut Digest,
    models: &[Arc<Model>],
    waiting: &[(&str, u32)],
    whole: bool,
) -> Option<Demand> {
    let standings = waiting
        .iter()
        .map(|(name, count)| ((*name).into(), standing(*count)));
    let now = Now {
        models: models.to_vec(),
        standings: standings.collect(),
        gone: BTreeSet::new(),
        draining: Vec::new(),
    };
    digest.next("http://gw:8082", now, whole)
}

#[test]
fn only_what_changed_is_told_and_whole_is_all() {
    let models: Vec<_> = ["a", "b"].map(model).into();
    let mut digest = Digest::default();
    let names = |demand: Option<Demand>| {
        let queues = demand.unwrap().queues;
        queues
            .into_iter()
            .map(|queue| queue.deployment)
            .collect::<Vec<_>>()
    };
    assert_eq!(names(next(&mut digest, &models, &[], false)), ["a", "b"]);
    assert_eq!(next(&mut digest, &models, &[], false), None);
    assert_eq!(names(next(&mut digest, &models, &[("b", 1)], false)), ["b"]);
    assert_eq!(
        next(&mut digest, &models, &[("b", 1)], false),
        None,
        "its age alone is no news"
    );
    assert_eq!(
        names(next(&mut digest, &models, &[("b", 1)], true)),
        ["a", "b"]
    );
    let now = |draining: &[&str], gone: &[&str]| Now {
        models: models[..1].to_vec(),
        standings: HashMap::new(),
        gone: gone.iter().map(|name| (*name).to_owned()).collect(),
        draining: draining.iter().map(|name| (*name).to_owned()).collect(),
    };
    let left = digest.next("gw", now(&[], &["b"]), false).unwrap();
    assert_eq!((left.queues.len(), left.queues[0].terms.clone()), (1, None));
    assert_eq!(left.sequence, 4, "silence takes no number");
    let drains = digest.next("gw", now(&["w"], &[]), false).unwrap();
    assert_eq!((drains.queues.len(), drains.draining.len()), (0, 1));
    assert_eq!(digest.next("gw", now(&["w"], &[]), false), None);
    let again = digest.next("gw", now(&[], &[]), false).unwrap();
    assert!(again.draining.is_empty());
}

/// The figures: bytes of a whole announcement, and of one in which a hundredth changed.
#[test]
fn five_thousand_queues_fit_into_one_announcement() {
    let names: Vec<String> = (0..QUEUES).map(|n| format!("model-{n}")).collect();
    let models: Vec<_> = names.iter().map(|name| model(name)).collect();
    let mut digest = Digest::default();
    let size = |demand: Option<Demand>| serde_json::to_vec(&demand.unwrap()).unwrap().len();
    let whole = size(next(&mut digest, &models, &[], true));
    let changed: Vec<_> = names
        .iter()
        .step_by(100)
        .map(|name| (name.as_str(), 1))
        .collect();
    let some = size(next(&mut digest, &models, &changed, false));
    println!("{QUEUES} queues: {whole} bytes whole, {some} bytes when 1 % changed");
    assert!(whole < 1 << 20, "{whole}");
    assert!(some < 12_000, "{some}");
}
