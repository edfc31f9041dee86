//! What is wrong in a profile, where, and what would help; every fault of a file at once.
//!
//! Must not know: how a fault was found. Parsing and planning both report through this.

use crate::profile::{Source, Span};
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use std::fmt;

/// One thing wrong in a profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Lower case, without the place: "unknown key `sise` in [team.reader]".
    pub message: String,
    /// The offending text; empty when the profile as a whole is meant.
    pub span: Span,
    /// What would help: "did you mean `size`?".
    pub help: Option<String>,
}

impl Fault {
    pub fn new(span: Span, message: impl Into<String>) -> Fault {
        Fault { message: message.into(), span, help: None }
    }

    /// The same with what would help.
    pub fn with_help(mut self, help: impl Into<String>) -> Fault {
        self.help = Some(help.into());
        self
    }
}

/// All faults of one profile, at least one. Prints with file, line, column and the offending text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Faults {
    pub path: String,
    pub text: String,
    pub list: Vec<Fault>,
}

/// With or without terminal colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    Plain,
    Styled,
}

/// So many are printed: a file with more is broken at its start, or is no profile.
const PRINTED_MAX: usize = 50;

impl Faults {
    pub fn new(source: &Source, list: Vec<Fault>) -> Faults {
        Faults { path: source.path.clone(), text: source.text.clone(), list }
    }

    /// The faults as text, one blank line between them, without a newline at the end.
    pub fn render(&self, look: Look) -> String {
        let renderer = match look {
            Look::Plain => Renderer::plain(),
            Look::Styled => Renderer::styled(),
        };
        let printed = self.list.iter().take(PRINTED_MAX);
        let mut parts: Vec<String> = printed.map(|fault| self.one(&renderer, fault)).collect();
        if let Some(left @ 1..) = self.list.len().checked_sub(PRINTED_MAX) {
            parts.push(format!("and {left} more faults"));
        }
        parts.join("\n\n")
    }

    fn one(&self, renderer: &Renderer, fault: &Fault) -> String {
        let title = Level::ERROR.primary_title(fault.message.as_str());
        let help = fault.help.as_deref();
        let whole = fault.span.is_empty() && fault.span.start == 0;
        if whole || self.text.is_empty() {
            let mut text = renderer.render(&[Group::with_title(title)]);
            if !self.path.is_empty() {
                text.push_str(&format!("\n --> {}", self.path));
            }
            text.push_str(&help.map_or(String::new(), |help| format!("\n  = help: {help}")));
            return text;
        }
        let mark = AnnotationKind::Primary.span(within(&self.text, fault.span.clone()));
        let mut snippet = Snippet::source(self.text.as_str()).annotation(mark);
        if !self.path.is_empty() {
            snippet = snippet.path(self.path.as_str());
        }
        let group = title.element(snippet).elements(help.map(|help| Level::HELP.message(help)));
        let text = renderer.render(&[group]);
        text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
    }
}

/// The span within the text and on character boundaries, whoever made it.
fn within(text: &str, span: Span) -> Span {
    let floor = |mut at: usize| {
        at = at.min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let start = floor(span.start);
    start..floor(span.end).max(start)
}

impl std::error::Error for Faults {}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(Look::Plain))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(text: &str, list: Vec<Fault>) -> Faults {
        let source = Source { path: "my.toml".into(), text: text.into() };
        Faults::new(&source, list)
    }

    #[test]
    fn prints_place_text_and_help() {
        let text = "about = \"x\"\n[team.reader]\nsise = 3\n";
        let known = Fault::new(26..30, "unknown key `sise` in [team.reader]")
            .with_help("did you mean `size`?");
        let whole = Fault::new(0..0, "no team: a profile needs one");
        insta::assert_snapshot!(faults(text, vec![known, whole]), @r"
        error: unknown key `sise` in [team.reader]
         --> my.toml:3:1
          |
        3 | sise = 3
          | ^^^^
          |
          = help: did you mean `size`?

        error: no team: a profile needs one
         --> my.toml
        ");
    }

    #[test]
    fn prints_without_a_path_or_text() {
        let source = Source::default();
        let list = vec![Fault::new(5..9, "unknown channel `inbox`").with_help("there are none")];
        insta::assert_snapshot!(Faults::new(&source, list), @r"
        error: unknown channel `inbox`
          = help: there are none
        ");
    }

    #[test]
    fn survives_spans_outside_the_text() {
        for span in [0..1, 1..2, 2..900, 700..900] {
            let printed = faults("éé", vec![Fault::new(span, "odd")]).to_string();
            assert!(printed.starts_with("error: odd"), "{printed}");
        }
    }

    #[test]
    fn leaves_out_what_nobody_would_read() {
        let list = (0..60).map(|i| Fault::new(0..1, format!("fault {i}"))).collect();
        let printed = faults("text", list).to_string();
        assert!(printed.ends_with("\n\nand 10 more faults"), "{printed}");
        assert_eq!(printed.matches("error: ").count(), PRINTED_MAX);
    }
}
