//! The timeline of a run as a picture: for each instance its tasks and its pages, by node.
//!
//! One file without scripts, fonts or links. Each band has its name on it or beside it, so there is
//! no legend; colours follow the reader's light or dark scheme. A look holds until the next one.
//! Must not know: verdicts.

use crate::base::unit;
use crate::report::{InstanceTimeline, RegionTimeline, Report, Run, Timeline};
use std::fmt::Write;

const WIDTH: f64 = 960.0;
const MARGIN: f64 = 16.0;
/// Left of a plot for its scale, right of it for names that do not fit in.
const SCALE: f64 = 42.0;
const NAMES: f64 = 52.0;
const PLOT_HEIGHT: f64 = 96.0;
/// Above a plot its title, below it the times.
const TITLE: f64 = 20.0;
const TIMES: f64 = 20.0;
/// Below that the next row, with the name of its instance.
const BETWEEN: f64 = 22.0;
const MOST_IN_A_ROW: usize = 3;
/// The room that a name takes (pixels).
const LINE: f64 = 12.0;
const LETTER: f64 = 6.2;
/// By position of the node; readable below dark letters, and beside each other without colour.
const FILLS: [&str; 8] =
    ["#7fb3d5", "#f2b879", "#8fd0a5", "#d3a4dc", "#e8d66b", "#a8dde6", "#e89c9c", "#bdbdbd"];
const ABSENT: &str = "none";
const STYLE: &str = "\
text{font:11px system-ui,sans-serif;fill:#222}\
.big{font-size:15px;font-weight:600}.small{font-size:10px;fill:#555}\
.in{fill:#111}.halo{paint-order:stroke;stroke:#fff;stroke-width:3px}\
.axis{stroke:#888;stroke-width:1;fill:none}\
.band{stroke:#fff;stroke-width:1}.mark{stroke:#c0392b;stroke-width:1;stroke-dasharray:3 2}\
.back{fill:#fff}\
@media (prefers-color-scheme:dark){text{fill:#e6e6e6}.small{fill:#aaa}.in{fill:#111}\
.back{fill:#15181d}.halo{stroke:#15181d}.band{stroke:#15181d}.axis{stroke:#888}\
.mark{stroke:#ff8a7a}}";

/// What one chart shows.
struct Chart {
    title: String,
    is_of_tasks: bool,
    /// The top of its scale, as a number and as it is printed.
    most: f64,
    most_text: String,
    /// From the bottom up.
    bands: Vec<Band>,
    /// Why looks are missing.
    reason: Option<String>,
}

struct Band {
    name: String,
    fill: &'static str,
    /// By look.
    values: Vec<Option<f64>>,
}

/// Where a plot is, and which time its left and right edge have.
struct Area {
    x: f64,
    y: f64,
    width: f64,
    begin_s: f64,
    end_s: f64,
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

/// The timeline of the report's median run; `None` without looks.
pub fn timeline_svg(report: &Report) -> Option<String> {
    let run = report.median_run()?;
    let timeline = run.timeline.as_ref().filter(|it| !it.at_s.is_empty())?;
    let mut body = String::new();
    let mut y = head(&mut body, report, run);
    for instance in &timeline.instances {
        if timeline.instances.len() > 1 {
            text(&mut body, MARGIN, y, "", &format!("instance {}", instance.instance));
            y += 6.0;
        }
        let charts: Vec<Chart> =
            [tasks(instance)].into_iter().chain(instance.regions.iter().map(pages)).collect();
        for row in charts.chunks(MOST_IN_A_ROW) {
            let n = charts.len().min(MOST_IN_A_ROW) as f64;
            let each = (WIDTH - 2.0 * MARGIN) / n;
            for (at, chart) in row.iter().enumerate() {
                let x = MARGIN + each * at as f64 + SCALE;
                let area = area(timeline, x, y + TITLE, each - SCALE - NAMES);
                draw(&mut body, chart, &area, timeline, run);
            }
            y += TITLE + PLOT_HEIGHT + TIMES + BETWEEN;
        }
    }
    let height = y - BETWEEN + MARGIN;
    Some(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\" role=\"img\">\n<title>{}: tasks and pages by node over \
         time</title>\n<style>{STYLE}</style>\n<rect class=\"back\" width=\"100%\" \
         height=\"100%\"/>\n{body}</svg>\n",
        escaped(&report.profile.name)
    ))
}

fn area(timeline: &Timeline, x: f64, y: f64, width: f64) -> Area {
    let begin_s = timeline.at_s.first().copied().unwrap_or(0.0);
    let last = timeline.at_s.last().copied().unwrap_or(0.0);
    // The last look holds for an interval, as the others do.
    let end_s = last + timeline.interval_s;
    Area { x, y, width, begin_s, end_s: if end_s > begin_s { end_s } else { begin_s + 1.0 } }
}

/// Title, machine and parameters; returns where the next line goes.
fn head(body: &mut String, report: &Report, run: &Run) -> f64 {
    let profile = &report.profile;
    text(body, MARGIN, 26.0, "big", &format!("{}: tasks and pages by node", profile.name));
    let params: Vec<String> =
        profile.params.iter().map(|(name, value)| format!("{name} {value}")).collect();
    let host = format!(
        "Linux {}, {}, {}",
        report.host.kernel.as_deref().unwrap_or("of unknown version"),
        unit::counted(report.host.nodes.into(), "node"),
        unit::counted(report.host.cpus.into(), "CPU"),
    );
    let mut facts = vec![host];
    facts.extend((!params.is_empty()).then(|| params.join(", ")));
    facts.extend((report.runs.len() > 1).then(|| format!("run {}", run.run)));
    if let Some(trial) = &run.trial {
        facts.push(format!("{}, {}", trial.start, trial.outcome).replace('_', " "));
    }
    facts.push("times in seconds since the gate was opened".to_owned());
    let most = ((WIDTH - 2.0 * MARGIN) / LETTER) as usize;
    let mut y = 44.0;
    let mut line = String::new();
    for fact in facts {
        if !line.is_empty() && line.chars().count() + fact.chars().count() + 3 > most {
            text(body, MARGIN, y, "small", &line);
            (line, y) = (String::new(), y + 14.0);
        }
        line += if line.is_empty() { "" } else { " · " };
        line += &fact;
    }
    text(body, MARGIN, y, "small", &line);
    y + 22.0
}

fn tasks(instance: &InstanceTimeline) -> Chart {
    let n = instance.tasks.first().map_or(0, |node| node.tasks.len());
    let total =
        |at: usize| instance.tasks.iter().filter_map(|node| *node.tasks.get(at)?).sum::<u32>();
    let most = (0..n).map(total).max().unwrap_or(0).max(1);
    let band = |(at, node): (usize, &crate::report::timeline::NodeTasks)| Band {
        name: format!("node {}", node.node),
        fill: FILLS[at % FILLS.len()],
        values: node.tasks.iter().map(|n| n.map(f64::from)).collect(),
    };
    Chart {
        title: "tasks, by the node they last ran on".to_owned(),
        is_of_tasks: true,
        most: f64::from(most),
        most_text: most.to_string(),
        bands: used(instance.tasks.iter().enumerate().map(band)),
        reason: None,
    }
}

fn pages(region: &RegionTimeline) -> Chart {
    let total = |at: usize| -> Option<f64> {
        let nodes: u32 = region.pages.iter().filter_map(|node| *node.pages.get(at)?).sum();
        let total = nodes + region.absent.get(at).copied().flatten()?;
        (total > 0).then_some(f64::from(total))
    };
    let shares = |counts: &[Option<u32>]| {
        let all = counts.iter().enumerate();
        all.map(|(at, n)| Some(100.0 * f64::from((*n)?) / total(at)?)).collect()
    };
    let nodes = region.pages.iter().enumerate().map(|(at, node)| Band {
        name: format!("node {}", node.node),
        fill: FILLS[at % FILLS.len()],
        values: shares(&node.pages),
    });
    let absent = Band { name: "absent".to_owned(), fill: ABSENT, values: shares(&region.absent) };
    Chart {
        title: format!("pages of {}, {}", region.region, unit::bytes(region.bytes as f64)),
        is_of_tasks: false,
        most: 100.0,
        most_text: "100 %".to_owned(),
        bands: used(nodes.chain([absent])),
        reason: region.reason.clone(),
    }
}

/// Bands that are not empty all the time.
fn used(bands: impl Iterator<Item = Band>) -> Vec<Band> {
    bands.filter(|band| band.values.iter().flatten().any(|value| *value > 0.0)).collect()
}

fn draw(body: &mut String, chart: &Chart, area: &Area, timeline: &Timeline, run: &Run) {
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

const NOT_KNOWN: &str = "not known";

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

fn text(body: &mut String, x: f64, y: f64, class: &str, words: &str) {
    let anchor = match class.rsplit(' ').next() {
        Some("mid") => " text-anchor=\"middle\"",
        Some("end") => " text-anchor=\"end\"",
        _ => "",
    };
    let words = escaped(words);
    let _ =
        writeln!(body, "<text x=\"{x:.1}\" y=\"{y:.1}\" class=\"{class}\"{anchor}>{words}</text>");
}

fn escaped(words: &str) -> String {
    words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture;
    use crate::report::timeline::NodePages;

    #[test]
    fn pictures_of_runs_with_memory() {
        for (name, report) in fixture::reports() {
            let svg = timeline_svg(&report);
            assert_eq!(svg.is_some(), report.runs[0].timeline.is_some(), "{name}");
            if let Some(svg) = svg {
                insta::assert_snapshot!(format!("svg_{name}"), svg);
            }
        }
    }

    #[test]
    fn bands_too_thin_for_their_names() {
        let mut report = fixture::reports()["memory_moved"].clone();
        let timeline = report.runs[0].timeline.as_mut().unwrap();
        let region = &mut timeline.instances[0].regions[0];
        let n = region.absent.len();
        let of = |node, pages: fn(usize) -> u32| NodePages {
            node,
            pages: (0..n).map(|at| Some(pages(at))).collect(),
        };
        region.pages = vec![
            of(0, |_| 5),
            of(1, |_| 4),
            of(2, |_| 6),
            of(3, |at| 30 - (at as u32) / 2),
            of(4, |_| 40),
            of(5, |at| (at as u32) / 2),
            of(6, |_| 0),
            of(7, |_| 3),
        ];
        region.absent = vec![Some(12); n];
        insta::assert_snapshot!("svg_thin_bands", timeline_svg(&report).unwrap());
    }

    #[test]
    fn nothing_to_draw() {
        let mut report = fixture::reports()["memory_moved"].clone();
        report.runs[0].timeline.as_mut().unwrap().at_s.clear();
        assert_eq!(timeline_svg(&report), None);
        report.runs.clear();
        assert_eq!(timeline_svg(&report), None);
    }

    #[test]
    fn names_from_a_profile_are_no_markup() {
        let mut report = fixture::reports()["memory_moved"].clone();
        report.profile.name = "a<b>&\"c\"".to_owned();
        let svg = timeline_svg(&report).unwrap();
        assert!(svg.contains("<title>a&lt;b&gt;&amp;&quot;c&quot;: tasks"));
        assert!(!svg.contains("<b>"));
    }

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
