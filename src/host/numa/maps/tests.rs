//! Lines of several kernels, and the mapping that is looked for.

use super::*;

const TEXT: &str = "\
558caafdc000 default file=/usr/bin/head\\040N7=9 mapped=2 mapmax=3 N0=2 kernelpagesize_kB=4
558cd0000000 default heap anon=3 dirty=3 active=0 N0=1 N1=2 kernelpagesize_kB=4
7f0000000000 bind:1 anon=1024 dirty=1024 N1=1024 kernelpagesize_kB=4
7f0000400000 bind:0-1 anon=512 dirty=512 N10=12 N1=500 kernelpagesize_kB=4
7f0000800000 prefer:1 file=/dev/hugepages/x huge anon=4 dirty=4 N0=3 N1=1 kernelpagesize_kB=2048
7f0001000000 default
7f0002000000 prefer (many):0,1 anon=1 dirty=1 N0=1 kernelpagesize_kB=64
7f0003000000 weighted interleave:0-3 anon=1 dirty=1 swapcache=1 N2=1 kernelpagesize_kB=4
7f0004000000 interleave=static:0-1 stack anon=2 dirty=2 N0=1 N1=1 kernelpagesize_kB=4
";

/// `start policy: node=bytes ...`.
fn shown(mapping: &Mapping) -> String {
    let nodes = mapping.pages.iter().map(|(id, _)| format!(" {id}={}", mapping.bytes_on(*id)));
    format!("{:x} {}:{}", mapping.start, mapping.policy, nodes.collect::<String>())
}

#[test]
fn the_mapping_at_an_address() {
    let check = |address: u64, expected: &str| {
        let got = mapping_at(TEXT, address);
        assert_eq!(got.value().map(shown).unwrap_or(got.reason().to_owned()), expected);
    };
    check(0x558c_aafd_c000, "558caafdc000 default: 0=8192");
    check(0x558c_d000_0fff, "558cd0000000 default: 0=4096 1=8192");
    check(0x7f00_0000_0000, "7f0000000000 bind:1: 1=4194304");
    check(0x7f00_003f_ffff, "7f0000000000 bind:1: 1=4194304");
    check(0x7f00_0040_0000, "7f0000400000 bind:0-1: 1=2048000 10=49152");
    check(0x7f00_0080_0000, "7f0000800000 prefer:1: 0=6291456 1=2097152");
    check(0x7f00_0100_0000, "7f0001000000 default:");
    check(0x7f00_0200_0000, "7f0002000000 prefer (many):0,1: 0=65536");
    check(0x7f00_0300_0000, "7f0003000000 weighted interleave:0-3: 2=4096");
    check(u64::MAX, "7f0004000000 interleave=static:0-1: 0=4096 1=4096");
    check(0x1000, "/proc/self/numa_maps has no mapping at 1000");
}

#[test]
fn bytes_on_a_node_without_pages() {
    let mapping = mapping_at(TEXT, 0x7f00_0000_0000);
    assert_eq!(mapping.value().map(|it| it.bytes_on(NodeId(0))), Some(0));
}

#[test]
fn the_mappings_of_a_region() {
    let check = |range: Range<u64>, expected: &[&str]| {
        let got = mappings_in(TEXT, range);
        let got: Vec<String> = got.value().unwrap().iter().map(shown).collect();
        assert_eq!(got, expected);
    };
    let (first, second) =
        ("7f0000000000 bind:1: 1=4194304", "7f0000400000 bind:0-1: 1=2048000 10=49152");
    check(0x7f00_0000_0000..0x7f00_0080_0000, &[first, second]);
    check(0x7f00_0000_0000..0x7f00_0040_0000, &[first]);
    check(0x7f00_0010_0000..0x7f00_0040_0001, &[first, second]);
    assert_eq!(mappings_in(TEXT, 0..1).state(), State::Absent);
}

#[test]
fn other_forms() {
    let check = |text: &str, state: State, reason: &str| {
        let got = mapping_at(text, 0x5000);
        assert_eq!((got.state(), got.reason()), (state, reason), "of {text:?}");
    };
    check("", State::Absent, "/proc/self/numa_maps is empty");
    let form = "/proc/self/numa_maps has a line of another form: ";
    check("what is this\n", State::NotSupported, &format!("{form}what is this"));
    check("4000 \n", State::NotSupported, &format!("{form}4000 "));
    // Linux before 4.0 does not say how large its pages are.
    let old = "4000 default anon=1 dirty=1 N0=1";
    check(old, State::NotSupported, &format!("{form}{old}"));
    let reason = "/proc/self/numa_maps holds `many`, not a number";
    check("4000 default N0=many kernelpagesize_kB=4", State::NotSupported, reason);
}

/// Our own pages are found where they are, if this kernel tells.
#[test]
fn this_process_is_read() {
    let page = vec![1u8; 1 << 16];
    let Ok(text) = std::fs::read_to_string(NUMA_MAPS) else {
        return;
    };
    let got = mapping_at(&text, page.as_ptr() as u64);
    let mapping = got.value().unwrap();
    assert!(mapping.start <= page.as_ptr() as u64 && !mapping.pages.is_empty(), "{mapping:?}");
}
