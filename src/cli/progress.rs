//! How far a run is, on stderr and only if that is a terminal.
//!
//! Must not know: what is run. Drawing happens in the thread that coordinates the run, outside the
//! data plane; where there is nothing to draw, that thread is left asleep.

use crate::base::unit;
use crate::run::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A line that is redrawn, and gone at the end.
pub struct Line {
    bar: ProgressBar,
}

/// Whether there is a line at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Show {
    OnTerminal,
    Never,
}

const PARTS: u64 = 1000;

impl Line {
    pub fn new(show: Show) -> Line {
        let target = match show {
            Show::OnTerminal => ProgressDrawTarget::stderr_with_hz(10),
            Show::Never => ProgressDrawTarget::hidden(),
        };
        let bar = ProgressBar::with_draw_target(Some(PARTS), target);
        if let Ok(style) = ProgressStyle::with_template("{prefix}  [{bar:30}]  {msg}") {
            bar.set_style(style.progress_chars("=> "));
        }
        Line { bar }
    }

    /// Whether anybody will see it.
    pub fn is_shown(&self) -> bool {
        !self.bar.is_hidden()
    }

    /// Which run or point it is.
    pub fn title(&self, text: String) {
        self.bar.set_prefix(text);
        self.bar.set_position(0);
    }

    pub fn draw(&self, progress: Progress) {
        let (text, part) = describe(progress);
        self.bar.set_message(text);
        self.bar.set_position((part * PARTS as f64) as u64);
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// In words, and the part of the phase that is over.
fn describe(progress: Progress) -> (String, f64) {
    let part = |done: u64, of: u64| (done as f64 / of.max(1) as f64).min(1.0);
    let time = |ns: u64| unit::time(ns as f64);
    match progress {
        Progress::Starting { ready, of } => (format!("{ready} of {of} ready"), part(ready, of)),
        Progress::Warmup { passed_ns, of_ns } => {
            let text = format!("warm-up, {} of {}", time(passed_ns), time(of_ns));
            (text, part(passed_ns, of_ns))
        }
        Progress::Window { passed_ns, of_ns: Some(of_ns) } => {
            let text = format!("{} of {}", time(passed_ns), time(of_ns));
            (text, part(passed_ns, of_ns))
        }
        Progress::Window { passed_ns, of_ns: None } => (time(passed_ns), 0.0),
        Progress::Stopping => ("stopping".to_string(), 1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_in_words() {
        let check = |progress, text: &str, part| {
            assert_eq!(describe(progress), (text.to_string(), part));
        };
        check(Progress::Starting { ready: 1, of: 4 }, "1 of 4 ready", 0.25);
        check(Progress::Starting { ready: 0, of: 0 }, "0 of 0 ready", 0.0);
        let of_ns = Some(2_000_000_000);
        let window = Progress::Window { passed_ns: 1_000_000_000, of_ns };
        check(window, "1.00 s of 2.00 s", 0.5);
        let late = Progress::Window { passed_ns: 3_000_000_000, of_ns };
        check(late, "3.00 s of 2.00 s", 1.0);
        let open = Progress::Window { passed_ns: 1_000_000_000, of_ns: None };
        check(open, "1.00 s", 0.0);
    }
}
