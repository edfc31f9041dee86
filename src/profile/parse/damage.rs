//! Texts that are no profile at all, or one with a piece torn out: refused without a panic.

use crate::profile::{Faults, Profile, Source, catalogue};
use proptest::prelude::*;

fn parse(text: &str) -> Result<Profile, Faults> {
    Profile::parse("test", Source { path: "test.toml".into(), text: text.into() })
}

/// So many cases, and no file of those that failed.
fn cases(count: u32) -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(count) }
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn never_panics_on_any_text(text in any::<Vec<u8>>()) {
        let text = String::from_utf8_lossy(&text).into_owned();
        if let Err(faults) = parse(&text) {
            prop_assert!(!faults.to_string().is_empty());
        }
    }

    /// A sound profile with a piece cut out or replaced: reads, or says where it does not.
    #[test]
    fn never_panics_on_a_damaged_profile(
        which in 0..catalogue::BUILTINS.len(),
        at in any::<prop::sample::Index>(),
        length in 0..12usize,
        put in "[\\[\\]{}\"=,.#a-z0-9%é\n-]{0,6}",
    ) {
        let mut text: Vec<char> = catalogue::BUILTINS[which].text.chars().collect();
        let at = at.index(text.len());
        let end = (at + length).min(text.len());
        text.splice(at..end, put.chars());
        let text: String = text.into_iter().collect();
        if let Err(faults) = parse(&text) {
            prop_assert!(faults.list.iter().all(|fault| text.get(fault.span.clone()).is_some()));
            prop_assert!(!faults.to_string().is_empty());
        }
    }
}
