//! Tables, bars, wrapped lines and numbers as the text format has them.
//!
//! Must not know: reports. Lines never end in spaces, so that a mail keeps them as they are.

use crate::base::unit;

use comfy_table::{CellAlignment, LineStyle, Table, TableStyle};

/// What stands for a number that there is none of.
pub(super) const NONE: &str = "-";

/// One line under the header and nothing else.
const LIGHT: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─'));

/// From here on there is room for all columns and two spaces between them.
pub(super) const WIDE: usize = 92;

/// A space at which no line is broken, so that a number stays with its unit.
const GLUE: &str = "\u{a0}";

/// Columns between two columns of a table, by the width there is.
pub(super) fn gap(width: usize) -> u16 {
    if width < WIDE { 1 } else { 2 }
}

/// A table of which the first column is of names and the others of numbers.
pub(super) fn table(header: &[&str], rows: &[Vec<String>], gap: u16) -> String {
    let mut table = Table::new();
    table.load_style(LIGHT);
    table.set_header(header.iter().copied());
    for row in rows {
        table.add_row(row.iter().map(String::as_str));
    }
    for (at, column) in table.column_iter_mut().enumerate() {
        let (left, alignment) = match at {
            0 => (0, CellAlignment::Left),
            _ => (gap, CellAlignment::Right),
        };
        column.set_padding((left, 0));
        column.set_cell_alignment(alignment);
    }
    lines(&table.trim_fmt())
}

/// Lines that are laid out already, below a title.
pub(super) fn lines(text: &str) -> String {
    let line = |line: &str| format!("  {line}").replace(GLUE, " ").trim_end().to_owned() + "\n";
    text.lines().map(line).collect()
}

/// Words in lines of at most `width`; the first begins with `first`, the others below its end.
pub(crate) fn wrapped(first: &str, text: &str, width: usize) -> String {
    let indent = first.chars().count();
    let mut lines = vec![first.to_owned()];
    let mut used = indent;
    for word in text.split_ascii_whitespace() {
        let length = word.chars().count();
        let space = usize::from(used > indent);
        if space > 0 && used + space + length > width {
            lines.push(" ".repeat(indent));
            used = indent;
        }
        let space = usize::from(used > indent);
        if let Some(line) = lines.last_mut() {
            *line += &" ".repeat(space);
            *line += word;
        }
        used += space + length;
    }
    lines.iter().map(|line| line.trim_end().replace(GLUE, " ") + "\n").collect()
}

/// Where nothing will be wrapped.
#[cfg(feature = "cli")]
pub(super) fn plain(text: &str) -> String {
    text.replace(GLUE, " ")
}

fn glued(text: String) -> String {
    text.replace(' ', GLUE)
}

/// A bar of `share` (0 to 1) of `width` columns in eighths; what is above 0 is never invisible.
pub(super) fn bar(share: f64, width: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (share.clamp(0.0, 1.0) * width as f64 * 8.0).round() as usize;
    let eighths = if share > 0.0 { eighths.max(1) } else { 0 };
    "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
}

pub(super) fn time(ns: Option<u64>) -> String {
    mean_time(ns.map(|ns| ns as f64))
}

pub(super) fn mean_time(ns: Option<f64>) -> String {
    ns.map_or(NONE.to_owned(), |ns| glued(unit::time(ns)))
}

pub(super) fn count(n: u64) -> String {
    glued(unit::count(n as f64))
}

/// `12.3 %` of a part, `<0.1 %` of one that is there but small; `-` of nothing.
pub(super) fn percent_of(part: u64, whole: u64) -> String {
    match whole {
        0 => NONE.to_owned(),
        _ => percent(part as f64 / whole as f64),
    }
}

pub(super) fn percent(share: f64) -> String {
    glued(unit::percent(share))
}

/// A name with its value, on one line.
pub(super) fn pair(name: &str, value: &str) -> String {
    glued(format!("{name} {value}"))
}

/// A metric's value in the unit that JSON has, for people.
pub(super) fn metric(key: &str, value: f64, unit_name: &str) -> String {
    glued(crate::metric::in_words(key, value, unit_name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_show_what_is_there() {
        let check = |share, expected: &str| assert_eq!(bar(share, 4), expected, "{share}");
        check(0.0, "");
        check(1e-9, "▏");
        check(0.5, "██");
        check(0.6, "██▍");
        check(1.0, "████");
        check(2.0, "████");
        check(f64::NAN, "");
    }

    #[test]
    fn wraps_below_the_first_word() {
        let check = |text: &str, width, expected: &str| {
            assert_eq!(wrapped("- ", text, width), expected);
        };
        check("", 10, "-\n");
        check("one two three", 9, "- one two\n  three\n");
        check("one two three", 8, "- one\n  two\n  three\n");
        check("incomprehensible", 8, "- incomprehensible\n");
        check("a\nb", 8, "- a b\n");
        check("some 4.80\u{a0}us", 12, "- some\n  4.80 us\n");
    }

    #[test]
    fn metrics_in_units_for_people() {
        let check = |key, value, unit, expected: &str| {
            assert_eq!(metric(key, value, unit).replace(GLUE, " "), expected);
        };
        check("messages_per_s", 72_000.0, "1/s", "72.0 k/s");
        check("messages_per_s", 12.0, "1/s", "12 /s");
        check("elapsed_s", 2.604, "s", "2.60 s");
        check("found_ready_share", 0.611, "1", "61.1 %");
        check("kernel_migrations", 36_000.0, "1", "36.0 k");
        check("x", 1.5, "GB/s", "1.5 GB/s");
        check("copy_bytes_per_s", 51_344_887_572.4, "B/s", "51.3 GB/s");
        check("copy_bytes_per_s", 12.0, "B/s", "12 B/s");
    }
}
