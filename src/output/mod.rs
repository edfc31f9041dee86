//! Renderers of reports: a row and a file for each format.
//!
//! Text is for people and may change with any version; `json` and `flat` are interfaces. Must not
//! know: how a number came about. Everything shown is in the report; nothing is judged here.

mod flat;
mod json;
mod svg;
mod text;

pub use svg::timeline_svg;
#[cfg(feature = "cli")]
pub(crate) use text::{value, wrapped};

use crate::report::{Report, ReportError};

/// How to render; what a format has no use for it ignores.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Columns that text may take; below [`NARROWEST`] it is taken as that.
    pub width: usize,
}

/// Tables do not get narrower than this.
pub const NARROWEST: usize = 80;

impl Default for Options {
    fn default() -> Self {
        Options { width: 100 }
    }
}

/// A way to print a report.
pub struct Format {
    pub name: &'static str,
    pub about: &'static str,
    pub render: fn(&Report, &Options) -> Result<String, OutputError>,
}

/// Why a report could not be rendered.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    #[error("rendering as json: {0}")]
    Json(#[from] ReportError),
}

/// All formats, the default first.
pub const FORMATS: &[Format] = &[
    Format {
        name: "text",
        about: "tables for people: the result, latencies, migrations, where tasks ran, doubts",
        render: text::render,
    },
    Format {
        name: "json",
        about: "the whole report with its histograms, which `schedload report` reads back",
        render: json::render,
    },
    Format {
        name: "flat",
        about: "a line `key: value` for each number, to be read by a line-based harness",
        render: flat::render,
    },
];

/// The format of that name.
pub fn find(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture;

    fn render(format: &Format, report: &Report, width: usize) -> String {
        (format.render)(report, &Options { width }).unwrap()
    }

    #[test]
    fn every_format_of_every_report_as_stored() {
        for (name, report) in fixture::reports() {
            for format in FORMATS {
                // Histograms are opaque to a reader of the snapshots.
                let mut report = report.clone();
                if format.name == "json" {
                    let rows = report.runs.iter_mut().flat_map(|run| &mut run.latency);
                    rows.for_each(|row| row.hdr = "HdrHistogram V2".to_owned());
                }
                let rendered = render(format, &report, 100);
                insta::assert_snapshot!(format!("{}_{name}", format.name), rendered);
            }
        }
        let narrow = render(&FORMATS[0], &fixture::reports()["plain"], 80);
        insta::assert_snapshot!("text_plain_80_columns", narrow);
        for name in ["two_instances", "memory_moved"] {
            let narrow = render(&FORMATS[0], &fixture::reports()[name], 80);
            insta::assert_snapshot!(format!("text_{name}_80_columns"), narrow);
        }
    }

    #[test]
    fn lines_of_text_fit() {
        let text = find("text").unwrap();
        for (name, mut report) in fixture::reports() {
            report.profile.about = "a word and another ".repeat(20);
            let params = (0..40).map(|n| (format!("parameter_{n}"), "123456789".to_owned()));
            report.profile.params.extend(params);
            for width in [80, 93, 100, 140] {
                for line in render(text, &report, width).lines() {
                    assert!(line.chars().count() <= width, "{name} at {width}: {line}");
                    assert_eq!(line, line.trim_end(), "{name} at {width}");
                }
            }
        }
    }

    #[test]
    fn flat_has_one_line_for_each_key() {
        for (name, report) in fixture::reports() {
            let flat = render(find("flat").unwrap(), &report, 100);
            let mut keys: Vec<&str> = flat
                .lines()
                .map(|line| line.split_once(": ").map_or(line, |(key, _)| key))
                .collect();
            let n = keys.len();
            keys.sort_unstable();
            keys.dedup();
            assert_eq!(keys.len(), n, "a key comes twice in {name}");
            let strange = keys.iter().find(|key| key.contains(char::is_whitespace));
            assert_eq!(strange, None, "a line without a key in {name}");
        }
    }

    #[test]
    fn a_report_without_runs_is_printed_too() {
        let mut report = fixture::reports()["plain"].clone();
        report.runs.clear();
        for format in FORMATS {
            assert!(!render(format, &report, 100).is_empty(), "{}", format.name);
        }
    }
}
