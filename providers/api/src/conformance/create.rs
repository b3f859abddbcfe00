use futures_util::FutureExt;
use futures_util::future::join_all;

use super::report::{Checked, Clause, Miss};
use super::session::{Session, fresh_key};
use crate::{InstanceRequest, ProviderErrorKind, ProviderInstance};

pub(super) const INVALID: Clause = Clause {
    name: "invalid-request",
    description: "A request without image or port is refused as `invalid`, and nothing is made.",
};
pub(super) const IDEMPOTENT: Clause = Clause {
    name: "create-idempotent",
    description: "Creating a key again answers with the same instance.",
};
pub(super) const RACE: Clause = Clause {
    name: "create-concurrent",
    description: "Creates that race for one key make one instance.",
};
pub(super) const LOST_REPLY: Clause = Clause {
    name: "create-lost-reply",
    description: "An instance whose create was never answered is found in the list by its key.",
};

impl Session<'_> {
    pub(super) async fn invalid_request(&self) -> Checked {
        let key = fresh_key();
        let request = InstanceRequest {
            image: String::new(),
            port: 0,
            ..self.request()
        };
        match self.provider.create(&key, &request).await {
            Ok(_) => return Err(Miss::Failed("it was accepted".to_owned())),
            Err(error) if error.kind == ProviderErrorKind::Invalid => {}
            Err(error) => return Err(Miss::Failed(format!("it was refused as {error}"))),
        }
        match self.with_key(&key).await?.len() {
            0 => Ok(()),
            _ => Err(Miss::Failed("the refused instance is listed".to_owned())),
        }
    }

    pub(super) async fn create_idempotent(&mut self) -> Checked {
        let key = fresh_key();
        let first = self.create(&key).await?;
        self.subject = Some(first.clone());
        let second = self.create(&key).await?;
        if first.id == second.id {
            return Ok(());
        }
        Err(Miss::Failed("the second create made another".to_owned()))
    }

    pub(super) async fn create_concurrent(&self) -> Checked {
        let key = fresh_key();
        let racers = (0..self.setup.racers).map(|_| self.create(&key).boxed());
        let (made, errors) = split(join_all(racers).await);
        let Some(first) = made.first() else {
            return Err(Miss::Failed(errors.into_iter().next().unwrap_or_default()));
        };
        let same = made.iter().all(|instance| instance.id == first.id);
        let listed = self.await_key(&key).await?;
        self.discard(&made).await;
        match (same, listed) {
            (true, 1) => Ok(()),
            (false, _) => Err(Miss::Failed("the answers name several ids".to_owned())),
            (true, n) => Err(Miss::Failed(format!("{n} instances are listed"))),
        }
    }

    pub(super) async fn lost_reply(&self) -> Checked {
        let key = fresh_key();
        let forgotten = self.create(&key).await?;
        self.await_key(&key).await?;
        self.discard(&[forgotten]).await;
        Ok(())
    }

    /// How many instances are listed under `key`, once there is one.
    async fn await_key(&self, key: &str) -> Result<usize, String> {
        let within = self.setup.visible_within;
        self.eventually(within, || self.count_key(key).boxed())
            .await
    }

    async fn count_key(&self, key: &str) -> Result<usize, String> {
        match self.with_key(key).await?.len() {
            0 => Err("no instance is listed under the key".to_owned()),
            n => Ok(n),
        }
    }

    async fn with_key(&self, key: &str) -> Result<Vec<ProviderInstance>, String> {
        let mut listed = self.list().await?;
        listed.retain(|instance| instance.key == key);
        Ok(listed)
    }

    /// Frees what a clause no longer needs; the cleanup checks that it went.
    async fn discard(&self, instances: &[ProviderInstance]) {
        for instance in instances {
            let _checked_by_cleanup = self.provider.delete(&instance.id).await;
        }
    }
}

fn split<T>(results: Vec<Result<T, String>>) -> (Vec<T>, Vec<String>) {
    let (mut made, mut errors) = (Vec::new(), Vec::new());
    for result in results {
        match result {
            Ok(instance) => made.push(instance),
            Err(error) => errors.push(error),
        }
    }
    (made, errors)
}
