//! The files of several kernels, and of none.

use super::*;

/// Linux 4.19, shortened.
const SCHED_4_19: &str = "\
worker (4711, #threads: 3)
-------------------------------------------------------------------
se.exec_start                                :        853815.865496
se.vruntime                                  :           728.930344
se.sum_exec_runtime                          :             1.250000
se.statistics.wait_max                       :             0.000000
se.statistics.nr_migrations_cold             :                    4
se.nr_migrations                             :                   17
se.statistics.nr_wakeups                     :                   99
nr_switches                                  :                  123
se.load.weight                               :              1048576
mm->numa_scan_seq                            :                    0
";

/// Linux 6.18 with CONFIG_NUMA_BALANCING, shortened; the name is the worst that can be set.
const SCHED_6_18: &str = "\
nr_migrations : 5 (4711, #threads: 1)
-------------------------------------------------------------------
se.exec_start                                :        853815.865496
se.nr_migrations                             :                    2
nr_migrations_cold                           :                    7
nr_switches                                  :                   42
policy                                       :                    0
current_node=0, numa_group_id=0
numa_faults node=0 task_private=0 task_shared=0 group_private=0 group_shared=0
";

#[test]
fn schedstat() {
    let check = |text: &str, expected: Option<(u64, u64, u64)>| {
        let got = parse_schedstat(text);
        let got = got.value().map(|it| (it.run_ns, it.delay_ns, it.timeslices));
        assert_eq!(got, expected, "of {text:?}");
    };
    check("1234567 89 12\n", Some((1_234_567, 89, 12)));
    check("0 0 0\n", Some((0, 0, 0)));
    check("18446744073709551615 0 1 and more", Some((u64::MAX, 0, 1)));
    check("1 2", None);
    check("1 x 3", None);
    check("", None);
}

#[test]
fn migrations_of_several_kernels() {
    let check = |text: &str, expected: Option<u64>| {
        assert_eq!(nr_migrations(text).value().copied(), expected, "of {text:?}");
    };
    check(SCHED_4_19, Some(17));
    check(SCHED_6_18, Some(2));
    check("a (1, #threads: 1)\n---\nnr_switches : 7\n", None);
    check("a (1, #threads: 1)\n---\nse.nr_migrations : many\n", None);
    check("", None);
    let missing = nr_migrations("");
    let expected = "/proc/self/task/TID/sched has no line nr_migrations in this kernel";
    assert_eq!((missing.state(), missing.reason()), (State::Absent, expected));
}

#[test]
fn status() {
    let text = "Name:\tCpus_allowed_list\nCpus_allowed:\tff\nCpus_allowed_list:\t0-3,6\n";
    assert_eq!(cpus_allowed(text), Reading::Value("0-3,6".parse().unwrap()));
    assert_eq!(cpus_allowed("Name:\tx\n").state(), State::Absent);
}

/// Linux 6.18, shortened.
#[test]
fn only_a_sleeper_is_asleep() {
    let check = |state: &str, expected: Option<[u64; 2]>| {
        let text = format!(
            "Name:\tState: S\nState:\t{state}\nTgid:\t7\nvoluntary_ctxt_switches:\t150\n\
             nonvoluntary_ctxt_switches:\t5\n"
        );
        assert_eq!(asleep(&text), expected, "{state}");
    };
    check("S (sleeping)", Some([150, 5]));
    for state in ["R (running)", "D (disk sleep)", "T (stopped)", "t (tracing stop)", "Z (zombie)"]
    {
        check(state, None);
    }
    assert_eq!(asleep("State:\tS (sleeping)\n"), None, "a kernel without counts");
    assert_eq!(asleep(""), None);
}
