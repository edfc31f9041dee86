//! Where the pages of a process are, as /proc/PID/numa_maps says.
//!
//! It walks the process's page tables, which is another way to the same truth than move_pages(2)
//! (fs/proc/task_mmu.c, show_numa_map, v6.12), so it is the witness for what the product says of
//! memory. Must not know: what the product says.

use super::kernel_files;
use std::collections::BTreeMap;

/// One mapping with its policy and its pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    pub start: u64,
    /// As the kernel writes it: `default`, `bind:0`, `interleave:0-1`.
    pub policy: String,
    /// The file, or `heap`, `stack`; empty for other anonymous memory.
    pub what: String,
    /// Bytes of the pages that this process has mapped, for each node that has any.
    pub bytes_by_node: BTreeMap<u32, u64>,
}

/// The mappings of a process, by address.
pub fn of_process(pid: u32) -> Vec<Mapping> {
    parse(&kernel_files::read(&format!("/proc/{pid}/numa_maps")))
}

/// The mapping that holds an address, if the address is in one: the file has no ends.
pub fn at(mappings: &[Mapping], address: u64) -> Option<&Mapping> {
    mappings.iter().take_while(|mapping| mapping.start <= address).last()
}

pub fn parse(text: &str) -> Vec<Mapping> {
    text.lines().map(|line| mapping(line).unwrap_or_else(|| panic!("numa_maps: {line}"))).collect()
}

fn mapping(line: &str) -> Option<Mapping> {
    let mut words = line.split_ascii_whitespace();
    let start = u64::from_str_radix(words.next()?, 16).ok()?;
    let policy = words.next()?.to_owned();
    let (mut what, mut pages, mut page_bytes) = (String::new(), BTreeMap::new(), 4096);
    for word in words {
        match word.split_once('=') {
            Some(("file", path)) => what = path.replace("\\040", " "),
            Some(("kernelpagesize_kB", kib)) => page_bytes = kib.parse::<u64>().ok()? << 10,
            Some((key, n)) => {
                if let Some(node) = key.strip_prefix('N').and_then(|node| node.parse().ok()) {
                    pages.insert(node, n.parse::<u64>().ok()?);
                }
            }
            None if matches!(word, "heap" | "stack") => what = word.to_owned(),
            None => {}
        }
    }
    let bytes_by_node = pages.into_iter().map(|(node, n)| (node, n * page_bytes)).collect();
    Some(Mapping { start, policy, what, bytes_by_node })
}

#[test]
fn mappings_in_numa_maps() {
    let check = |line: &str, policy: &str, what: &str, expected: &[(u32, u64)]| {
        let [mapping] = &parse(line)[..] else { panic!("{line}") };
        let bytes: Vec<(u32, u64)> = mapping.bytes_by_node.clone().into_iter().collect();
        assert_eq!((mapping.start, mapping.policy.as_str()), (0x7f00_1000, policy), "{line}");
        assert_eq!((mapping.what.as_str(), &bytes[..]), (what, expected), "{line}");
    };
    check("7f001000 default", "default", "", &[]);
    check(
        "7f001000 bind:0 file=/memfd:schedload\\040(deleted) dirty=5 active=0 N0=3 N12=2 \
         kernelpagesize_kB=4",
        "bind:0",
        "/memfd:schedload (deleted)",
        &[(0, 12_288), (12, 8192)],
    );
    check("7f001000 default stack anon=3 dirty=3 N1=3", "default", "stack", &[(1, 12_288)]);
    check(
        "7f001000 interleave:0-1 huge anon=1 dirty=1 N0=1 kernelpagesize_kB=2048",
        "interleave:0-1",
        "",
        &[(0, 2 << 20)],
    );
    assert!(std::panic::catch_unwind(|| parse("7f001000")).is_err());
}

#[test]
fn an_address_has_its_mapping() {
    let mappings = parse("1000 default\n5000 bind:1 N1=1\n");
    let check = |address: u64, expected: Option<u64>| {
        let found = at(&mappings, address).map(|mapping| mapping.start);
        assert_eq!(found, expected, "{address:x}");
    };
    check(0xfff, None);
    check(0x1000, Some(0x1000));
    check(0x4fff, Some(0x1000));
    check(0x5001, Some(0x5000));
}
