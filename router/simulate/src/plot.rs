//! A chart of one replay: rate, thresholds, and which tier served when.

use std::fmt::Write;
use std::time::Duration;

use thermocline_policy::{Moment, Thresholds, Tier};

use crate::run::Switch;

/// How one policy went.
#[derive(Debug, Clone)]
pub struct Course {
    /// The policy.
    pub policy: String,
    /// When its first switch was, on the clock of the trace.
    pub begin: Moment,
    /// Its thresholds at the end.
    pub thresholds: Thresholds,
    /// Its changes of tier, from `begin` on.
    pub switches: Vec<Switch>,
}

/// The rate over time, in bins of equal width.
#[derive(Debug, Clone)]
pub struct RateCurve {
    bin: f64,
    counts: Vec<u64>,
}

/// Bins of a curve.
const BINS: usize = 480;
const WIDTH: f64 = 960.0;
const LEFT: f64 = 64.0;
const TOP: f64 = 28.0;
const CURVE: f64 = 220.0;
const BAND: f64 = 22.0;
const RIGHT: f64 = 200.0;
/// Lines of the thresholds; a colour each.
const COLOURS: [&str; 6] = [
    "#b35900", "#7b3294", "#00695c", "#ad1457", "#5d4037", "#37474f",
];
const POD: &str = "#e08214";
const SERVERLESS: &str = "#92c5de";

impl RateCurve {
    /// An empty curve over `span`.
    pub fn over(span: Duration) -> Self {
        RateCurve {
            bin: (span.as_secs_f64() / BINS as f64).max(1e-3),
            counts: vec![0; BINS],
        }
    }

    /// Counts one arrival.
    pub fn add(&mut self, at: Moment) {
        let bin = at.since(Moment::ORIGIN).as_secs_f64() / self.bin;
        self.counts[(bin as usize).min(BINS - 1)] += 1;
    }

    fn rates(&self) -> impl Iterator<Item = f64> {
        self.counts.iter().map(|count| *count as f64 / self.bin)
    }

    fn span_s(&self) -> f64 {
        self.bin * BINS as f64
    }
}

/// One deployment's chart.
#[derive(Debug, Clone)]
pub struct Chart {
    /// What stands above it.
    pub title: String,
    /// How many came when.
    pub curve: RateCurve,
    /// How each policy went.
    pub courses: Vec<Course>,
}

impl Chart {
    fn height(&self) -> f64 {
        TOP + CURVE + 44.0 + BAND * self.courses.len() as f64 + 16.0
    }

    fn draw(&self, out: &mut String) {
        let Chart { curve, courses, .. } = self;
        let title = escaped(&self.title);
        push(
            out,
            format_args!("<text x=\"{LEFT}\" y=\"18\">{title}</text>\n"),
        );
        let most = curve.rates().fold(1e-9, f64::max) * 1.05;
        draw_rate(out, curve, most);
        draw_axes(out, curve, most);
        for (i, course) in courses.iter().enumerate() {
            draw_thresholds(out, course, COLOURS[i % COLOURS.len()], most);
            draw_band(out, course, i, curve.span_s());
        }
    }
}

/// Charts as SVG, one below the other.
pub fn svg(charts: &[Chart]) -> String {
    let (width, height) = (
        LEFT + WIDTH + RIGHT,
        charts.iter().map(Chart::height).sum::<f64>(),
    );
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    let mut top = 0.0;
    for chart in charts {
        push(
            &mut out,
            format_args!("<g transform=\"translate(0 {top})\">\n"),
        );
        chart.draw(&mut out);
        out.push_str("</g>\n");
        top += chart.height();
    }
    out.push_str("</svg>\n");
    out
}

fn draw_rate(out: &mut String, curve: &RateCurve, most: f64) {
    let mut points = format!("{LEFT},{}", TOP + CURVE);
    let step = WIDTH / BINS as f64;
    for (i, rate) in curve.rates().enumerate() {
        let (x, y) = (LEFT + step * i as f64, y_of(rate, most));
        // Each bin is a step: its left and its right end.
        push(
            &mut points,
            format_args!(" {x:.1},{y:.1} {:.1},{y:.1}", x + step),
        );
    }
    push(
        &mut points,
        format_args!(" {},{}", LEFT + WIDTH, TOP + CURVE),
    );
    push(
        out,
        format_args!("<polygon points=\"{points}\" fill=\"#bdbdbd\"/>\n"),
    );
}

fn draw_axes(out: &mut String, curve: &RateCurve, most: f64) {
    let bottom = TOP + CURVE;
    push(
        out,
        format_args!(
            "<path d=\"M{LEFT} {TOP}V{bottom}H{}\" fill=\"none\" stroke=\"#424242\"/>\n",
            LEFT + WIDTH
        ),
    );
    for part in [0.25, 0.5, 0.75, 1.0] {
        let (rate, y) = (most * part, y_of(most * part, most));
        push(
            out,
            format_args!(
                "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{rate:.3}</text>\n",
                LEFT - 6.0,
                y + 4.0
            ),
        );
    }
    draw_times(out, curve.span_s());
    push(
        out,
        format_args!(
            "<text x=\"{}\" y=\"{}\">requests a second</text>\n",
            LEFT + WIDTH + 8.0,
            TOP + 10.0
        ),
    );
    push(
        out,
        format_args!(
            "<rect x=\"{0}\" y=\"{1}\" width=\"10\" height=\"10\" fill=\"{POD}\"/><text x=\"{2}\" y=\"{3}\">pod</text><rect x=\"{0}\" y=\"{4}\" width=\"10\" height=\"10\" fill=\"{SERVERLESS}\"/><text x=\"{2}\" y=\"{5}\">serverless</text>\n",
            LEFT + WIDTH + 8.0,
            TOP + 24.0,
            LEFT + WIDTH + 24.0,
            TOP + 33.0,
            TOP + 42.0,
            TOP + 51.0
        ),
    );
}

fn draw_times(out: &mut String, span_s: f64) {
    let (unit, unit_s) = unit_of(span_s);
    for part in [0.0, 0.25, 0.5, 0.75, 1.0] {
        let (x, y) = (LEFT + WIDTH * part, TOP + CURVE + 16.0);
        let time = span_s * part / unit_s;
        push(
            out,
            format_args!(
                "<text x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\">{time:.1} {unit}</text>\n"
            ),
        );
    }
}

/// The unit in which ticks of an axis over `span_s` seconds differ, and its seconds.
fn unit_of(span_s: f64) -> (&'static str, f64) {
    match span_s {
        259_200.0.. => ("d", 86_400.0),
        7_200.0.. => ("h", 3_600.0),
        120.0.. => ("min", 60.0),
        0.5.. => ("s", 1.0),
        _ => ("ms", 1e-3),
    }
}

/// A dashed line each for promote and demote, where they are on the chart.
fn draw_thresholds(out: &mut String, course: &Course, colour: &str, most: f64) {
    let Thresholds {
        promote_rps,
        demote_rps,
        ..
    } = course.thresholds;
    for (rate, dash) in [(promote_rps, "6 3"), (demote_rps, "2 3")] {
        if rate > 0.0 && rate <= most {
            let y = y_of(rate, most);
            push(
                out,
                format_args!(
                    "<path d=\"M{LEFT} {y:.1}h{WIDTH}\" stroke=\"{colour}\" stroke-dasharray=\"{dash}\"/>\n"
                ),
            );
        }
    }
}

/// Which tier served when.
fn draw_band(out: &mut String, course: &Course, row: usize, span_s: f64) {
    let y = TOP + CURVE + 32.0 + BAND * row as f64;
    let at = |switch: &Switch| seconds(course.begin) + seconds(switch.at);
    let ends = course.switches.iter().skip(1).map(at).chain([span_s]);
    for (switch, end) in course.switches.iter().zip(ends) {
        let (from, to) = (at(switch).min(span_s), end.min(span_s));
        let colour = if switch.to == Tier::Pod {
            POD
        } else {
            SERVERLESS
        };
        push(
            out,
            format_args!(
                "<rect x=\"{:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"16\" fill=\"{colour}\"/>\n",
                LEFT + WIDTH * from / span_s,
                WIDTH * (to - from) / span_s
            ),
        );
    }
    let colour = COLOURS[row % COLOURS.len()];
    push(
        out,
        format_args!(
            "<text x=\"{}\" y=\"{:.1}\" fill=\"{colour}\">{}</text>\n",
            LEFT + WIDTH + 8.0,
            y + 12.0,
            escaped(&course.policy)
        ),
    );
}

fn y_of(rate: f64, most: f64) -> f64 {
    TOP + CURVE * (1.0 - rate / most)
}

fn seconds(at: Moment) -> f64 {
    at.since(Moment::ORIGIN).as_secs_f64()
}

fn push(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a String does not fail.
    let _ = out.write_fmt(text);
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ticks below the chart of a trace that is so long.
    fn ticks(span: Duration) -> Vec<String> {
        let mut out = String::new();
        draw_times(&mut out, RateCurve::over(span).span_s());
        let texts = out
            .lines()
            .filter_map(|line| line.split_once('>')?.1.split_once('<'));
        texts.map(|(text, _)| text.to_owned()).collect()
    }

    #[test]
    fn the_unit_of_time_follows_the_span() {
        let seconds = Duration::from_secs;
        assert_eq!(ticks(seconds(60))[1..3], ["15.0 s", "30.0 s"]);
        assert_eq!(ticks(seconds(3_600))[4], "60.0 min");
        assert_eq!(ticks(seconds(86_400))[2], "12.0 h");
        assert_eq!(ticks(seconds(7 * 86_400))[4], "7.0 d");
        assert_eq!(ticks(Duration::ZERO)[0], "0.0 ms");
    }
}
