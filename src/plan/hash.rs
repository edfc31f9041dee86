//! The fingerprint of a plan: equal for equal work on a machine of equal shape.
//!
//! Left out is what does not change the work: the profile's name and texts, notes, needs, and the
//! seed, which draws another sample of the same work. Must not know: who compares.

use super::{CgroupPlan, ChannelPlan, MemoryPlan, Plan, PlanCpu, PlanNode, SyncPlan, TeamPlan};
use serde::Serialize;
use std::io;

/// What decides the work, in this order; a change here makes all old reports incomparable.
#[derive(Serialize)]
struct Work<'a> {
    params: &'a [(String, String)],
    instances: u32,
    own_processes: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    processes: Vec<&'a [u32]>,
    cgroups: &'a [CgroupPlan],
    copies: u32,
    memory: &'a [MemoryPlan],
    channels: &'a [ChannelPlan],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    syncs: &'a [SyncPlan],
    teams: &'a [TeamPlan],
    duration_ns: Option<u64>,
    warmup_ns: u64,
    cpus: &'a [PlanCpu],
    nodes: &'a [PlanNode],
}

/// 16 hex digits.
pub(super) fn of(plan: &Plan) -> String {
    let work = Work {
        params: &plan.params,
        instances: plan.instances,
        own_processes: plan.own_processes,
        processes: plan.processes.iter().map(|process| &process.teams[..]).collect(),
        cgroups: &plan.cgroups,
        copies: plan.copies,
        memory: &plan.memory,
        channels: &plan.channels,
        syncs: &plan.syncs,
        teams: &plan.teams,
        duration_ns: plan.duration_ns,
        warmup_ns: plan.warmup_ns,
        cpus: &plan.cpus,
        nodes: &plan.nodes,
    };
    let mut hash = Fnv::new();
    // Neither the hash nor these plain values can fail to be written.
    let _ = serde_json::to_writer(&mut hash, &work);
    format!("{:016x}", hash.0)
}

/// FNV-1a with 64 bits.
struct Fnv(u64);

impl Fnv {
    fn new() -> Fnv {
        Fnv(0xcbf2_9ce4_8422_2325)
    }
}

impl io::Write for Fnv {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn is_fnv_1a() {
        let check = |text: &str, expected: u64| {
            let mut hash = Fnv::new();
            hash.write_all(text.as_bytes()).unwrap();
            assert_eq!(hash.0, expected, "of {text:?}");
        };
        // From the test vectors of the FNV authors.
        check("", 0xcbf2_9ce4_8422_2325);
        check("a", 0xaf63_dc4c_8601_ec8c);
        check("foobar", 0x8594_4171_f739_67e8);
    }
}
