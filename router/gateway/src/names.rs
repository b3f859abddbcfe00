//! Names of headers, parsed once.

use http::HeaderName;

pub(crate) const X_DEPLOYMENT: &str = "x-thermocline-deployment";
pub(crate) const X_MODEL_NAME: &str = "x-gateway-model-name";
pub(crate) const X_TIMEOUT: &str = "x-thermocline-timeout";
pub(crate) const X_SCALE_UP_TIMEOUT: &str = "x-scale-up-timeout";
pub(crate) const PREFERENCE: &str = "prefer";

pub(crate) static REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
pub(crate) static DEPLOYMENT: HeaderName = HeaderName::from_static(X_DEPLOYMENT);
pub(crate) static MODEL_NAME: HeaderName = HeaderName::from_static(X_MODEL_NAME);
pub(crate) static TIER: HeaderName = HeaderName::from_static("x-thermocline-tier");
pub(crate) static START: HeaderName = HeaderName::from_static("x-thermocline-start");
pub(crate) static REASON: HeaderName = HeaderName::from_static("x-thermocline-reason");
pub(crate) static TIMEOUT: HeaderName = HeaderName::from_static(X_TIMEOUT);
pub(crate) static SCALE_UP_TIMEOUT: HeaderName = HeaderName::from_static(X_SCALE_UP_TIMEOUT);
pub(crate) static PREFER: HeaderName = HeaderName::from_static(PREFERENCE);
pub(crate) static SERVER_TIMING: HeaderName = HeaderName::from_static("server-timing");
/// What clients' libraries heed before they send a request again.
pub(crate) static SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");
pub(crate) static FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
