//! Page faults of user space by address, from the kernel's own tracing.
//!
//! Counters say how many hint faults there were, only the address says whose. The event is
//! `exceptions:page_fault_user` (arch/x86/mm/fault.c, v6.12). Must not know: whose memory is where.

use super::kernel_files::{read, write};

const TRACING: &str = "/sys/kernel/tracing";

/// Notes the page faults of everybody until it is asked for them.
pub struct PageFaults;

impl PageFaults {
    pub fn start() -> PageFaults {
        write(&format!("{TRACING}/trace"), "");
        write(&format!("{TRACING}/buffer_size_kb"), "4096");
        write(&format!("{TRACING}/events/exceptions/page_fault_user/enable"), "1");
        PageFaults
    }

    /// The addresses, in the order of the faults; panics if some were lost.
    pub fn addresses(self) -> Vec<u64> {
        write(&format!("{TRACING}/events/exceptions/page_fault_user/enable"), "0");
        let trace = read(&format!("{TRACING}/trace"));
        assert!(!trace.contains("LOST"), "the trace has lost events");
        addresses(&trace)
    }
}

/// The addresses in the text of a trace.
fn addresses(trace: &str) -> Vec<u64> {
    let events = trace.lines().filter_map(|line| line.split_once("page_fault_user: address="));
    events
        .map(|(_, rest)| {
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
}
