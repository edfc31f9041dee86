//! The report for people: the result first, then where it comes from, then its doubts.
//!
//! Must not know: how numbers came about. Each file has sections; this one has their order.
//! Several runs are printed as a summary and the details of the median run.

mod arrivals;
mod bandwidth;
mod charged;
mod chart;
mod headline;
mod instances;
mod latency;
mod layout;
mod memory;
mod placement;
mod runs;
mod sync;
mod timeline;
mod trust;

use crate::output::{NARROWEST, Options, OutputError};
use crate::report::Report;

#[cfg(feature = "cli")]
pub(crate) use layout::wrapped;

/// A metric's value as the report has it.
#[cfg(feature = "cli")]
pub(crate) fn value(key: &str, value: f64, unit: &str) -> String {
    layout::plain(&layout::metric(key, value, unit))
}

pub(super) fn render(report: &Report, options: &Options) -> Result<String, OutputError> {
    let width = options.width.max(NARROWEST);
    let mut sections = vec![headline::head(report, width)];
    sections.extend(trust::broken(report, width));
    sections.extend(runs::summary(report, width));
    if let Some(run) = report.median_run() {
        sections.extend(memory::trials(report, width));
        sections.extend(runs::which(report, run, width));
        sections.push(headline::result(report, run, width));
        sections.extend(instances::sections(&report.host, run, width));
        sections.extend(arrivals::section(run, width));
        sections.extend(latency::sections(run, width));
        sections.push(sync::section(run, width));
        sections.extend(memory::sections(run, width));
        sections.extend(bandwidth::section(run, width));
        sections.extend(timeline::section(run, width));
        sections.extend(charged::section(run, width));
        sections.extend(placement::sections(&report.host, run, width));
        sections.extend(trust::sections(report, run, width));
    }
    sections.retain(|section| !section.is_empty());
    Ok(sections.join("\n"))
}
