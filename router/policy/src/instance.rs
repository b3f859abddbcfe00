use thiserror::Error;

/// Where one instance stands; each variant holds only what is valid there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InstanceState {
    /// Written down; the provider may or may not have it yet.
    Intended,
    /// The provider has it under this id; it does not serve yet.
    Starting {
        /// The provider's own id.
        provider_id: String,
    },
    /// It serves.
    Ready {
        /// The provider's own id.
        provider_id: String,
    },
    /// It finishes the work in hand and takes no more.
    Draining {
        /// The provider's own id.
        provider_id: String,
    },
    /// It is to be deleted, and stays so until its absence is confirmed.
    Stopping {
        /// The provider's own id; `None` when a create was never answered.
        provider_id: Option<String>,
    },
    /// The provider confirmed that it does not exist.
    Gone,
}

/// What can happen to an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InstanceEvent {
    /// The provider answered with its id.
    Created {
        /// The provider's own id.
        provider_id: String,
    },
    /// It passed its readiness checks.
    BecameReady,
    /// No new work for it.
    Drain,
    /// Work came back before the drain had ended.
    Revive,
    /// It is to be deleted.
    Stop,
    /// The provider confirmed its absence.
    AbsenceConfirmed,
}

/// An event that cannot happen in that state.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("an instance that is {state} cannot take {event}")]
pub struct StateError {
    state: &'static str,
    event: &'static str,
}

impl InstanceState {
    /// The state after `event`. Events that arrive late (a `BecameReady` for an
    /// instance that is being stopped) change nothing.
    ///
    /// # Errors
    /// [`StateError`] where the event contradicts the state.
    pub fn after(self, event: InstanceEvent) -> Result<InstanceState, StateError> {
        use InstanceEvent as E;
        use InstanceState as S;
        let refused = StateError {
            state: self.as_str(),
            event: event.as_str(),
        };
        Ok(match (self, event) {
            (S::Intended, E::Created { provider_id }) => S::Starting { provider_id },
            (S::Starting { provider_id }, E::BecameReady)
            | (S::Draining { provider_id }, E::Revive) => S::Ready { provider_id },
            (S::Ready { provider_id }, E::Drain) => S::Draining { provider_id },
            (S::Intended, E::Stop | E::Drain) => S::Stopping { provider_id: None },
            (S::Starting { provider_id }, E::Stop | E::Drain)
            | (S::Ready { provider_id }, E::Stop)
            | (S::Draining { provider_id }, E::Stop)
            | (S::Stopping { provider_id: None }, E::Created { provider_id }) => S::Stopping {
                provider_id: Some(provider_id),
            },
            (
                S::Intended
                | S::Starting { .. }
                | S::Ready { .. }
                | S::Draining { .. }
                | S::Stopping { .. }
                | S::Gone,
                E::AbsenceConfirmed,
            ) => S::Gone,
            (
                state @ (S::Starting { .. } | S::Ready { .. } | S::Draining { .. }),
                E::Created { .. },
            )
            | (
                state @ S::Stopping {
                    provider_id: Some(_),
                },
                E::Created { .. },
            )
            | (state @ (S::Ready { .. } | S::Draining { .. }), E::BecameReady)
            | (state @ S::Draining { .. }, E::Drain)
            | (state @ (S::Starting { .. } | S::Ready { .. }), E::Revive)
            | (state @ S::Stopping { .. }, E::BecameReady | E::Drain | E::Revive | E::Stop)
            | (state @ S::Gone, E::BecameReady | E::Drain | E::Revive | E::Stop) => state,
            (S::Intended, E::BecameReady | E::Revive) | (S::Gone, E::Created { .. }) => {
                return Err(refused);
            }
        })
    }

    /// The word for it in the store, in REST and in metrics.
    pub const fn as_str(&self) -> &'static str {
        match self {
            InstanceState::Intended => "intended",
            InstanceState::Starting { .. } => "starting",
            InstanceState::Ready { .. } => "ready",
            InstanceState::Draining { .. } => "draining",
            InstanceState::Stopping { .. } => "stopping",
            InstanceState::Gone => "gone",
        }
    }

    /// The inverse of [`InstanceState::as_str`] and [`InstanceState::provider_id`];
    /// `None` where the two do not go together.
    pub fn from_parts(word: &str, provider_id: Option<String>) -> Option<InstanceState> {
        Some(match (word, provider_id) {
            ("intended", None) => InstanceState::Intended,
            ("starting", Some(provider_id)) => InstanceState::Starting { provider_id },
            ("ready", Some(provider_id)) => InstanceState::Ready { provider_id },
            ("draining", Some(provider_id)) => InstanceState::Draining { provider_id },
            ("stopping", provider_id) => InstanceState::Stopping { provider_id },
            ("gone", _) => InstanceState::Gone,
            _ => return None,
        })
    }

    /// The provider's own id, where one is known.
    pub fn provider_id(&self) -> Option<&str> {
        match self {
            InstanceState::Starting { provider_id }
            | InstanceState::Ready { provider_id }
            | InstanceState::Draining { provider_id } => Some(provider_id),
            InstanceState::Stopping { provider_id } => provider_id.as_deref(),
            InstanceState::Intended | InstanceState::Gone => None,
        }
    }

    /// Whether it is on its way up: intended or starting.
    pub const fn is_starting(&self) -> bool {
        matches!(
            self,
            InstanceState::Intended | InstanceState::Starting { .. }
        )
    }

    /// Whether it takes new work.
    pub const fn is_ready(&self) -> bool {
        matches!(self, InstanceState::Ready { .. })
    }
}

impl InstanceEvent {
    const fn as_str(&self) -> &'static str {
        match self {
            InstanceEvent::Created { .. } => "created",
            InstanceEvent::BecameReady => "became ready",
            InstanceEvent::Drain => "drain",
            InstanceEvent::Revive => "revive",
            InstanceEvent::Stop => "stop",
            InstanceEvent::AbsenceConfirmed => "absence confirmed",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn created() -> InstanceEvent {
        InstanceEvent::Created {
            provider_id: "p1".into(),
        }
    }

    fn walk(events: &[InstanceEvent]) -> InstanceState {
        events.iter().fold(InstanceState::Intended, |state, event| {
            state.after(event.clone()).unwrap()
        })
    }

    #[test]
    fn a_life_from_intent_to_confirmed_absence() {
        use InstanceEvent::*;
        let state = walk(&[created(), BecameReady, Drain, Stop]);
        assert_eq!(
            state,
            InstanceState::Stopping {
                provider_id: Some("p1".into())
            }
        );
        assert_eq!(state.after(AbsenceConfirmed), Ok(InstanceState::Gone));
    }

    #[test]
    fn a_stop_during_create_keeps_the_id_that_comes_late() {
        let state = walk(&[InstanceEvent::Stop, created()]);
        assert_eq!(state.provider_id(), Some("p1"));
        assert_eq!(state.as_str(), "stopping");
    }

    #[test]
    fn a_stop_is_never_undone() {
        use InstanceEvent::*;
        for late in [BecameReady, Drain, Revive, Stop] {
            assert_eq!(walk(&[created(), Stop, late]).as_str(), "stopping");
        }
    }

    #[test]
    fn contradictions_are_errors() {
        assert!(
            InstanceState::Intended
                .after(InstanceEvent::BecameReady)
                .is_err()
        );
        assert!(InstanceState::Gone.after(created()).is_err());
    }

    #[test]
    fn parts_read_back() {
        use InstanceEvent::*;
        for state in [
            walk(&[]),
            walk(&[created()]),
            walk(&[created(), BecameReady]),
            walk(&[created(), BecameReady, Drain]),
            walk(&[Stop]),
        ] {
            let id = state.provider_id().map(str::to_owned);
            assert_eq!(InstanceState::from_parts(state.as_str(), id), Some(state));
        }
        assert_eq!(InstanceState::from_parts("ready", None), None);
    }
}
