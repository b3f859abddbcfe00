//! What the server says when it does not do what it was asked.

use reqwest::StatusCode;
use serde::Deserialize;

use crate::failure::Failure;

/// A problem+json answer, with its status.
#[derive(Debug)]
pub(crate) struct Problem {
    status: StatusCode,
    body: Option<Body>,
}

#[derive(Debug, Deserialize)]
struct Body {
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    detail: Option<String>,
    #[serde(default)]
    request_id: Option<String>,
    #[serde(default)]
    errors: Vec<FieldProblem>,
}

/// One field that the server does not accept.
#[derive(Debug, Deserialize)]
pub(crate) struct FieldProblem {
    /// The field's path.
    pub(crate) field: String,
    /// What is wrong and what is allowed.
    pub(crate) message: String,
}

impl Problem {
    /// Reads the answer; a body that is no problem+json (a proxy's page, say) is never shown.
    pub(crate) fn new(status: StatusCode, content_type: &str, body: &[u8]) -> Self {
        let json = content_type.contains("json");
        let body = json.then(|| serde_json::from_slice(body).ok()).flatten();
        Problem { status, body }
    }

    /// The answer's status.
    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }

    /// Whether it is worth asking again later.
    pub(crate) fn is_passing(&self) -> bool {
        self.status.is_server_error() || self.status == StatusCode::TOO_MANY_REQUESTS
    }

    /// The fields that are wrong.
    pub(crate) fn fields(&self) -> &[FieldProblem] {
        self.body.as_ref().map_or(&[], |body| &body.errors)
    }

    fn sentence(&self) -> String {
        let Some(body) = &self.body else {
            return format!("the server answered {}", self.status);
        };
        let text = body.detail.as_ref().or(body.title.as_ref());
        let text = text.map_or_else(
            || format!("the server answered {}", self.status),
            Clone::clone,
        );
        match &body.request_id {
            Some(id) if self.status.is_server_error() => format!("{text} (request {id})"),
            _ => text,
        }
    }

    fn lines(&self) -> Vec<String> {
        let fields = self.fields().iter();
        let fields = fields.map(|wrong| format!("{}: {}", wrong.field, wrong.message));
        std::iter::once(self.sentence()).chain(fields).collect()
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        match problem.status {
            StatusCode::UNAUTHORIZED => Failure::refused(vec![
                "the server does not accept this token; set --token or THERMOCLINE_TOKEN".into(),
            ]),
            StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY => {
                Failure::usage(problem.lines())
            }
            StatusCode::FORBIDDEN | StatusCode::CONFLICT => Failure::refused(problem.lines()),
            StatusCode::NOT_FOUND if problem.body.is_some() => {
                Failure::not_found(problem.sentence())
            }
            StatusCode::GATEWAY_TIMEOUT | StatusCode::REQUEST_TIMEOUT => {
                Failure::timeout(problem.sentence())
            }
            _ => Failure::fault(problem.sentence()),
        }
    }
}
