//! Which answer a request's path and query ask for.

use std::str::FromStr;
use std::time::Duration;

use hyper::Uri;

/// What to answer with.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Route {
    Events { count: u64, gap: Duration },
    Download { bytes: u64 },
    Work,
}

impl Route {
    /// Looks at the end of the path, so that a prefix that a proxy left on does no harm.
    pub(crate) fn of(uri: &Uri) -> Route {
        let query = uri.query().unwrap_or_default();
        let path = uri.path();
        if path.ends_with("/sse") {
            let gap = Duration::from_micros(number(query, "gap_us", 0));
            Route::Events {
                count: number(query, "n", crate::kind::EVENTS),
                gap,
            }
        } else if path.ends_with("/download") {
            Route::Download {
                bytes: number(query, "bytes", 0),
            }
        } else {
            Route::Work
        }
    }
}

fn number<T: FromStr>(query: &str, name: &str, default: T) -> T {
    let value = query
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .find(|(key, _)| *key == name);
    value
        .and_then(|(_, text)| text.parse().ok())
        .unwrap_or(default)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(uri: &str) -> Route {
        Route::of(&uri.parse().unwrap())
    }

    #[test]
    fn paths_and_queries() {
        let paced = Route::Events {
            count: 7,
            gap: Duration::from_millis(5),
        };
        assert_eq!(route("/d/bench/sse?n=7&gap_us=5000"), paced);
        assert_eq!(
            route("/sse"),
            Route::Events {
                count: 100,
                gap: Duration::ZERO
            }
        );
        assert_eq!(route("/download?bytes=9"), Route::Download { bytes: 9 });
        assert_eq!(route("/v1/anything"), Route::Work);
    }
}
