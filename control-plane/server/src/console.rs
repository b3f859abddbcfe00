//! The console: static files, open to everyone; what they show needs a session.

use axum::Router;
use axum::extract::Path;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;

/// Nothing but our own files and our own API; no inline script, no inline style.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    img-src 'self' data:; font-src 'self'; connect-src 'self'; manifest-src 'self'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// What a build without the console shows.
#[cfg_attr(feature = "console", allow(dead_code))] // shown where there is no `web/dist`
const NOT_BUILT: &str = "<!doctype html>\n<html lang=\"en\">\n<title>Thermocline</title>\n\
    <h1>The console is not part of this build</h1>\n\
    <p>Build it with <code>make web</code>, then build <code>thermocline</code> again.</p>\n\
    <p>Until then: <code>thermocline ps</code>, and the API at \
    <a href=\"/openapi.json\">/openapi.json</a>.</p>\n</html>\n";

/// The files of the console as `make web` left them.
#[cfg(feature = "console")]
#[derive(rust_embed::Embed)]
#[folder = "../../web/dist"]
#[allow_missing = true]
struct Files;

/// The console's routes.
pub(crate) fn router<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new()
        .route("/", get(|| async { Redirect::temporary("/console/") }))
        .route(
            "/console",
            get(|| async { Redirect::permanent("/console/") }),
        )
        .route(
            "/console/",
            get(|headers: HeaderMap| async move { page("index.html", &headers) }),
        )
        .route("/console/{*file}", get(asked))
}

async fn asked(Path(file): Path<String>, headers: HeaderMap) -> Response {
    page(&file, &headers)
}

fn page(path: &str, asked: &HeaderMap) -> Response {
    let packed = accepts_gzip(asked)
        .then(|| file(&format!("{path}.gz")))
        .flatten();
    let mut response = match (packed, file(path), path) {
        (Some(bytes), ..) => ([(header::CONTENT_ENCODING, "gzip")], bytes).into_response(),
        (None, Some(bytes), _) => bytes.into_response(),
        (None, None, "index.html") => NOT_BUILT.into_response(),
        (None, None, _) => {
            return (StatusCode::NOT_FOUND, "there is nothing here\n").into_response();
        }
    };
    let headers = response.headers_mut();
    let kept = if path.starts_with("assets/") {
        "public, max-age=31536000, immutable"
    } else {
        "no-cache"
    };
    let set = [
        (header::CONTENT_TYPE, media_type(path)),
        (header::CACHE_CONTROL, kept),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::VARY, "accept-encoding"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
    ];
    for (name, value) in set {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

fn accepts_gzip(headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT_ENCODING);
    let text = accepted.and_then(|value| value.to_str().ok()).unwrap_or("");
    text.split(',').any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        name.trim() == "gzip" && !weight.trim().starts_with("q=0")
    })
}

#[cfg(feature = "console")]
fn file(path: &str) -> Option<Vec<u8>> {
    Files::get(path).map(|file| file.data.into_owned())
}

#[cfg(not(feature = "console"))]
fn file(_: &str) -> Option<Vec<u8>> {
    None
}

fn media_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, end)| end) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("woff2") => "font/woff2",
        Some("json") => "application/json",
        _ => "text/plain; charset=utf-8",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header<'a>(response: &'a Response, name: &str) -> &'a str {
        response.headers()[name].to_str().unwrap()
    }

    #[test]
    fn the_page_is_there_with_and_without_a_built_console() {
        let response = page("index.html", &HeaderMap::new());
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(
            header(&response, "content-type"),
            "text/html; charset=utf-8"
        );
        assert_eq!(header(&response, "cache-control"), "no-cache");
    }

    #[test]
    fn no_page_may_run_or_load_anything_from_elsewhere() {
        let response = page("index.html", &HeaderMap::new());
        let policy = header(&response, "content-security-policy");
        assert!(policy.starts_with("default-src 'none'"));
        assert!(
            !policy.contains("unsafe") && !policy.contains('*'),
            "{policy}"
        );
    }

    #[test]
    fn paths_that_lead_out_of_the_folder_lead_nowhere() {
        for path in [
            "../package.json",
            "assets/../../package.json",
            "/etc/passwd",
            "assets",
        ] {
            assert_eq!(
                page(path, &HeaderMap::new()).status(),
                StatusCode::NOT_FOUND,
                "{path}"
            );
        }
    }
}
