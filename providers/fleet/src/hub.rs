//! What both servers, the provider and the announcements share.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use thermocline_broker::Broker;
use thermocline_clock::Clock;
use thermocline_edge::connection_limit;
use tokio::sync::{Notify, watch};

use crate::access::{Access, Account, secret};
use crate::deployments::Deployments;
use crate::lot::Lot;
use crate::room::{Lounge, places};
use crate::seats::Seats;
use crate::settings::Settings;
use crate::sightings::Sightings;

/// The account of the worker in this process.
const OWN: &str = "serve";

pub(crate) struct Hub {
    pub(crate) clock: Clock,
    pub(crate) broker: Arc<dyn Broker>,
    pub(crate) settings: Settings,
    pub(crate) access: Access,
    pub(crate) lounge: Arc<Lounge>,
    /// What requests of the gateway must carry.
    pub(crate) gateway_token: String,
    /// What the gateway knows answers of ours by.
    pub(crate) voucher: String,
    /// What the worker in this process may use.
    pub(crate) own_token: String,
    /// How workers reach this gateway, once they can.
    pub(crate) reply_to: OnceLock<String>,
    /// Something is to be announced.
    pub(crate) news: Notify,
    /// A worker is there that may have missed what was told.
    pub(crate) newcomers: Notify,
    /// There is a dead letter that no worker has written.
    pub(crate) unwritten: Notify,
    /// Changes when a deployment comes or goes.
    pub(crate) deployed: watch::Sender<u64>,
    lot: Mutex<Lot>,
    deployments: Mutex<Deployments>,
    sightings: Mutex<Sightings>,
    seats: Mutex<Seats>,
    draining: Mutex<Vec<String>>,
}

impl Hub {
    pub(crate) fn new(settings: Settings, broker: Arc<dyn Broker>, clock: Clock) -> Self {
        let own_token = secret();
        let mut accounts = settings.accounts.clone();
        accounts.push(Account::new(OWN, &own_token, vec!["*".to_owned()]));
        Hub {
            access: Access::new(accounts),
            lounge: Lounge::new(
                places(settings.max_parked, connection_limit()),
                settings.max_parked_bytes,
            ),
            lot: Mutex::new(Lot::new(settings.keep_dead)),
            clock,
            broker,
            settings,
            gateway_token: secret(),
            voucher: secret(),
            own_token,
            reply_to: OnceLock::new(),
            news: Notify::new(),
            newcomers: Notify::new(),
            unwritten: Notify::new(),
            deployed: watch::Sender::new(0),
            deployments: Mutex::default(),
            sightings: Mutex::default(),
            seats: Mutex::default(),
            draining: Mutex::default(),
        }
    }

    pub(crate) fn lot(&self) -> MutexGuard<'_, Lot> {
        self.lot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn deployments(&self) -> MutexGuard<'_, Deployments> {
        self.deployments
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn sightings(&self) -> MutexGuard<'_, Sightings> {
        self.sightings
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Who may hold what has a cap.
    pub(crate) fn seats(&self) -> MutexGuard<'_, Seats> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Workers that are to take no more jobs.
    pub(crate) fn draining(&self) -> MutexGuard<'_, Vec<String>> {
        self.draining.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A deployment came or went.
    pub(crate) fn redeployed(&self) {
        self.deployed.send_modify(|version| *version += 1);
        self.news.notify_one();
    }
}
