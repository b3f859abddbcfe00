//! Which paths of the server a model's clients may reach: the model's own.

use http::Uri;

/// The target at the server for a client's `target`; `None` for what is not
/// the model's: other models, the repository, the server's own state.
///
/// * `/v2/models/MODEL…` goes as it is, `/v2/models/DEPLOYMENT…` by the model's name.
/// * `/v2/health/live` and `/v2/health/ready` go as they are; `/v2/health` has nothing more.
/// * Any other path that is not below `/v2` goes below the model: `/infer`, `/generate`.
pub(super) fn at_server(target: &Uri, deployment: &str, model: &str) -> Option<Uri> {
    let segments: Vec<&str> = target.path().split('/').skip(1).collect();
    if segments.iter().any(|segment| climbs(segment)) {
        return None;
    }
    let path = match segments.as_slice() {
        ["v2", "models", name, rest @ ..] if [model, deployment].contains(name) => {
            below(model, rest)
        }
        ["v2", "health", "live" | "ready"] => target.path().to_owned(),
        ["v2", ..] => return None,
        rest => below(model, rest),
    };
    let query = target.query().map(|query| format!("?{query}"));
    format!("{path}{}", query.unwrap_or_default()).parse().ok()
}

fn below(model: &str, rest: &[&str]) -> String {
    let mut path = format!("/v2/models/{model}");
    for segment in rest.iter().filter(|segment| !segment.is_empty()) {
        path.push('/');
        path.push_str(segment);
    }
    path
}

/// Whether a server might read `segment` as a step, or as more than one segment.
fn climbs(segment: &str) -> bool {
    let plain = segment.to_ascii_lowercase().replace("%2e", ".");
    matches!(plain.as_str(), "." | "..") || ["%2f", "%5c", "\\"].iter().any(|s| plain.contains(s))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(target: &str) -> Option<String> {
        let target = at_server(&target.parse().unwrap(), "cats", "resnet");
        target.map(|uri| uri.to_string())
    }

    #[test]
    fn a_models_own_paths_are_reached_by_either_name() {
        for target in [
            "/v2/models/resnet/infer",
            "/v2/models/cats/infer",
            "/infer",
            "//infer",
        ] {
            assert_eq!(
                at(target).as_deref(),
                Some("/v2/models/resnet/infer"),
                "{target}"
            );
        }
        assert_eq!(
            at("/generate_stream?x=1").as_deref(),
            Some("/v2/models/resnet/generate_stream?x=1")
        );
        assert_eq!(at("/v2/health/ready").as_deref(), Some("/v2/health/ready"));
        assert_eq!(at("/").as_deref(), Some("/v2/models/resnet"));
    }

    #[test]
    fn nothing_else_of_the_server_is_reached() {
        for target in [
            "/v2/models/other/infer",
            "/v2/repository/models/other/unload",
            "/v2/repository/index",
            "/v2/systemsharedmemory/status",
            "/v2",
            "/../../repository/index",
            "/%2e%2E/other/infer",
            "/v2/models/resnet/..%2fother/infer",
            "/v2/health/../repository/index",
        ] {
            assert_eq!(at(target), None, "{target}");
        }
    }
}
