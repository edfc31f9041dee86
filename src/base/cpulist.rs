//! Sets of CPUs in the kernel's list notation (`0-3,8`, `0-15:2/4`), without an upper limit.
//!
//! Kept as a sorted list of ids: sets here are built once and walked, and a fixed-size bit set
//! (1,024 CPUs in glibc and most crates) is the very bug this avoids.

use crate::base::CpuId;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A sorted set of CPUs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CpuList(Vec<CpuId>);

/// What is wrong with the text of a CPU list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{part}` is not a CPU or a range of CPUs such as `0-3`")]
pub struct CpuListError {
    pub part: String,
}

/// Largest CPU number accepted; the kernel's own limit is 8,192 (CONFIG_NR_CPUS on x86).
const LARGEST: u32 = 65_535;

impl CpuList {
    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn contains(&self, cpu: CpuId) -> bool {
        self.0.binary_search(&cpu).is_ok()
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = CpuId> + '_ {
        self.0.iter().copied()
    }

    pub fn get(&self, index: usize) -> Option<CpuId> {
        self.0.get(index).copied()
    }

    /// The CPUs that are in both.
    pub fn and(&self, other: &CpuList) -> CpuList {
        self.iter().filter(|&cpu| other.contains(cpu)).collect()
    }

    /// The CPUs that are here and not in `other`.
    pub fn without(&self, other: &CpuList) -> CpuList {
        self.iter().filter(|&cpu| !other.contains(cpu)).collect()
    }
}

impl FromIterator<CpuId> for CpuList {
    fn from_iter<I: IntoIterator<Item = CpuId>>(cpus: I) -> Self {
        let mut cpus: Vec<CpuId> = cpus.into_iter().collect();
        cpus.sort_unstable();
        cpus.dedup();
        CpuList(cpus)
    }
}

impl FromStr for CpuList {
    type Err = CpuListError;

    /// Reads `3`, `0-3,8`, and `0-15:2/4` (of every 4 from 0 the first 2); spaces are allowed.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut cpus = Vec::new();
        for part in text.trim().split(',').map(str::trim) {
            if part.is_empty() && text.trim().is_empty() {
                break;
            }
            let range = range(part).ok_or_else(|| CpuListError { part: part.to_owned() })?;
            cpus.extend(range.map(CpuId));
        }
        Ok(cpus.into_iter().collect())
    }
}

fn range(part: &str) -> Option<impl Iterator<Item = u32> + use<>> {
    let number = |text: &str| text.parse().ok().filter(|&n: &u32| n <= LARGEST);
    let (range, stride) = part.split_once(':').unwrap_or((part, "1/1"));
    let (used, group) = stride.split_once('/')?;
    let (used, group) = (number(used)?, number(group).filter(|&group| group > 0)?);
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    let (first, last) = (number(first)?, number(last)?);
    let whole = first <= last && 0 < used && used <= group;
    whole.then(|| (first..=last).filter(move |cpu| (cpu - first) % group < used))
}

impl fmt::Display for CpuList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0.as_slice();
        let mut comma = "";
        while let Some(&CpuId(first)) = rest.first() {
            let run = rest.iter().zip(first..).take_while(|(cpu, n)| cpu.0 == *n).count();
            match run {
                1 => write!(f, "{comma}{first}")?,
                _ => write!(f, "{comma}{first}-{}", rest[run - 1])?,
            }
            rest = &rest[run..];
            comma = ",";
        }
        Ok(())
    }
}

impl TryFrom<String> for CpuList {
    type Error = CpuListError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<CpuList> for String {
    fn from(list: CpuList) -> String {
        list.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_kernels_notation() {
        let check = |text: &str, expected: &str| {
            assert_eq!(text.parse::<CpuList>().unwrap().to_string(), expected, "of {text:?}");
        };
        check("", "");
        check("3", "3");
        check("0-3,8", "0-3,8");
        check("8,0-1,2,3\n", "0-3,8");
        check("0-7:2/4", "0-1,4-5");
        check("1022-1026", "1022-1026");
    }

    #[test]
    fn refuses_what_is_not_a_list() {
        for text in ["x", "3-1", "1,", "1--2", "-1", "0-3:0/2", "0-3:3/2", "0-3:1/0", "99999999"] {
            assert!(text.parse::<CpuList>().is_err(), "{text:?} was read");
        }
    }

    #[test]
    fn sets() {
        let list = |text: &str| text.parse::<CpuList>().unwrap();
        assert_eq!(list("0-5").and(&list("4-8")), list("4-5"));
        assert_eq!(list("0-5").without(&list("1-4")), list("0,5"));
    }
}
