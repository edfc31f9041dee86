//! The report as a JSON document: writing it, and reading one that this or an older version wrote.
//!
//! The version is looked at before anything else, so that a document of another version is refused
//! by its name and not by whichever field it lacks. Fields added later have defaults. Must not
//! know: files, how a report is shown.

use crate::report::{Report, SCHEMA, compact};
use serde::Deserialize;

/// Why a report could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    #[error("reading a report: {0}")]
    Json(serde_json::Error),
    #[error(
        "reading a report: its schema is {found}, and this version reads {SCHEMA}; \
         it was written by {tool}, which can print it"
    )]
    Schema { found: u64, tool: String },
    #[error("writing a report as JSON: {0}")]
    Write(serde_json::Error),
}

/// What every version has.
#[derive(Deserialize)]
struct Version {
    schema: u64,
    #[serde(default)]
    tool: Option<String>,
}

impl Report {
    /// Pretty, with a newline at the end; the same report gives the same bytes.
    pub fn to_json(&self) -> Result<String, ReportError> {
        let mut text = compact::to_string(self).map_err(ReportError::Write)?;
        text.push('\n');
        Ok(text)
    }

    pub fn from_json(text: &str) -> Result<Report, ReportError> {
        let version: Version = serde_json::from_str(text).map_err(ReportError::Json)?;
        if version.schema != u64::from(SCHEMA) {
            return Err(ReportError::Schema {
                found: version.schema,
                tool: version.tool.unwrap_or_else(|| "an unknown tool".to_owned()),
            });
        }
        serde_json::from_str(text).map_err(ReportError::Json)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture;

    #[test]
    fn comes_back_as_it_was() {
        for report in fixture::reports().into_values() {
            let text = report.to_json().unwrap();
            assert_eq!(Report::from_json(&text).unwrap(), report);
        }
    }

    #[test]
    fn reads_what_lacks_later_fields_and_has_unknown_ones() {
        let report = &fixture::reports()["plain"];
        let mut value = serde_json::to_value(report).unwrap();
        value.as_object_mut().unwrap().remove("summary");
        value["from_the_future"] = 1.into();
        let run = value["runs"][0].as_object_mut().unwrap();
        run.remove("unchecked");
        run.remove("placement");
        for instance in run["residency"]["instances"].as_array_mut().unwrap() {
            instance.as_object_mut().unwrap().remove("cpu_from");
        }
        run["harness"].as_object_mut().unwrap().remove("share");
        let mut expected = report.clone();
        expected.runs[0].harness.share = None;
        expected.runs[0].residency.instances[0].cpu_from = None;
        assert_eq!(Report::from_json(&value.to_string()).unwrap(), expected);
    }

    #[test]
    fn refuses_other_documents_by_name() {
        let check = |text: &str, expected: &str| {
            let error = Report::from_json(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        };
        check(r#"{"schema": 2, "tool": "schedload 9.0"}"#, "its schema is 2");
        check(r#"{"schema": 2, "tool": "schedload 9.0"}"#, "by schedload 9.0");
        check(r#"{"schema": 1}"#, "missing field");
        check(r#"{"schema": "x"}"#, "invalid type");
        check("{}", "missing field `schema`");
        check("", "EOF");
    }
}
