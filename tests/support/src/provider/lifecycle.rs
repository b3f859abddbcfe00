use thermocline_provider::{Deletion, ProviderInstance, ProviderState};

use super::FakeProvider;
use super::boot::{Boot, Booted};
use super::instance::Instance;
use super::state::Stop;
use crate::backend::{Latch, ReservedBackend};

impl FakeProvider {
    /// Starts the boot of a new instance, and says what it is by now.
    pub(super) fn boot(&self, id: &str) -> Option<ProviderInstance> {
        let boot = self.0.state.read().boot_of(id)?;
        let now = self.0.clock.now();
        match boot {
            boot if self.0.script.is_none() => {
                self.0
                    .state
                    .change(|state| state.boot_on_paper(id, boot, now));
            }
            Boot::AtOnce => self.serve(id),
            slow => self.boot_slowly(id, slow),
        }
        self.0.state.read().find(id).map(|it| it.said.clone())
    }

    fn boot_slowly(&self, id: &str, boot: Boot) {
        let port = match boot {
            Boot::ListensAfter(_) => self.announce(id),
            _ => None,
        };
        let Some((ended, released)) = self.0.state.change(|state| state.signals(id)) else {
            return;
        };
        // Read here, so that no time passes before the task first runs.
        let from = self.0.clock.now();
        let (provider, id) = (self.clone(), id.to_owned());
        tokio::spawn(async move {
            let boot = boot.finished(&provider.0.clock, from, &released);
            match (ended.run_until_cancelled(boot).await, port) {
                (None, _) => {}
                (Some(Booted::Exited(code)), _) => provider.exit(&id, code).await,
                (Some(Booted::Ready), Some(port)) => provider.open(&id, port),
                (Some(Booted::Ready), None) => provider.serve(&id),
            }
        });
    }

    /// Gives the instance an address behind which nothing listens yet.
    fn announce(&self, id: &str) -> Option<ReservedBackend> {
        let port = ReservedBackend::bind().ok()?;
        self.0.state.change(|state| {
            state.find_mut(id)?.become_ready(port.url());
            Some(port)
        })
    }

    fn serve(&self, id: &str) {
        match ReservedBackend::bind() {
            Ok(port) => self.open(id, port),
            Err(_) => self.fail(id, "no port is free"),
        }
    }

    fn open(&self, id: &str, port: ReservedBackend) {
        let request = self.0.state.read().find(id).map(|it| it.request.clone());
        let (Some(request), Some(script)) = (request, &self.0.script) else {
            return;
        };
        match port.open(script(&request), &self.0.clock) {
            // Dropped, and so dead, where the instance went meanwhile.
            Ok(backend) => self.0.state.change(|state| state.attach(id, backend)),
            Err(_) => self.fail(id, "its port cannot be listened on"),
        }
    }

    fn fail(&self, id: &str, why: &str) {
        self.0.state.change(|state| {
            if let Some(instance) = state.find_mut(id) {
                instance.leave(ProviderState::Failed, why.to_owned());
            }
        });
    }

    /// Ends the instance because it was asked for.
    pub(super) async fn stop(&self, id: &str) -> Deletion {
        match self.0.state.change(|state| state.stop(id)) {
            Stop::Unknown => return Deletion::Unknown,
            Stop::Underway => {}
            Stop::Gone(instance) => end(Some(*instance)).await,
            Stop::Slowly(latch) if self.0.script.is_none() => {
                self.0.state.change(|state| state.stop_on_paper(id, latch));
            }
            Stop::Slowly(latch) => self.stop_later(id, latch),
        }
        Deletion::Accepted
    }

    fn stop_later(&self, id: &str, latch: Latch) {
        let (provider, id) = (self.clone(), id.to_owned());
        tokio::spawn(async move {
            latch.opened().await;
            end(provider.0.state.change(|state| state.remove(&id))).await;
        });
    }

    /// The instance is gone without anyone having deleted it.
    pub async fn vanish(&self, id: &str) {
        end(self.0.state.change(|state| state.remove(id))).await;
    }

    /// The instance's process ends with `code`; it is listed as failed.
    pub async fn exit(&self, id: &str, code: i32) {
        self.fail(id, &format!("exit code {code}"));
        if let Some(backend) = self.backend(id) {
            backend.kill().await;
        }
    }
}

async fn end(gone: Option<Instance>) {
    if let Some(backend) = gone.and_then(|instance| instance.backend) {
        backend.kill().await;
    }
}
