//! The product as the demo runs it, and what is left of it afterwards: nothing.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use serde_json::{Value, json};
use tempfile::TempDir;
use thermocline_clock::Clock;
use thermocline_docker::{DockerProvider, Limits};
use thermocline_server::Redaction;

use super::cast::{CLOUD, LOCAL_IMAGE, Pace, Role, cast};
use super::own_backend::OwnBackend;
use crate::args::Demo;
use crate::client::Client;
use crate::failure::Failure;
use crate::output::note;
use crate::serve::{Configuration, Planes, sim_state_file, start, state_folder};

/// How long deployments may take to be deleted.
const DELETION_LIMIT: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(100);
/// How long requests and the daemon may take to end.
const LIMIT: Duration = Duration::from_secs(3);

/// Both planes over a temporary store.
pub(crate) struct Stage {
    /// Where the request plane listens.
    pub(crate) request: SocketAddr,
    /// Where the admin plane listens.
    pub(crate) admin: SocketAddr,
    /// The admin token.
    pub(crate) token: String,
    /// The admin plane's client.
    pub(crate) client: Client,
    planes: Planes,
    own: OwnBackend,
    pace: Pace,
    docker: String,
    folder: Arc<TempDir>,
}

impl Stage {
    /// Starts the planes and the simulated cloud.
    ///
    /// # Errors
    /// What keeps them from starting; nothing is left then.
    pub(crate) async fn set(args: &Demo) -> Result<Self, Failure> {
        let folder = TempDir::with_prefix("thermocline-demo-")
            .map_err(|error| Failure::fault(format!("no temporary folder: {error}")))?;
        let folder = Arc::new(folder);
        match Stage::begin(args, folder.clone()).await {
            Ok(stage) => Ok(stage),
            Err(failure) => {
                stop_cloud(&folder).await?;
                Err(failure)
            }
        }
    }

    async fn begin(args: &Demo, folder: Arc<TempDir>) -> Result<Self, Failure> {
        let own = OwnBackend::start().await?;
        let config = config(args, &folder)?;
        let docker = config.server.docker.clone();
        let mut planes = start(config, Some(state_folder), Redaction::default()).await?;
        let given = std::env::var("THERMOCLINE_ADMIN_TOKEN");
        let token = planes.fresh_token.take().or(given.ok()).unwrap_or_default();
        Ok(Stage {
            request: planes.request,
            admin: planes.admin,
            client: Client::new(address(planes.admin)?, Some(&token))?,
            token,
            planes,
            own,
            pace: Pace(args.speed),
            docker,
            folder,
        })
    }

    /// Creates the deployments.
    ///
    /// # Errors
    /// When one is refused.
    pub(crate) async fn open(&self) -> Result<Vec<Role>, Failure> {
        let local = self.has_local_image().await;
        let cast = cast(self.pace, self.own.address, local);
        for role in &cast {
            let path = ["deployments", role.name];
            self.client.put(&path, &role.spec).await?;
        }
        Ok(cast)
    }

    async fn has_local_image(&self) -> bool {
        let provider = DockerProvider::connect(&self.docker, Limits::default(), Clock::system());
        let found = match provider {
            Ok(provider) => provider.has_image(LOCAL_IMAGE).await,
            Err(error) => Err(error),
        };
        match found {
            Ok(true) => return true,
            Ok(false) => note(&format!("no local tier: there is no image {LOCAL_IMAGE}")),
            Err(error) => note(&format!("no local tier: {error}")),
        }
        false
    }

    /// Deletes everything that was made; `hurry` ends the wait for it.
    ///
    /// # Errors
    /// A fault when something may be left.
    pub(crate) async fn strike(self, hurry: impl Future<Output = ()>) -> Result<(), Failure> {
        let clock = Clock::system();
        let deadline = clock.now() + DELETION_LIMIT;
        let deleted = tokio::select! {
            deleted = clock.timeout_at(deadline, self.delete_all(&clock)) => deleted.is_ok_and(|d| d.is_ok()),
            () = hurry => false,
        };
        let lifecycle = self.planes.lifecycle.clone();
        lifecycle.drain.cancel();
        let ended = self.planes.ended();
        tokio::pin!(ended);
        if clock
            .timeout_at(clock.now() + LIMIT, &mut ended)
            .await
            .is_err()
        {
            lifecycle.abort.cancel();
            ended.await;
        }
        stop_cloud(&self.folder).await?;
        match deleted {
            true => Ok(()),
            false => Err(Failure::fault(
                "not everything was deleted in time; containers named tc-* may be left",
            )),
        }
    }

    async fn delete_all(&self, clock: &Clock) -> Result<(), Failure> {
        for name in self.names().await? {
            self.client.delete(&["deployments", &name]).await?;
        }
        while !self.names().await?.is_empty() {
            clock.sleep(LOOK).await;
        }
        Ok(())
    }

    async fn names(&self) -> Result<Vec<String>, Failure> {
        let list = self.client.get_all(&["deployments"]).await?;
        let name = |item| crate::document::Document::from(item).field("name").view();
        let names = list.items().into_iter().map(name);
        names
            .collect::<Result<_, _>>()
            .map_err(|_| Failure::fault("the list of deployments cannot be read"))
    }
}

async fn stop_cloud(folder: &TempDir) -> Result<(), Failure> {
    let file = sim_state_file(folder.path(), CLOUD);
    let stopped = thermocline_sim::stop(&file).await;
    stopped
        .map(drop)
        .map_err(|error| Failure::fault(format!("the simulated cloud does not end: {error}")))
}

fn address(admin: SocketAddr) -> Result<Url, Failure> {
    Url::parse(&format!("http://{admin}")).map_err(|error| Failure::fault(error.to_string()))
}

fn config(args: &Demo, folder: &TempDir) -> Result<Configuration, Failure> {
    let store = folder.path().join("demo.db");
    let document = json!({
        "request": { "listen": args.request_listen.to_string() },
        "admin": { "listen": args.admin_listen.to_string() },
        "store": { "url": format!("sqlite://{}", store.display()) },
        "local": { "docker": docker() },
        "providers": { CLOUD: cloud(Pace(args.speed)) },
    });
    Configuration::read(&document).map_err(|errors| Failure::fault(errors.to_string()))
}

fn cloud(pace: Pace) -> Value {
    json!({
        "kind": "sim",
        "pod_boot": pace.seconds(4.0),
        "cold_start": pace.seconds(1.5),
        "service_time": pace.seconds(0.12),
        "capacity": 8,
    })
}

/// Docker's own variable, where it names a daemon that we can reach.
fn docker() -> String {
    let named = std::env::var("DOCKER_HOST").ok();
    named
        .filter(|url| url.starts_with("unix:///") || url.starts_with("tcp://"))
        .unwrap_or_else(|| "unix:///var/run/docker.sock".to_owned())
}
