//! The files of several kernels, and of none.

use super::*;
use crate::host::files::tests::fake;

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
nr_voluntary_switches                        :                  120
nr_involuntary_switches                      :                    3
se.load.weight                               :              1048576
mm->numa_scan_seq                            :                    0
";

/// Linux 6.18 with CONFIG_NUMA_BALANCING, shortened; the name is the worst that can be set.
const SCHED_6_18: &str = "\
nr_switches : 5 (4711, #threads: 1)
-------------------------------------------------------------------
se.exec_start                                :        853815.865496
se.nr_migrations                             :                    2
nr_migrations_cold                           :                    7
nr_switches                                  :                   42
nr_voluntary_switches                        :                   40
nr_involuntary_switches                      :                    2
policy                                       :                    0
current_node=0, numa_group_id=0
numa_faults node=0 task_private=0 task_shared=0 group_private=0 group_shared=0
";

const STATUS_TEXT: &str = "\
Name:\tvoluntary_ctxt_switches
Cpus_allowed:\tff
Cpus_allowed_list:\t0-3,6
Mems_allowed_list:\t0
voluntary_ctxt_switches:\t150
nonvoluntary_ctxt_switches:\t27
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
fn sched_of_several_kernels() {
    let check = |text: &str, expected: [Option<u64>; 4]| {
        let it = parse_sched(text);
        let got = [it.nr_migrations, it.nr_switches, it.voluntary, it.involuntary];
        assert_eq!(got.map(|reading| reading.value().copied()), expected);
    };
    check(SCHED_4_19, [Some(17), Some(123), Some(120), Some(3)]);
    check(SCHED_6_18, [Some(2), Some(42), Some(40), Some(2)]);
    check("a (1, #threads: 1)\n---\nnr_switches : 7\n", [None, Some(7), None, None]);
    check("a (1, #threads: 1)\n---\nnr_switches : many\n", [None; 4]);
    check("", [None; 4]);
    let missing = parse_sched("").nr_migrations;
    let expected = "/proc/self/task/TID/sched has no line nr_migrations in this kernel";
    assert_eq!((missing.state(), missing.reason()), (State::Absent, expected));
}

#[test]
fn status() {
    let it = parse_status(STATUS_TEXT);
    assert_eq!((it.voluntary, it.involuntary), (Reading::Value(150), Reading::Value(27)));
    assert_eq!(it.cpus_allowed, Reading::Value("0-3,6".parse().unwrap()));
    assert_eq!(parse_status("Name:\tx\n").cpus_allowed.state(), State::Absent);
}

#[test]
fn a_thread() {
    let check = |files: &[(&str, &str)], expected: [Option<u64>; 6]| {
        let paths: Vec<_> =
            files.iter().map(|(name, _)| format!("/proc/self/task/77/{name}")).collect();
        let files: Vec<_> =
            paths.iter().zip(files).map(|(path, (_, text))| (path.as_str(), *text)).collect();
        let dir = fake(&files);
        let it = read_task(&Root::new(dir.path()), 77);
        let got = [
            it.nr_migrations,
            it.voluntary,
            it.involuntary,
            it.run_ns,
            it.run_delay_ns,
            it.timeslices,
        ];
        assert_eq!(got.map(|reading| reading.value().copied()), expected, "of {paths:?}");
    };
    let (sched, status, schedstat) =
        (("sched", SCHED_4_19), ("status", STATUS_TEXT), ("schedstat", "5 6 7\n"));
    let all = [Some(17), Some(120), Some(3), Some(5), Some(6), Some(7)];
    check(&[sched, status, schedstat], all);
    check(&[sched, schedstat], all);
    check(&[status, schedstat], [None, Some(150), Some(27), Some(5), Some(6), Some(7)]);
    check(&[sched], [Some(17), Some(120), Some(3), None, None, None]);
    check(&[], [None; 6]);
    // Longer than the first read.
    let long = format!("Name:\tx\nMems_allowed:\t{}\n{STATUS_TEXT}", "00000000,".repeat(3000));
    check(&[("status", &long)], [None, Some(150), Some(27), None, None, None]);
}

#[test]
fn a_name_that_is_not_text() {
    let dir = fake(&[("/proc/self/task/77/schedstat", "5 6 7\n")]);
    let mut bytes = b"\xff\xfe (4711, #threads: 3)\n---".to_vec();
    bytes.extend_from_slice(b"\nse.nr_migrations : 3\nnr_switches : 1\n");
    std::fs::write(dir.path().join("proc/self/task/77/sched"), bytes).unwrap();
    let it = read_task(&Root::new(dir.path()), 77);
    assert_eq!((it.nr_migrations, it.run_ns), (Reading::Value(3), Reading::Value(5)));
}

#[test]
fn a_missing_file_says_what_enables_it() {
    let dir = fake(&[]);
    let it = read_task(&Root::new(dir.path()), 77);
    let expected = "there is no /proc/self/task/TID/sched: a kernel without CONFIG_SCHED_DEBUG \
                    (before 6.15), or the thread has ended";
    assert_eq!(it.nr_migrations.reason(), expected);
}
