//! Where the pages of mappings are, by /proc/PID/numa_maps.
//!
//! The file walks all page tables of the process, so it is no thing to read while one measures.
//! It tells where mappings begin and not where they end. Must not know: what is mapped there.

use crate::base::{NodeId, Reading, State};
use crate::host::files::parsed;
use std::ops::Range;

/// In reasons, whatever process it is.
pub const NUMA_MAPS: &str = "/proc/self/numa_maps";

/// One line (fs/proc/task_mmu.c, show_numa_map, v6.12).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    /// Its first address.
    pub start: u64,
    /// As the kernel prints it (mm/mempolicy.c, mpol_to_str): `default`, `bind:0-1`,
    /// `prefer (many):1`, `interleave=static:0,2`.
    pub policy: String,
    /// Size of the kernel's pages here (bytes): that of huge pages only for hugetlbfs, since
    /// transparent huge pages are counted as the base pages they are made of. `None` for a mapping
    /// without any page, where the kernel does not say.
    pub page_bytes: Option<u64>,
    /// Pages by node, sorted, without nodes that have none.
    pub pages: Vec<(NodeId, u64)>,
}

impl Mapping {
    /// Bytes on the node.
    pub fn bytes_on(&self, node: NodeId) -> u64 {
        let pages = self.pages.iter().find(|(id, _)| *id == node).map_or(0, |(_, pages)| *pages);
        pages.saturating_mul(self.page_bytes.unwrap_or(0))
    }

    fn parse(line: &str) -> Reading<Mapping> {
        let (head, words) = policy_and_words(line);
        let Some((start, policy)) = head else {
            return unknown(line);
        };
        let Ok(start) = u64::from_str_radix(start, 16) else {
            return unknown(line);
        };
        let mut mapping = Mapping { start, policy, page_bytes: None, pages: Vec::new() };
        for word in words {
            let Some((key, value)) = word.split_once('=') else {
                continue;
            };
            let node = key.strip_prefix('N').and_then(|id| id.parse().ok());
            if node.is_none() && key != "kernelpagesize_kB" {
                continue;
            }
            let number = match parsed(NUMA_MAPS, value, "a number") {
                Reading::Value(number) => number,
                Reading::Absent(absence) => return Reading::Absent(absence),
            };
            match node {
                Some(id) => mapping.pages.push((NodeId(id), number)),
                None => mapping.page_bytes = Some(number.saturating_mul(1024)),
            }
        }
        mapping.pages.sort_unstable();
        match (mapping.pages.is_empty(), mapping.page_bytes) {
            (false, None) => unknown(line),
            _ => Reading::Value(mapping),
        }
    }
}

fn unknown<T>(line: &str) -> Reading<T> {
    let shown: String = line.chars().take(60).collect();
    Reading::absent(State::NotSupported, format!("{NUMA_MAPS} has a line of another form: {shown}"))
}

/// Address and policy, and the words behind. Two names of policies have a space in them.
fn policy_and_words(line: &str) -> (Option<(&str, String)>, impl Iterator<Item = &str>) {
    let mut words = line.split_ascii_whitespace();
    let start = words.next();
    let policy = words.next().map(str::to_owned);
    let mut words = words.peekable();
    let policy = policy.map(|first| match words.peek() {
        Some(second)
            if first == "weighted" || (first == "prefer" && second.starts_with("(many)")) =>
        {
            let whole = format!("{first} {second}");
            words.next();
            whole
        }
        _ => first,
    });
    (start.zip(policy), words)
}

/// The mapping that `address` is in: the last that begins at or before it. The address must be
/// mapped, since the file does not say where mappings end.
pub fn mapping_at(text: &str, address: u64) -> Reading<Mapping> {
    let before = lines(text).take_while(|(start, _)| *start <= address);
    match before.last() {
        Some((_, line)) => Mapping::parse(line),
        None => none_at(text, address),
    }
}

/// All mappings with an address in `range`: a region is several where its slices have policies of
/// their own. The first may begin before the range and the last end behind it, where the kernel
/// made one mapping of neighbours that are alike.
pub fn mappings_in(text: &str, range: Range<u64>) -> Reading<Vec<Mapping>> {
    let first = mapping_at(text, range.start);
    let inside = lines(text).filter(|(start, _)| *start > range.start && *start < range.end);
    let rest = inside.map(|(_, line)| Mapping::parse(line));
    let mut mappings = Vec::new();
    for mapping in std::iter::once(first).chain(rest) {
        match mapping {
            Reading::Value(mapping) => mappings.push(mapping),
            Reading::Absent(absence) => return Reading::Absent(absence),
        }
    }
    Reading::Value(mappings)
}

/// The lines with their first address, by which the file is sorted.
fn lines(text: &str) -> impl Iterator<Item = (u64, &str)> {
    text.lines().filter_map(|line| {
        let (start, _) = line.split_once(' ')?;
        Some((u64::from_str_radix(start, 16).ok()?, line))
    })
}

fn none_at(text: &str, address: u64) -> Reading<Mapping> {
    if text.trim().is_empty() {
        // A process that is ending has no mappings; with another's, ptrace rights decide.
        return Reading::absent(State::Absent, format!("{NUMA_MAPS} is empty"));
    }
    if lines(text).next().is_none() {
        return unknown(text.lines().next().unwrap_or(""));
    }
    Reading::absent(State::Absent, format!("{NUMA_MAPS} has no mapping at {address:x}"))
}

#[cfg(test)]
mod tests;
