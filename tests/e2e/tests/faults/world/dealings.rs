//! What people and clients do with the control plane, and what they see of it.

use std::sync::Arc;
use std::time::Duration;

use http::{Method, Request};
use http_body_util::Full;
use serde_json::{Value, json};
use thermocline_policy::Tier;
use thermocline_store::InstanceRow;
use thermocline_support::system::TOKEN;
use thermocline_table::{BackendPermit, Deployment, Wish};

use super::World;

impl World {
    /// A call of the management API; `None` where the process ended in it.
    pub(crate) fn admin(
        &mut self,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> Option<(u16, Value)> {
        let text = body.map(|body| body.to_string()).unwrap_or_default();
        let request = Request::builder()
            .method(method)
            .uri(format!("/api/v1{path}"))
            .header("authorization", format!("Bearer {TOKEN}"))
            .header("content-type", "application/json")
            .body(Full::from(text))
            .unwrap();
        let answered = self.run(async {
            tokio::select! {
                biased;
                answer = (self.up().call)(request) => Some(answer),
                () = self.fuse.blows() => None,
            }
        });
        self.settle();
        answered
    }

    /// Creates the deployment `name` with a pod at `provider`.
    pub(crate) fn deploy(&mut self, name: &str, provider: &str, max: u32) {
        let tiers = json!({ "pod": {
            "provider": provider, "max_instances": max, "idle_timeout": "10m",
        } });
        let health = json!({ "start_timeout": "60s" });
        let spec = json!({ "name": name, "image": "i:1", "tiers": tiers, "health": health });
        if let Some((status, body)) = self.admin(Method::POST, "/deployments", Some(spec)) {
            assert!([201, 409].contains(&status), "{body}");
        }
    }

    /// Creates it where it is not there.
    pub(crate) fn deploy_again(&mut self, name: &str, max: u32) {
        if self.live(name).is_none() {
            self.deploy(name, "toy", max);
        }
    }

    pub(crate) fn wake(&mut self, name: &str) {
        self.admin(Method::POST, &format!("/deployments/{name}/wake"), None);
    }

    pub(crate) fn sleep(&mut self, name: &str) {
        self.admin(Method::POST, &format!("/deployments/{name}/sleep"), None);
    }

    /// Its status; null when there is no such deployment.
    pub(crate) fn status(&mut self, name: &str) -> Value {
        let read = self.admin(Method::GET, &format!("/deployments/{name}"), None);
        match read {
            Some((200, body)) => body["status"].clone(),
            _ => Value::Null,
        }
    }

    /// The rows of everything that is written down to exist.
    pub(crate) fn rows(&self) -> Vec<InstanceRow> {
        self.run(self.up().store.instances()).unwrap()
    }

    /// What was told, kind by kind.
    pub(crate) fn told(&self) -> Vec<String> {
        let events = self.run(self.up().store.events_after(0, 1_000)).unwrap();
        events.into_iter().map(|event| event.kind).collect()
    }

    fn live(&self, name: &str) -> Option<Arc<Deployment>> {
        self.up().table.load().by_name(name).cloned()
    }

    /// The instance that a request would be sent to, and where.
    pub(crate) fn backends(&self, name: &str) -> Vec<(String, String)> {
        let Some(live) = self.live(name) else {
            return Vec::new();
        };
        let capacity = live.capacity.load();
        let backends = capacity.pools[Tier::Pod].backends().iter();
        let told = |backend: &Arc<thermocline_table::Backend>| {
            let at = format!("http://{}", backend.target.authority());
            (backend.instance.clone().unwrap_or_default(), at)
        };
        backends.map(told).collect()
    }

    pub(crate) fn serves(&self, name: &str) -> bool {
        !self.backends(name).is_empty()
    }

    /// A request that waits for the pod at most `patience`, and is served for
    /// `takes`.
    pub(crate) fn request(&self, name: &str, patience: Duration, takes: Duration) {
        let Some(live) = self.live(name) else { return };
        let (wake, clock) = (self.up().control.handle(), self.time.clock());
        let _entered = self.up().runtime.enter();
        tokio::spawn(async move {
            live.record(clock.now());
            let deadline = clock.now() + patience;
            let woken = clock
                .timeout_at(deadline, wake.wake(&live, Tier::Pod, &Wish::standing()))
                .await;
            if woken.is_ok_and(|woken| woken.is_ok()) {
                let backend = live.capacity.load().pools[Tier::Pod]
                    .backends()
                    .first()
                    .cloned();
                let place = backend.and_then(|backend| BackendPermit::take(&live, &backend));
                clock.sleep(takes).await;
                drop(place);
            }
        });
    }
}
