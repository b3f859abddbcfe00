//! The best that knows how popular each model is: it fills all memory as if it
//! were one piece, once, before anybody asks, and never loads again.

use thermocline_policy::Moment;
use thermocline_policy::fleet::Mib;

use crate::catalog::Catalog;
use crate::traffic::Request;

/// The part of `requests` after `from` that finds its model among those which
/// serve the most requests per MiB.
pub(crate) fn hit_rate(catalog: &Catalog, memory: Mib, requests: &[Request], from: Moment) -> f64 {
    let mut order: Vec<usize> = (0..catalog.0.len()).collect();
    let density = |model: &usize| {
        let model = &catalog.0[*model];
        model.popularity / model.terms.memory.0 as f64
    };
    order.sort_by(|a, b| density(b).total_cmp(&density(a)));
    let (mut free, mut held) = (memory, vec![false; catalog.0.len()]);
    for model in order {
        let size = catalog.0[model].terms.memory;
        if size <= free {
            free = free.less(size);
            held[model] = true;
        }
    }
    let counted = requests.iter().filter(|request| request.at >= from);
    let hits = counted
        .clone()
        .filter(|request| held[request.model])
        .count();
    hits as f64 / counted.count() as f64
}
