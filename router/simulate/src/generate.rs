use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use thermocline_policy::Moment;
use thiserror::Error;

use crate::chance::Chance;

/// Traffic that is made up, the same for the same seed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Generator {
    /// What it looks like.
    pub shape: Shape,
    /// The mean rate, requests a second; above 0.
    pub rps: f64,
    /// How long it goes on; above zero.
    pub span: Duration,
}

/// What made-up traffic looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Independent arrivals at a constant rate.
    Poisson,
    /// A day's wave, from a twentieth of the mean at night to almost twice by day.
    Diurnal,
    /// Phases of work (10 min on average) and of silence (30 min).
    OnOff,
    /// Bursts of 40 requests on average within about 20 s.
    Bursty,
    /// Single requests, and now and then two or three.
    Rare,
}

/// Why a text names no traffic.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "{0}; allowed: poisson, diurnal, on_off, bursty or rare, with rps and hours above 0, as poisson:rps=0.2,hours=24"
)]
pub struct GeneratorError(String);

const WAVE: f64 = 0.95;
const DAY_S: f64 = 86_400.0;
const ON_S: f64 = 600.0;
const OFF_S: f64 = 1_800.0;
const BURST: f64 = 40.0;
const WITHIN_BURST_S: f64 = 0.5;
/// The most requests and hours of one generator.
const MOST_REQUESTS: f64 = 1e8;
const MOST_HOURS: f64 = 24.0 * 366.0;

impl Shape {
    /// Every shape.
    pub const ALL: [Shape; 5] = [
        Shape::Poisson,
        Shape::Diurnal,
        Shape::OnOff,
        Shape::Bursty,
        Shape::Rare,
    ];

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Shape::Poisson => "poisson",
            Shape::Diurnal => "diurnal",
            Shape::OnOff => "on_off",
            Shape::Bursty => "bursty",
            Shape::Rare => "rare",
        }
    }

    fn default_rps(self) -> f64 {
        match self {
            Shape::Rare => 1.0 / 1_200.0,
            Shape::Poisson | Shape::Diurnal | Shape::OnOff | Shape::Bursty => 0.2,
        }
    }
}

impl Generator {
    /// When each request comes, in order.
    pub fn arrivals(&self, seed: u64) -> impl Iterator<Item = Moment> {
        let mut stream = Stream {
            generator: *self,
            chance: Chance::new(seed),
            now: 0.0,
            left: 0,
            phase_end: 0.0,
        };
        let end = self.span.as_secs_f64();
        std::iter::from_fn(move || Some(stream.next_s()).filter(|at| *at < end))
            .map(|at| Moment::from_origin(Duration::from_secs_f64(at)))
    }
}

struct Stream {
    generator: Generator,
    chance: Chance,
    now: f64,
    /// Requests left of a burst.
    left: u64,
    /// When the phase of work ends.
    phase_end: f64,
}

impl Stream {
    fn next_s(&mut self) -> f64 {
        let mean_gap = 1.0 / self.generator.rps;
        match self.generator.shape {
            Shape::Poisson => self.now += self.chance.exponential(mean_gap),
            Shape::Diurnal => self.wave(mean_gap),
            Shape::OnOff => self.phase(mean_gap * ON_S / (ON_S + OFF_S)),
            Shape::Bursty => self.burst(BURST, WITHIN_BURST_S, mean_gap),
            Shape::Rare => self.burst(1.3, 5.0, mean_gap),
        }
        self.now
    }

    /// Thinning of a Poisson process at the peak rate.
    fn wave(&mut self, mean_gap: f64) {
        loop {
            self.now += self.chance.exponential(mean_gap / (1.0 + WAVE));
            let turn = std::f64::consts::TAU * self.now / DAY_S;
            let share = (1.0 - WAVE * turn.cos()) / (1.0 + WAVE);
            if self.chance.unit() < share {
                return;
            }
        }
    }

    fn phase(&mut self, gap: f64) {
        self.now += self.chance.exponential(gap);
        while self.now > self.phase_end {
            let begins = self.phase_end + self.chance.exponential(OFF_S);
            self.phase_end = begins + self.chance.exponential(ON_S);
            self.now = begins + self.chance.exponential(gap);
        }
    }

    fn burst(&mut self, mean_size: f64, within: f64, mean_gap: f64) {
        let within = within.min(mean_gap / 2.0);
        if self.left > 0 {
            self.left -= 1;
            self.now += self.chance.exponential(within);
            return;
        }
        let between = mean_gap * mean_size - within * (mean_size - 1.0);
        self.now += self.chance.exponential(between);
        // Geometric around the mean, the first excluded.
        let (ln, of) = (
            (1.0 - self.chance.unit()).ln(),
            (1.0 - 1.0 / mean_size).ln(),
        );
        self.left = (ln / of) as u64;
    }
}

impl FromStr for Generator {
    type Err = GeneratorError;

    fn from_str(text: &str) -> Result<Self, GeneratorError> {
        let (name, numbers) = text.split_once(':').unwrap_or((text, ""));
        let shape = Shape::ALL.into_iter().find(|shape| shape.as_str() == name);
        let shape = shape.ok_or_else(|| GeneratorError(format!("{name:?} is no traffic")))?;
        let (mut rps, mut hours) = (shape.default_rps(), 24.0);
        for term in numbers.split(',').filter(|term| !term.is_empty()) {
            let (key, value) = term.split_once('=').unwrap_or((term, ""));
            let number: Option<f64> = value.parse().ok();
            let number = number.filter(|n| n.is_finite() && *n > 0.0).ok_or_else(|| {
                GeneratorError(format!("{key} must be a number above 0, is {value:?}"))
            });
            match key {
                "rps" => rps = number?,
                "hours" => hours = number?,
                _ => return Err(GeneratorError(format!("{key:?} is no number of {name}"))),
            }
        }
        if hours > MOST_HOURS {
            let most = format!("hours must not be above {MOST_HOURS}, is {hours}");
            return Err(GeneratorError(most));
        }
        let requests = rps * hours * 3600.0;
        if requests > MOST_REQUESTS {
            let most = format!("rps × hours make {requests:.0} requests; at most {MOST_REQUESTS}");
            return Err(GeneratorError(most));
        }
        let span = Duration::from_secs_f64(hours * 3600.0);
        Ok(Generator { shape, rps, span })
    }
}

impl fmt::Display for Generator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hours = self.span.as_secs_f64() / 3600.0;
        write!(f, "{}:rps={},hours={hours}", self.shape.as_str(), self.rps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_has_its_mean_rate_and_is_in_order() {
        for shape in Shape::ALL {
            let generator = Generator {
                shape,
                rps: 0.5,
                span: Duration::from_secs(20 * 86_400),
            };
            let all: Vec<Moment> = generator.arrivals(7).collect();
            assert!(all.is_sorted(), "{shape:?}");
            let rate = all.len() as f64 / generator.span.as_secs_f64();
            assert!((rate / 0.5 - 1.0).abs() < 0.1, "{shape:?}: {rate}");
        }
    }

    #[test]
    fn the_seed_alone_makes_the_difference() {
        let generator: Generator = "bursty:rps=0.1,hours=2".parse().unwrap();
        let of = |seed| generator.arrivals(seed).collect::<Vec<_>>();
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
    }

    #[test]
    fn a_mistake_is_named_with_what_is_allowed() {
        for text in [
            "spiky",
            "poisson:rps=0",
            "poisson:rps=NaN",
            "poisson:days=1",
            "poisson:hours=1e9",
            "poisson:rps=1e9",
        ] {
            let error = text.parse::<Generator>().unwrap_err().to_string();
            assert!(error.contains("allowed: poisson"), "{error}");
        }
        let generator: Generator = "rare".parse().unwrap();
        assert_eq!(generator.span, Duration::from_secs(86_400));
    }
}
