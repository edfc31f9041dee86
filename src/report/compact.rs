//! JSON for people and machines: pretty, but an array of plain values is one line, as timelines
//! are long.
//!
//! Must not know: what is written.

use serde::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};
use std::io::{Result, Write};

/// Pretty, without a newline at the end.
pub(super) fn to_string(value: &impl Serialize) -> serde_json::Result<String> {
    let mut bytes = Vec::new();
    value.serialize(&mut Serializer::with_formatter(&mut bytes, Compact::default()))?;
    // The serializer writes UTF-8 only.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A comma and a line break are owed until it is seen whether the next value is a plain one.
#[derive(Default)]
struct Compact<'a> {
    pretty: PrettyFormatter<'a>,
    owed: Owed,
    /// By array that is open: whether it is laid out in lines.
    lines: Vec<bool>,
}

#[derive(Default, Clone, Copy, PartialEq)]
enum Owed {
    #[default]
    Nothing,
    First,
    Next,
}

impl Compact<'_> {
    /// Pays with a line break before what has parts.
    fn line<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        let owed = std::mem::take(&mut self.owed);
        if owed == Owed::Nothing {
            return Ok(());
        }
        if let Some(lines) = self.lines.last_mut() {
            *lines = true;
        }
        self.pretty.begin_array_value(writer, owed == Owed::First)
    }

    /// Pays with a space before a plain value.
    fn space<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        match std::mem::take(&mut self.owed) {
            Owed::Next => writer.write_all(b", "),
            Owed::First | Owed::Nothing => Ok(()),
        }
    }
}

/// Plain values: the default way, after what is owed.
macro_rules! plain {
    ($($name:ident: $type:ty),*) => {
        $(fn $name<W: ?Sized + Write>(&mut self, writer: &mut W, value: $type) -> Result<()> {
            self.space(writer)?;
            self.pretty.$name(writer, value)
        })*
    };
}

impl Formatter for Compact<'_> {
    plain! { write_bool: bool, write_i8: i8, write_i16: i16, write_i32: i32, write_i64: i64 }
    plain! { write_u8: u8, write_u16: u16, write_u32: u32, write_u64: u64, write_i128: i128 }
    plain! { write_u128: u128, write_f32: f32, write_f64: f64, write_number_str: &str }

    fn write_null<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        self.space(writer)?;
        self.pretty.write_null(writer)
    }

    fn begin_string<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        self.space(writer)?;
        self.pretty.begin_string(writer)
    }

    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        self.line(writer)?;
        self.lines.push(false);
        self.pretty.begin_array(writer)
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, _: &mut W, first: bool) -> Result<()> {
        self.owed = if first { Owed::First } else { Owed::Next };
        Ok(())
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        // The pretty one remembers by this whether to break the line before `]`.
        match self.lines.last() {
            Some(true) => self.pretty.end_array_value(writer),
            _ => Ok(()),
        }
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        self.lines.pop();
        self.pretty.end_array(writer)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        self.line(writer)?;
        self.pretty.begin_object(writer)
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        self.pretty.end_object(writer)
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> Result<()> {
        self.pretty.begin_object_key(writer, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        self.pretty.begin_object_value(writer)
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        self.pretty.end_object_value(writer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn plain_values_share_a_line() {
        let check = |value: serde_json::Value, expected: &str| {
            let text = to_string(&value).unwrap();
            assert_eq!(text, expected);
            assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
        };
        check(json!([]), "[]");
        check(json!([1, null, 2.5, "a, b", true, -3]), r#"[1, null, 2.5, "a, b", true, -3]"#);
        check(json!([[1, 2], [], [3]]), "[\n  [1, 2],\n  [],\n  [3]\n]");
        check(json!({"a": [1, 2], "b": []}), "{\n  \"a\": [1, 2],\n  \"b\": []\n}");
        check(
            json!([{"a": 1}, {"b": [{}]}]),
            "[\n  {\n    \"a\": 1\n  },\n  {\n    \"b\": [\n      {}\n    ]\n  }\n]",
        );
        check(json!([1, {"a": 2}, 3]), "[1,\n  {\n    \"a\": 2\n  }, 3\n]");
    }
}
