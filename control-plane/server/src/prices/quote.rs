use std::time::Duration;

use thermocline_policy::{Moment, UsdPerSecond};

/// How long a price is believed.
const FRESH: Duration = Duration::from_secs(600);
/// How soon a provider is asked again that did not answer, or whose price
/// refuses a start.
const AGAIN: Duration = Duration::from_secs(60);
/// How long offers are not believed a second time that a pod has overruled.
const MISTRUST: Duration = Duration::from_secs(3600);

/// What is known of one price.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Quote {
    pub(super) price: Option<UsdPerSecond>,
    /// When its provider is asked again.
    pub(super) ask_after: Moment,
    /// Whether the provider has been asked for it, whatever it said.
    pub(super) asked: bool,
    /// When its provider told the price; none where a pod did, and while it is
    /// asked again.
    told: Option<Moment>,
    /// When a pod last turned out dearer.
    overruled: Option<Moment>,
}

impl Quote {
    /// Whether its provider is to be asked at `now`: once, whatever becomes of it.
    pub(super) fn falls_due(&mut self, now: Moment) -> bool {
        let due = self.ask_after <= now;
        if due {
            (self.ask_after, self.told) = (now + AGAIN, None);
        }
        due
    }

    /// The provider asks for `price`, or names none.
    pub(super) fn learn(&mut self, price: Option<UsdPerSecond>, now: Moment) {
        (self.price, self.ask_after, self.asked) = (price, now + FRESH, true);
        self.told = Some(now);
    }

    /// Its provider's price refuses a start: it may have been a moment's.
    pub(super) fn refuses(&mut self) {
        if let Some(told) = self.told {
            self.ask_after = self.ask_after.min(told + AGAIN);
        }
    }

    /// A pod that was `begun` then turned out to cost `real`. What the provider asks
    /// for now is believed once more; where a pod that was begun later turns out so
    /// too within the hour, it is not, but what that cost, as long as any price.
    pub(super) fn overrule(&mut self, real: UsdPerSecond, begun: Moment, now: Moment) {
        let lately = |at: Moment| begun > at && now.since(at) < MISTRUST;
        let again = self.overruled.replace(now).is_some_and(lately);
        (self.price, self.asked, self.told) = (Some(real), again, None);
        self.ask_after = match again {
            true => now + FRESH,
            false => now,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: u64) -> Moment {
        Moment::from_origin(Duration::from_secs(secs))
    }

    fn hourly(usd: f64) -> UsdPerSecond {
        UsdPerSecond::hourly(usd).unwrap()
    }

    #[test]
    fn after_a_pod_that_was_dearer_offers_are_asked_for_and_believed_once() {
        let mut quote = Quote::default();
        quote.learn(Some(hourly(1.0)), at(0));
        quote.overrule(hourly(50.0), at(1), at(5));
        assert!(!quote.asked && quote.falls_due(at(5)) && !quote.falls_due(at(6)));
        quote.learn(Some(hourly(1.0)), at(6));
        quote.overrule(hourly(50.0), at(7), at(10));
        assert!(quote.asked && !quote.falls_due(at(609)));
        assert_eq!(quote.price, Some(hourly(50.0)));
        assert!(quote.falls_due(at(610)), "no price is believed for ever");
    }

    #[test]
    fn an_offer_that_refuses_a_start_is_asked_for_again_each_minute_and_a_pods_price_is_not() {
        let mut quote = Quote::default();
        quote.learn(Some(hourly(5.0)), at(0));
        quote.refuses();
        assert!(!quote.falls_due(at(59)) && quote.falls_due(at(60)));
        quote.refuses();
        assert!(!quote.falls_due(at(119)), "it is asked, once");
        assert!(quote.falls_due(at(120)));
        for (begun, now) in [(121, 122), (123, 130)] {
            quote.overrule(hourly(5.0), at(begun), at(now));
        }
        quote.refuses();
        assert!(!quote.falls_due(at(300)));
    }

    #[test]
    fn pods_that_ran_together_and_became_dear_together_are_one_that_did() {
        let mut quote = Quote::default();
        quote.overrule(hourly(50.0), at(0), at(100));
        quote.learn(Some(hourly(50.0)), at(101));
        quote.overrule(hourly(50.0), at(1), at(102));
        assert!(!quote.asked && quote.falls_due(at(102)));
    }

    #[test]
    fn an_hour_later_offers_have_another_chance() {
        let mut quote = Quote::default();
        quote.overrule(hourly(50.0), at(0), at(0));
        quote.learn(Some(hourly(1.0)), at(1));
        quote.overrule(hourly(50.0), at(2), at(3600));
        assert!(!quote.asked && quote.falls_due(at(3600)));
    }
}
