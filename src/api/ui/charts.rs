//! Numbers as shapes: the coordinates of the charts, which templates draw as SVG.

use super::frame::millis;
use super::rates::{LOOKS, Rate};

/// Width and height of a chart over time, in its own units.
pub(super) const WIDTH: f64 = 600.0;
pub(super) const HEIGHT: f64 = 140.0;

/// A chart over time.
#[derive(Debug)]
pub(super) struct Lines {
    /// The highest value, for the axis.
    pub(super) most: String,
    /// Word of its class, and the path of each line.
    pub(super) lines: Vec<(&'static str, String)>,
}

/// A line: the word of its class, and the number of a rate that it shows.
type Line = (&'static str, fn(&Rate) -> f64);

/// Lines of one number of each rate, newest at the right.
pub(super) fn lines(rates: &[Rate], of: &[Line]) -> Lines {
    let values = rates.iter().flat_map(|rate| of.iter().map(|(_, read)| read(rate)));
    let most = values.fold(1.0_f64, f64::max);
    let step = WIDTH / (LOOKS as f64 - 1.0);
    let first = WIDTH - step * (rates.len().max(1) as f64 - 1.0);
    let path = |read: fn(&Rate) -> f64| {
        let mut path = String::new();
        for (at, rate) in rates.iter().enumerate() {
            let (x, y) = (first + step * at as f64, HEIGHT - read(rate) / most * (HEIGHT - 6.0) - 2.0);
            path.push_str(&format!("{}{x:.1} {y:.1}", if at == 0 { "M" } else { "L" }));
        }
        path
    };
    Lines { most: number(most), lines: of.iter().map(|(word, read)| (*word, path(*read))).collect() }
}

/// A rate in few digits.
pub(super) fn number(value: f64) -> String {
    match value {
        v if v >= 1_000_000.0 => format!("{:.1} M", v / 1_000_000.0),
        v if v >= 10_000.0 => format!("{:.0} k", v / 1_000.0),
        v if v >= 1_000.0 => format!("{:.1} k", v / 1_000.0),
        v if v >= 10.0 || v == 0.0 => format!("{v:.0}"),
        v => format!("{v:.1}"),
    }
}

/// A part of a bar.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) word: String,
    pub(super) count: u64,
    pub(super) x: String,
    pub(super) width: String,
}

/// Counts side by side, over [`WIDTH`].
pub(super) fn bar(counts: Vec<(String, u64)>) -> Vec<Part> {
    let all: u64 = counts.iter().map(|(_, count)| *count).sum::<u64>().max(1);
    let mut from = 0.0;
    let mut parts = Vec::new();
    for (word, count) in counts {
        let width = count as f64 / all as f64 * WIDTH;
        parts.push(Part { word, count, x: format!("{from:.1}"), width: format!("{:.1}", (width - 2.0).max(2.0)) });
        from += width;
    }
    parts
}

/// A change on a time line.
#[derive(Debug)]
pub(super) struct Dot {
    pub(super) x: String,
    /// `made`, `gone` or `changed`.
    pub(super) class: &'static str,
    pub(super) label: String,
}

/// Changes on a time line: when, whether it was there before and after, and by whom.
pub(super) fn time_line(events: &[(String, bool, bool, String)]) -> Vec<Dot> {
    let times: Vec<u64> = events.iter().filter_map(|(at, ..)| millis(at)).collect();
    let (Some(first), Some(last)) = (times.iter().min(), times.iter().max()) else { return Vec::new() };
    let length = (last - first).max(1) as f64;
    let dots = events.iter().filter_map(|(at, before, after, owner)| {
        let x = 8.0 + (millis(at)? - first) as f64 / length * (WIDTH - 16.0);
        let class = match (before, after) {
            (false, _) => "made",
            (true, false) => "gone",
            (true, true) => "changed",
        };
        Some(Dot { x: format!("{x:.1}"), class, label: format!("{at}: {class} by {owner}") })
    });
    dots.collect()
}
