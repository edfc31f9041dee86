//! Page faults by address, from the kernel's own tracing.
//!
//! Counters say how many hint faults there were, only the address says whose. The events are
//! `exceptions:page_fault_user` and, for what system calls touch, `exceptions:page_fault_kernel`
//! (arch/x86/mm/fault.c, trace_page_fault_entries, v6.12). Must not know: whose memory is where.

use super::kernel_files::{read, write};

const TRACING: &str = "/sys/kernel/tracing";

const EVENTS: [&str; 2] = ["page_fault_user", "page_fault_kernel"];

/// Notes the page faults of everybody until it is asked for them.
pub struct PageFaults;

impl PageFaults {
    pub fn start() -> PageFaults {
        write(&format!("{TRACING}/trace"), "");
        write(&format!("{TRACING}/buffer_size_kb"), "4096");
        PageFaults::switch("1");
        PageFaults
    }

    /// The addresses, in the order of the faults; panics if some were lost.
    pub fn addresses(self) -> Vec<u64> {
        PageFaults::switch("0");
        let trace = read(&format!("{TRACING}/trace"));
        assert!(!trace.contains("LOST"), "the trace has lost events");
        addresses(&trace)
    }

    fn switch(value: &str) {
        for event in EVENTS {
            write(&format!("{TRACING}/events/exceptions/{event}/enable"), value);
        }
    }
}

/// The addresses in the text of a trace.
fn addresses(trace: &str) -> Vec<u64> {
    let events = trace.lines().filter_map(|line| {
        let (before, rest) = line.split_once(": address=")?;
        EVENTS.iter().any(|event| before.ends_with(event)).then_some(rest)
    });
    events
        .map(|rest| {
            let word = rest.split(' ').next().unwrap_or_default().trim_start_matches("0x");
            u64::from_str_radix(word, 16).unwrap_or_else(|_| panic!("no address: {rest}"))
        })
        .collect()
}

#[test]
fn addresses_of_faults() {
    let check = |trace: &str, expected: &[u64]| assert_eq!(addresses(trace), expected, "{trace}");
    check("# tracer: nop\n#\n", &[]);
    check(
        " ping-0-71 [001] d..1. 8.1: page_fault_user: address=0x7f12 ip=0x7f13 error_code=0x4\n",
        &[0x7f12],
    );
    check(
        "a-7 [0] d..1. 8.1: page_fault_kernel: address=0x7f12 ip=_copy_to_user error_code=0x2\n\
         a-7 [0] d..1. 8.2: other: address=0x1\n",
        &[0x7f12],
    );
}
