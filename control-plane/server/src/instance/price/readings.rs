use thermocline_policy::NanoUsd;

/// A difference below this share of a price is none: one hundredth.
const SHARE: i64 = 100;
/// Lists in a row that all say another price, none of them the same, after which
/// the newest counts: a minute of them.
const MOST_UNSETTLED: u32 = 12;

/// What lists say of a price, beside the one that is written down.
#[derive(Debug, Default)]
pub(in crate::instance) struct Readings {
    last: Option<NanoUsd>,
    /// Lists in a row that said another one.
    others: u32,
}

impl Readings {
    /// What the last list said.
    pub(super) fn last(&self) -> Option<NanoUsd> {
        self.last
    }

    /// A list says `price`; whether that is another one than `written` that lasts.
    pub(super) fn read(&mut self, price: NanoUsd, written: Option<NanoUsd>) -> bool {
        let before = self.last.replace(price);
        let Some(written) = written else {
            return true;
        };
        if is_near(price, written) {
            self.others = 0;
            return false;
        }
        self.others += 1;
        let again = self.others > 1 && before.is_some_and(|before| is_near(before, price));
        again || self.others >= MOST_UNSETTLED
    }
}

fn is_near(one: NanoUsd, other: NanoUsd) -> bool {
    one == other || (one.0 - other.0).abs().saturating_mul(SHARE) < other.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usd(price: f64) -> NanoUsd {
        NanoUsd::from_usd(price)
    }

    /// Which of `prices`, read one after the other, are told.
    fn told(prices: &[f64]) -> Vec<f64> {
        let (mut readings, mut written) = (Readings::default(), Some(usd(1.0)));
        let told = prices.iter().filter(|price| {
            let news = readings.read(usd(**price), written);
            if news {
                (readings, written) = (Readings::default(), Some(usd(**price)));
            }
            news
        });
        told.copied().collect()
    }

    #[test]
    fn what_two_lists_say_is_a_price() {
        assert_eq!(told(&[2.0, 2.0, 2.0, 2.01]), [2.0]);
        assert_eq!(told(&[2.0, 2.01, 2.0]), [2.01]);
        assert_eq!(told(&[0.0, 0.0]), [0.0]);
    }

    #[test]
    fn less_than_a_hundredth_and_what_does_not_last_is_none() {
        assert_eq!(told(&[1.009, 0.991, 1.005, 1.009]), [0.0; 0]);
        assert_eq!(told(&[50.0, 1.0, 50.0, 1.0]), [0.0; 0]);
    }

    #[test]
    fn small_steps_add_up_to_another_price() {
        let steps: Vec<f64> = (1..=4).map(|step| 1.0 + 0.005 * f64::from(step)).collect();
        assert_eq!(told(&steps), [1.015]);
    }

    #[test]
    fn one_that_never_comes_to_rest_is_told_once_a_minute() {
        let climb: Vec<f64> = (1..=24).map(|step| 1.1f64.powi(step)).collect();
        assert_eq!(told(&climb).len(), 2);
    }

    #[test]
    fn the_first_that_anybody_names_is_one() {
        assert!(Readings::default().read(usd(1.0), None));
    }
}
