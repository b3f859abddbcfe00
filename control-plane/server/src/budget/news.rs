use std::time::Duration;

use thermocline_policy::{Brake, Moment};

/// A brake that stops nothing is told when it has been so for this long: pods that
/// come and go tighten and loosen it.
const LASTS: Duration = Duration::from_secs(10);

/// What has been told of a tier's brake.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct News {
    told: Brake,
    /// Another brake than that, and since when.
    other: Option<(Brake, Moment)>,
}

impl News {
    /// Whether it is to be told that `brake` holds at `now`: at once where it stops
    /// what runs, otherwise where it lasts.
    pub(crate) fn is_told(&mut self, brake: Brake, now: Moment) -> bool {
        if brake == self.told {
            self.other = None;
            return false;
        }
        let other = self.other.filter(|(other, _)| *other == brake);
        let (_, since) = *self.other.insert(other.unwrap_or((brake, now)));
        let news = brake == Brake::Stop || now.since(since) >= LASTS;
        if news {
            (self.told, self.other) = (brake, None);
        }
        news
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is told of brakes that hold from these seconds on, looked at each second.
    fn told(brakes: &[(u64, Brake)]) -> Vec<(u64, Brake)> {
        let mut news = News::default();
        let brake = |second| brakes.iter().rfind(|(from, _)| *from <= second);
        let held = (0..100).filter_map(|second| Some((second, brake(second)?.1)));
        let at = |second| Moment::from_origin(Duration::from_secs(second));
        held.filter(|(second, brake)| news.is_told(*brake, at(*second)))
            .collect()
    }

    #[test]
    fn what_comes_and_goes_is_not_told() {
        use Brake::{NoStart, Off};
        assert_eq!(told(&[(0, Off), (5, NoStart), (14, Off)]), []);
        let flapping = [
            (0, NoStart),
            (4, Off),
            (8, NoStart),
            (30, Off),
            (35, NoStart),
        ];
        assert_eq!(told(&flapping), [(18, NoStart)]);
        assert_eq!(told(&[(0, NoStart), (50, Off)]), [(10, NoStart), (60, Off)]);
    }

    #[test]
    fn a_stop_is_told_at_once() {
        use Brake::{NoStart, Off, Stop};
        let course = [(5, Stop), (7, NoStart), (30, Off)];
        assert_eq!(told(&course), [(5, Stop), (17, NoStart), (40, Off)]);
    }
}
