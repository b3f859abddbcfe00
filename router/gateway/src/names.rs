//! Names of headers, parsed once.

use http::HeaderName;

pub(crate) static REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
pub(crate) static DEPLOYMENT: HeaderName = HeaderName::from_static("x-thermocline-deployment");
pub(crate) static MODEL_NAME: HeaderName = HeaderName::from_static("x-gateway-model-name");
pub(crate) static TIER: HeaderName = HeaderName::from_static("x-thermocline-tier");
pub(crate) static START: HeaderName = HeaderName::from_static("x-thermocline-start");
pub(crate) static REASON: HeaderName = HeaderName::from_static("x-thermocline-reason");
pub(crate) static TIMEOUT: HeaderName = HeaderName::from_static("x-thermocline-timeout");
pub(crate) static SCALE_UP_TIMEOUT: HeaderName = HeaderName::from_static("x-scale-up-timeout");
pub(crate) static PREFER: HeaderName = HeaderName::from_static("prefer");
pub(crate) static SERVER_TIMING: HeaderName = HeaderName::from_static("server-timing");
pub(crate) static FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
pub(crate) static KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
pub(crate) static PROXY_CONNECTION: HeaderName = HeaderName::from_static("proxy-connection");
