//! The timeline of a run as a picture: for each instance its tasks and its pages, by node.
//!
//! One file without scripts, fonts or links. Each band has its name on it or beside it, so there is
//! no legend; colours follow the reader's light or dark scheme. A look holds until the next one.
//! Must not know: verdicts.

mod plot;

use crate::base::unit;
use crate::output::svg::plot::{Area, Band, Chart, LETTER, PLOT_HEIGHT, draw, escaped, text};
use crate::report::{InstanceTimeline, RegionTimeline, Report, Run, Timeline};

const WIDTH: f64 = 960.0;
const MARGIN: f64 = 16.0;
/// Left of a plot for its scale, right of it for names that do not fit in.
const SCALE: f64 = 42.0;
const NAMES: f64 = 52.0;
/// Above a plot its title, below it the times.
const TITLE: f64 = 20.0;
const TIMES: f64 = 20.0;
/// Below that the next row, with the name of its instance.
const BETWEEN: f64 = 22.0;
const MOST_IN_A_ROW: usize = 3;
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
    for fact in facts.iter().flat_map(|fact| pieces(fact, most)) {
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

/// A fact that is longer than a line, as lines: broken at its commas, where it has any.
fn pieces(fact: &str, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for part in fact.split_inclusive(", ") {
        match lines.last_mut() {
            Some(line) if line.chars().count() + part.trim_end().chars().count() <= most => {
                *line += part;
            }
            _ => lines.push(part.to_owned()),
        }
    }
    lines.into_iter().map(|line| line.trim_end().to_owned()).collect()
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
    let absent = Band { name: "not seen".to_owned(), fill: ABSENT, values: shares(&region.absent) };
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
    fn long_facts_are_broken_at_their_commas() {
        let check = |fact, expected: &[&str]| assert_eq!(pieces(fact, 8), expected, "{fact}");
        check("a 1, b 2", &["a 1, b 2"]);
        check("a 1, b 2, c 3", &["a 1,", "b 2, c 3"]);
        check("longer than a line", &["longer than a line"]);
    }

    #[test]
    fn names_from_a_profile_are_no_markup() {
        let mut report = fixture::reports()["memory_moved"].clone();
        report.profile.name = "a<b>&\"c\"".to_owned();
        let svg = timeline_svg(&report).unwrap();
        assert!(svg.contains("<title>a&lt;b&gt;&amp;&quot;c&quot;: tasks"));
        assert!(!svg.contains("<b>"));
    }
}
