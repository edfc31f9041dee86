//! The report as the JSON document that it is: pretty, one newline at the end.
//!
//! Must not know: its fields (`report::stored` writes and reads them).

use crate::output::{Options, OutputError};
use crate::report::Report;

pub(super) fn render(report: &Report, _: &Options) -> Result<String, OutputError> {
    Ok(report.to_json()?)
}
