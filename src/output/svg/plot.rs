//! One chart: bands over time with their names, a scale, and words where nothing is known.
//!
//! Must not know: what the bands are of.

use crate::report::{Run, Timeline};
use std::fmt::Write;

/// The height of a plot without its title and times (pixels).
pub(super) const PLOT_HEIGHT: f64 = 96.0;
/// The room that a name takes.
const LINE: f64 = 12.0;
pub(super) const LETTER: f64 = 6.2;
const NOT_KNOWN: &str = "not known";

/// What one chart shows.
pub(super) struct Chart {
    pub title: String,
    pub is_of_tasks: bool,
    /// The top of its scale, as a number and as it is printed.
    pub most: f64,
    pub most_text: String,
    /// From the bottom up.
    pub bands: Vec<Band>,
    /// Why looks are missing.
    pub reason: Option<String>,
}

pub(super) struct Band {
    pub name: String,
    pub fill: &'static str,
    /// By look.
    pub values: Vec<Option<f64>>,
}

/// Where a plot is, and which time its left and right edge have.
pub(super) struct Area {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub begin_s: f64,
    pub end_s: f64,
}

impl Area {
    fn at(&self, time_s: f64) -> f64 {
        let part = (time_s - self.begin_s) / (self.end_s - self.begin_s);
        self.x + self.width * part.clamp(0.0, 1.0)
    }

    fn height_of(&self, value: f64, most: f64) -> f64 {
        self.y + PLOT_HEIGHT * (1.0 - value / most)
    }
}
pub(super) fn draw(body: &mut String, chart: &Chart, area: &Area, timeline: &Timeline, run: &Run) {
    text(body, area.x, area.y - 6.0, "", &chart.title);
    let mut floor = vec![0.0; timeline.at_s.len()];
    let mut names = Vec::new();
    for band in &chart.bands {
        let edges = edges(band, &floor, chart, area, timeline);
        shape(body, band, &edges);
        names.extend(place(&band.name, &edges));
        for (floor, value) in floor.iter_mut().zip(&band.values) {
            *floor += value.unwrap_or(0.0);
        }
    }
    frame(body, chart, area);
    gaps(body, chart, area, timeline);
    mark(body, chart, area, run);
    beside(body, names, area);
}

/// Says so where nothing is known.
fn gaps(body: &mut String, chart: &Chart, area: &Area, timeline: &Timeline) {
    let known =
        |at: usize| chart.bands.iter().any(|band| matches!(band.values.get(at), Some(Some(_))));
    let looks: Vec<usize> = (0..timeline.at_s.len()).collect();
    for gap in looks.chunk_by(|one, other| known(*one) == known(*other)) {
        let (Some(first), Some(last)) = (gap.first(), gap.last()) else { continue };
        let left = area.at(timeline.at_s[*first]);
        let right = area.at(timeline.at_s.get(last + 1).copied().unwrap_or(area.end_s));
        let most = ((right - left) / LETTER) as usize;
        if known(*first) || most < NOT_KNOWN.len() {
            continue;
        }
        // As many parts of the reason as there is room for.
        let mut words = NOT_KNOWN.to_owned();
        for part in chart.reason.iter().flat_map(|reason| reason.split(": ")) {
            if words.chars().count() + part.chars().count() + 2 > most {
                break;
            }
            words += &format!(": {part}");
        }
        let y = area.y + PLOT_HEIGHT / 2.0;
        text(body, (left + right) / 2.0, y, "small mid", &words);
    }
}

/// When the worker of a trial began, in words only beside the tasks.
fn mark(body: &mut String, chart: &Chart, area: &Area, run: &Run) {
    let Some((at, team)) = run.trial.as_ref().and_then(|it| Some((it.begun_s?, &it.team))) else {
        return;
    };
    let (x, bottom) = (area.at(at), area.y + PLOT_HEIGHT);
    let _ = writeln!(body, "<path class=\"mark\" d=\"M{x:.1} {:.1}V{bottom:.1}\"/>", area.y);
    if chart.is_of_tasks {
        let words = format!("{team} began");
        let fits = x + 4.0 + words.chars().count() as f64 * LETTER < area.x + area.width;
        let (x, class) = if fits { (x + 4.0, "halo") } else { (x - 4.0, "halo end") };
        text(body, x, area.y + LINE, class, &words);
    }
}

/// A band over looks at which it was the same: left, right, top, bottom.
type Edge = [f64; 4];

/// Stretches of looks that were known, each of edges that follow each other.
fn edges(
    band: &Band,
    floor: &[f64],
    chart: &Chart,
    area: &Area,
    timeline: &Timeline,
) -> Vec<Vec<Edge>> {
    let mut stretches: Vec<Vec<Edge>> = vec![Vec::new()];
    let untils = timeline.at_s.iter().skip(1).chain([&area.end_s]);
    let times = timeline.at_s.iter().zip(untils);
    for ((value, floor), (time, until)) in band.values.iter().zip(floor).zip(times) {
        let Some(value) = value else {
            stretches.push(Vec::new());
            continue;
        };
        let top = area.height_of(floor + value, chart.most);
        let bottom = area.height_of(*floor, chart.most);
        let Some(stretch) = stretches.last_mut() else { continue };
        match stretch.last_mut() {
            // Nothing changed: the same edge goes on.
            Some(last) if last[2..] == [top, bottom] => last[1] = area.at(*until),
            _ => stretch.push([area.at(*time), area.at(*until), top, bottom]),
        }
    }
    stretches.retain(|stretch| !stretch.is_empty());
    stretches
}

/// Along the tops and back along the bottoms.
fn shape(body: &mut String, band: &Band, stretches: &[Vec<Edge>]) {
    for stretch in stretches {
        let mut path = String::new();
        for [left, right, top, _] in stretch {
            let word = if path.is_empty() { 'M' } else { 'L' };
            let _ = write!(path, "{word}{left:.1} {top:.1}H{right:.1}");
        }
        for [left, right, _, bottom] in stretch.iter().rev() {
            let _ = write!(path, "L{right:.1} {bottom:.1}H{left:.1}");
        }
        let fill = band.fill;
        let _ = writeln!(body, "<path class=\"band\" fill=\"{fill}\" d=\"{path}Z\"/>");
    }
}

/// A name and where it goes.
struct Name {
    text: String,
    x: f64,
    y: f64,
    /// Whether there is room for it on its band.
    inside: bool,
}

/// In the middle of the longest time for which a band is nearly as high as it ever is: there the
/// name, or at least its last word, the number; where it is too thin for both, beside the plot.
fn place(name: &str, stretches: &[Vec<Edge>]) -> Option<Name> {
    let height = |edge: &Edge| edge[3] - edge[2];
    let highest = stretches.iter().flatten().map(height).fold(0.0, f64::max);
    let tall = |edge: &Edge| height(edge) >= 0.8 * highest;
    let mut best: Option<(f64, f64, Edge)> = None;
    for stretch in stretches {
        for run in stretch.chunk_by(|one, other| tall(one) == tall(other)) {
            let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
            let (left, right) = (first[0], last[1]);
            let longer = best.is_none_or(|(from, to, _)| right - left > to - from);
            if tall(first) && longer {
                let middle = run.iter().find(|edge| edge[1] >= (left + right) / 2.0);
                best = Some((left, right, *middle.unwrap_or(first)));
            }
        }
    }
    let (left, right, edge) = best?;
    let fits = |words: &&str| right - left > words.chars().count() as f64 * LETTER;
    let short = name.rsplit(' ').next().unwrap_or(name);
    let inside = [name, short].into_iter().find(fits).filter(|_| height(&edge) >= LINE);
    Some(Name {
        text: inside.unwrap_or(name).to_owned(),
        x: if inside.is_some() { (left + right) / 2.0 } else { right },
        y: (edge[2] + edge[3]) / 2.0 + 4.0,
        inside: inside.is_some(),
    })
}

/// Names on their bands, the others in a column at the right that keeps them apart.
fn beside(body: &mut String, mut names: Vec<Name>, area: &Area) {
    names.sort_by(|one, other| one.y.total_cmp(&other.y));
    let mut free = f64::NEG_INFINITY;
    for name in names {
        if name.inside {
            text(body, name.x, name.y, "in mid", &name.text);
            continue;
        }
        let y = name.y.max(free);
        free = y + LINE;
        let x = area.x + area.width;
        let _ = writeln!(
            body,
            "<path class=\"axis\" d=\"M{:.1} {:.1}L{:.1} {:.1}\"/>",
            name.x,
            name.y - 4.0,
            x + 6.0,
            y - 4.0
        );
        text(body, x + 8.0, y, "", &name.text);
    }
}

/// Scale, times and the lines along them.
fn frame(body: &mut String, chart: &Chart, area: &Area) {
    let (right, bottom) = (area.x + area.width, area.y + PLOT_HEIGHT);
    let _ = writeln!(
        body,
        "<path class=\"axis\" d=\"M{:.1} {:.1}V{bottom:.1}H{right:.1}\"/>",
        area.x, area.y
    );
    text(body, area.x - 4.0, area.y + 8.0, "small end", &chart.most_text);
    text(body, area.x - 4.0, bottom, "small end", "0");
    let step = step(area.end_s - area.begin_s);
    let first = (area.begin_s / step).ceil() as i64;
    for n in first.. {
        let time = n as f64 * step;
        if time > area.end_s {
            break;
        }
        let x = area.at(time);
        let _ = writeln!(body, "<path class=\"axis\" d=\"M{x:.1} {bottom:.1}v4\"/>");
        let digits = usize::from(step < 1.0) + usize::from(step < 0.1);
        text(body, x, bottom + 15.0, "small mid", &format!("{time:.digits$} s"));
    }
}

/// 1, 2 or 5 times a power of ten, so that there are at most six marks.
fn step(span: f64) -> f64 {
    let rough = (span / 5.0).max(0.01);
    let power = 10f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|times| times * power);
    // A hair of slack, since a power of ten is seldom exact.
    steps.into_iter().find(|step| *step >= rough * 0.999_999).unwrap_or(10.0 * power)
}

pub(super) fn text(body: &mut String, x: f64, y: f64, class: &str, words: &str) {
    let anchor = match class.rsplit(' ').next() {
        Some("mid") => " text-anchor=\"middle\"",
        Some("end") => " text-anchor=\"end\"",
        _ => "",
    };
    let words = escaped(words);
    let _ =
        writeln!(body, "<text x=\"{x:.1}\" y=\"{y:.1}\" class=\"{class}\"{anchor}>{words}</text>");
}

pub(super) fn escaped(words: &str) -> String {
    words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::step;

    #[test]
    fn steps_of_the_axis() {
        let check = |span: f64, expected: f64| {
            assert!((step(span) - expected).abs() < 1e-9, "{span}: {}", step(span));
        };
        check(0.0, 0.01);
        check(0.2, 0.05);
        check(1.0, 0.2);
        check(5.0, 1.0);
        check(12.0, 5.0);
        check(120.0, 50.0);
    }
}
