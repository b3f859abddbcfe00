//! A page that people read, made of the description of the API: no script, and
//! nothing from elsewhere.

use std::fmt::Write as _;
use std::sync::LazyLock;

use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::OPENAPI;

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;\
padding:0 1rem;color:#1b2733;background:#fff}code,h3{font-family:ui-monospace,monospace}\
h3{margin:1.5rem 0 0;font-size:1rem}p{margin:.25rem 0}dl{margin:.25rem 0 .25rem 1rem}\
dt{font-family:ui-monospace,monospace;float:left;clear:left;width:13rem}dd{margin-left:13.5rem}\
@media(prefers-color-scheme:dark){body{color:#dbe4ec;background:#12181f}a{color:#7cc4ff}}";

/// The page and its policy; both never change within a process.
static PAGE: LazyLock<(String, String)> = LazyLock::new(|| {
    let description = serde_json::from_str(OPENAPI).unwrap_or_default();
    let hash = STANDARD.encode(Sha256::digest(STYLE));
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{hash}'; base-uri 'none'; form-action 'none'; \
         frame-ancestors 'none'"
    );
    (page(&description), policy)
});

pub(super) async fn read() -> Response {
    let (page, policy) = &*PAGE;
    let headers = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CONTENT_SECURITY_POLICY, policy),
        (REFERRER_POLICY, "no-referrer"),
    ];
    (headers, page.as_str()).into_response()
}

fn page(description: &Value) -> String {
    let title = text(&description["info"]["title"]);
    let about = text(&description["info"]["description"]);
    let mut html = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>{title}</title>\
         <style>{STYLE}</style></head><body><h1>{title}</h1><p>{about}</p>\
         <p>For programs: <a href=\"/openapi.json\">/openapi.json</a> (with the token).</p>\n"
    );
    for (tag, calls) in by_tag(description) {
        let _ = writeln!(html, "<h2>{}</h2>", escape(tag));
        calls
            .iter()
            .for_each(|call| put_call(&mut html, call, description));
    }
    html + "</body></html>\n"
}

/// One method on one path.
struct Call<'d> {
    path: &'d str,
    method: &'d str,
    shared: &'d Value,
    operation: &'d Value,
}

/// The calls under their first tags, in the order of the description.
fn by_tag(description: &Value) -> Vec<(&str, Vec<Call<'_>>)> {
    let mut tags: Vec<(&str, Vec<Call<'_>>)> = Vec::new();
    for (path, item) in description["paths"].as_object().into_iter().flatten() {
        for (method, operation) in item.as_object().into_iter().flatten() {
            if method == "parameters" {
                continue;
            }
            let tag = operation["tags"][0].as_str().unwrap_or("more");
            let call = Call {
                path,
                method,
                shared: &item["parameters"],
                operation,
            };
            match tags.iter_mut().find(|(known, _)| *known == tag) {
                Some((_, calls)) => calls.push(call),
                None => tags.push((tag, vec![call])),
            }
        }
    }
    tags
}

fn put_call(html: &mut String, call: &Call<'_>, description: &Value) {
    let (method, path) = (call.method.to_uppercase(), escape(call.path));
    let _ = writeln!(html, "<h3>{method} {path}</h3>");
    for key in ["summary", "description"] {
        if call.operation[key].is_string() {
            let _ = writeln!(html, "<p>{}</p>", text(&call.operation[key]));
        }
    }
    html.push_str("<dl>");
    let own = call.operation["parameters"].as_array();
    let all = call.shared.as_array().into_iter().chain(own).flatten();
    for parameter in all.map(|p| resolved(p, description)) {
        put_row(
            html,
            &text(&parameter["name"]),
            &text(&parameter["description"]),
        );
    }
    for (status, answer) in call.operation["responses"]
        .as_object()
        .into_iter()
        .flatten()
    {
        let answer = resolved(answer, description);
        put_row(html, &escape(status), &text(&answer["description"]));
    }
    html.push_str("</dl>\n");
}

fn put_row(html: &mut String, term: &str, meaning: &str) {
    let _ = write!(html, "<dt>{term}</dt><dd>{meaning}</dd>");
}

/// What a `$ref` leads to.
fn resolved<'d>(value: &'d Value, description: &'d Value) -> &'d Value {
    let reference = value["$ref"].as_str().and_then(|r| r.strip_prefix('#'));
    let target = reference.and_then(|pointer| description.pointer(pointer));
    target.unwrap_or(value)
}

fn text(value: &Value) -> String {
    escape(value.as_str().unwrap_or_default())
}

fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_of_the_description_is_on_the_page() {
        let (html, _) = &*PAGE;
        let description: Value = serde_json::from_str(OPENAPI).unwrap();
        for (path, item) in description["paths"].as_object().unwrap() {
            let methods = item.as_object().unwrap().keys();
            for method in methods.filter(|key| *key != "parameters") {
                let heading = format!("<h3>{} {path}</h3>", method.to_uppercase());
                assert!(html.contains(&heading), "{heading}");
            }
        }
        assert!(!html.contains("<script") && !html.contains("src="));
    }

    #[test]
    fn words_of_the_description_are_no_markup() {
        let html = page(&serde_json::json!({ "info": { "title": "<b>\"&" } }));
        assert!(html.contains("<h1>&lt;b&gt;&quot;&amp;</h1>"));
    }
}
