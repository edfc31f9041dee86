//! The NUMA lines of a task's sched file.
//!
//! Must not know: whether NUMA balancing is on; with it off, all of these are 0 and true.

use crate::base::{NodeId, Reading, State};
use crate::host::files::parsed;
use crate::host::task::{Head, SCHED, values_of};

/// What /proc/PID/sched says of NUMA balancing (kernel/sched/debug.c, sched_show_numa, v6.12).
#[derive(Debug, Clone, PartialEq)]
pub struct TaskNuma {
    /// `mm->numa_scan_seq`: passes over the address space that are done, since its exec
    /// (kernel/sched/fair.c, reset_ptenuma_scan).
    pub scan_seq: Reading<u64>,
    /// Base pages that came to the node of this task at its hint faults.
    pub pages_migrated: Reading<u64>,
    /// Where most of its faults were; a value of `None` is the kernel's -1: no node yet.
    pub preferred: Reading<Option<NodeId>>,
    /// Hint-faulted pages as the kernel keeps them: halved at each scan pass, so this is no count
    /// of faults since the start (task_numa_placement).
    pub faults: Reading<u64>,
}

impl TaskNuma {
    /// From the text of the file.
    pub fn parse(sched: &str) -> TaskNuma {
        let [scan_seq, pages_migrated, preferred, faults] = values_of(sched, Head::Name, KEYS);
        TaskNuma {
            scan_seq: line(scan_seq, KEYS[0]).and_then(number),
            pages_migrated: line(pages_migrated, KEYS[1]).and_then(number),
            preferred: line(preferred, KEYS[2]).and_then(node),
            faults: line(faults, KEYS[3]).and_then(number),
        }
    }
}

const KEYS: [&str; 4] =
    ["mm->numa_scan_seq", "numa_pages_migrated", "numa_preferred_nid", "total_numa_faults"];

fn number(value: &str) -> Reading<u64> {
    parsed(SCHED, value, "a number")
}

fn node(value: &str) -> Reading<Option<NodeId>> {
    match value {
        "-1" => Reading::Value(None),
        value => parsed(SCHED, value, "a node").map(|id| Some(NodeId(id))),
    }
}

fn line<'a>(value: Option<&'a str>, key: &str) -> Reading<&'a str> {
    match value {
        Some(value) => Reading::Value(value),
        None => Reading::absent(
            State::Absent,
            format!(
                "{SCHED} has no line {key}: a kernel without CONFIG_NUMA_BALANCING, or older than \
                 the line"
            ),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "\
worker (4711, #threads: 3)
-------------------------------------------------------------------
se.exec_start                                :        853815.865496
se.nr_migrations                             :                    2
";

    /// Linux 6.18 with CONFIG_NUMA_BALANCING, shortened.
    const NUMBERS: &str = "\
mm->numa_scan_seq                            :                   12
numa_pages_migrated                          :                45678
numa_preferred_nid                           :                    1
total_numa_faults                            :                 9012
current_node=0, numa_group_id=0
numa_faults node=0 task_private=0 task_shared=0 group_private=0 group_shared=0
numa_faults node=1 task_private=9012 task_shared=0 group_private=0 group_shared=0
";

    /// Linux before 4.2: a count that each reading sets back, and no total.
    const OLD: &str = "\
mm->numa_scan_seq                            :                    3
numa_migrations, 17
numa_faults_memory, 0, 0, 1, 1, 99
";

    type Numbers = (Option<u64>, Option<u64>, Option<Option<u32>>, Option<u64>);

    #[test]
    fn numbers_of_several_kernels() {
        let check = |text: &str, expected: Numbers| {
            let it = TaskNuma::parse(&format!("{HEAD}{text}"));
            let preferred = it.preferred.value().map(|node| node.map(|id| id.0));
            let number = |reading: &Reading<u64>| reading.value().copied();
            let got =
                (number(&it.scan_seq), number(&it.pages_migrated), preferred, number(&it.faults));
            assert_eq!(got, expected, "of {text:?}");
        };
        check(NUMBERS, (Some(12), Some(45678), Some(Some(1)), Some(9012)));
        check(&NUMBERS.replace(" 1\n", "-1\n"), (Some(12), Some(45678), Some(None), Some(9012)));
        check(OLD, (Some(3), None, None, None));
        check("", (None, None, None, None));
        check("numa_preferred_nid : -2\ntotal_numa_faults : -1\n", (None, None, None, None));
    }

    #[test]
    fn absence_says_why() {
        let check = |reading: Reading<u64>, state: State, reason: &str| {
            assert_eq!((reading.state(), reading.reason()), (state, reason));
        };
        check(
            TaskNuma::parse(HEAD).scan_seq,
            State::Absent,
            "/proc/self/task/TID/sched has no line mm->numa_scan_seq: a kernel without \
             CONFIG_NUMA_BALANCING, or older than the line",
        );
        check(
            TaskNuma::parse(&format!("{HEAD}numa_pages_migrated : x")).pages_migrated,
            State::NotSupported,
            "/proc/self/task/TID/sched holds `x`, not a number",
        );
    }

    /// A thread may have any name, also one that looks like a line.
    #[test]
    fn the_head_is_not_looked_at() {
        let head = HEAD.replace("worker", "total_numa_faults : 5");
        assert_eq!(TaskNuma::parse(&head).faults.state(), State::Absent);
    }
}
