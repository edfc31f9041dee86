//! Lists of numbers as the kernel writes them: `0-1,3`.
//!
//! Written anew, so that the product's own reader is not its own witness. Must not know: what is
//! numbered.

use std::collections::BTreeSet;

pub type List = BTreeSet<u32>;

/// The numbers of a list; panics at what is none, since the kernel or a row wrote it.
pub fn parse(text: &str) -> List {
    let number = |text: &str| text.parse::<u32>().unwrap_or_else(|_| panic!("a CPU: `{text}`"));
    let ranges = text.trim().split(',').filter(|range| !range.is_empty());
    ranges
        .flat_map(|range| match range.split_once('-') {
            Some((first, last)) => number(first)..=number(last),
            None => number(range)..=number(range),
        })
        .collect()
}

/// The mask of some CPUs in hexadecimal, as taskset takes it.
pub fn mask(cpus: &List) -> String {
    format!("{:x}", cpus.iter().fold(0u64, |mask, cpu| mask | 1 << cpu))
}

#[test]
fn lists_and_masks() {
    let check = |text: &str, expected: &[u32], expected_mask: &str| {
        let list = parse(text);
        assert_eq!(list.iter().copied().collect::<Vec<u32>>(), expected, "{text}");
        assert_eq!(mask(&list), expected_mask, "{text}");
    };
    check("\n", &[], "0");
    check("0-1,3\n", &[0, 1, 3], "b");
    check("7", &[7], "80");
}
