//! The parts of a run that can be looked at without one: gate, programs, names of failures.

use super::areas::Areas;
use super::claims::Claims;
use super::failure::{self, AT_START, Failed, Tried};
use super::gate::{Gate, Readiness};
use super::program::{Channels, Ends, Program, Step};
use super::roster;
use crate::host::{Host, Topology};
use crate::plan::{DeadlineTimes, Overrides, Plan, Space};
use crate::profile::{Profile, Source};
use crate::record::{Layout, Memory};
use crate::step::channel::{Call, Hitch};
use crate::sys::fd::{self, EventCount};
use crate::sys::{Errno, raw};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::Ordering::Relaxed;

/// Two copies of a team of two that feeds a team of three.
const FEED: &str = "
    about  = 'x'
    copies = 2
    [channel.one]
    kind = 'pipe'
    [channel.many]
    kind  = 'futex'
    count = 3
    [team.feeder]
    size  = 2
    steps = [ { repeat = 3, steps = [
        { measure = 'all', steps = [ { send = 'many[*]' } ] },
        { send = 'one' },
    ] } ]
    [team.eater]
    size  = 3
    steps = [
        { repeat = 'me + 3', steps = [ { repeat = '6 * (1 - min(me, 1))', steps = [
            { receive = 'one' } ] }, { spin = 'me * 1us' } ] },
        { forever = [ { receive = 'many[me]' }, { receive = 'many[(me + 1) % size]' },
                      { send = 'many[next]' }, { send = 'many[any]' } ] },
    ]";

fn planned(text: &str, overrides: Overrides) -> Plan {
    let source = Source { path: String::new(), text: text.to_owned() };
    let profile = Profile::parse("test", source).unwrap_or_else(|faults| panic!("{faults}"));
    let host = Host::made_up(Topology::from_synthetic("core:2 pu:1").unwrap(), "made up");
    Plan::new(&profile, &host, &overrides).unwrap_or_else(|error| panic!("{error}"))
}

fn plan() -> Plan {
    planned(FEED, Overrides { duration: Some("1s".to_owned()), ..Overrides::default() })
}

fn memory(plan: &Plan) -> Memory {
    Memory::create(Layout::new(plan.layout_spec(4096))).unwrap().0
}

#[test]
fn tasks_are_numbered_in_the_order_of_their_creation() {
    let plan = plan();
    let ids = roster::task_ids(&plan);
    assert_eq!(ids.len() as u64, plan.n_tasks());
    for copy in 0..plan.copies {
        for (team, team_plan) in plan.teams.iter().enumerate() {
            let first = roster::first_task(&plan, copy, team);
            for me in 0..team_plan.size {
                let id = ids[first + me as usize];
                assert_eq!((id.copy, id.team, id.index), (copy, team, me));
            }
        }
    }
    let sizes: Vec<u32> = roster::team_ids(&plan).iter().map(|id| id.size).collect();
    assert_eq!(sizes, [4, 6], "over all copies");
}

#[test]
fn a_program_is_that_of_one_member() {
    let plan = plan();
    let memory = memory(&plan);
    let channels = Channels::open(&plan, &memory, 1).unwrap_or_else(|(name, _)| panic!("{name}"));
    let areas = Areas::default();
    assert_eq!(channels.ends.len(), 4);
    let ends = |ends: &Ends| match *ends {
        Ends::Each { first, n } => format!("each {first}+{n}"),
        Ends::Next { first, n } => format!("next {first}+{n}"),
        Ends::Any { first, n } => format!("any {first}+{n}"),
    };
    let program = |team: usize, me: u32| -> Vec<String> {
        let program = Program::new(&plan, (0, team, me), &channels, &areas);
        assert_eq!(program.steps.len(), program.numbers.len());
        let steps = program.steps.iter().map(|step| match step {
            Step::Send { ends: to, .. } => format!("send {}", ends(to)),
            Step::Receive { ends: from, .. } => format!("receive {}", ends(from)),
            Step::Loop { count, end } => format!("loop {count} to {end}"),
            Step::Forever => "forever".to_owned(),
            Step::Again { begin } => format!("again {begin}"),
            Step::Measure => "measure".to_owned(),
            Step::EndMeasure { begin, measure } => format!("measured {measure} from {begin}"),
            Step::Work { kind, amount } => format!("{} {amount}", kind.name),
            _ => "other".to_owned(),
        });
        steps.collect()
    };
    let feeder = [
        "loop 3 to 6",
        "measure",
        "send each 1+3",
        "measured 0 from 1",
        "send each 0+1",
        "again 0",
    ];
    assert_eq!(program(0, 1), feeder);
    let eater = |count: u32, tastes: u32, spin: u32, own: u32, other: u32| {
        [
            format!("loop {count} to 6"),
            format!("loop {tastes} to 4"),
            "receive each 0+1".to_owned(),
            "again 1".to_owned(),
            format!("spin {spin}"),
            "again 0".to_owned(),
            "forever".to_owned(),
            format!("receive each {own}+1"),
            format!("receive each {other}+1"),
            "send next 1+3".to_owned(),
            "send any 1+3".to_owned(),
            "again 6".to_owned(),
        ]
    };
    assert_eq!(program(1, 0), eater(3, 6, 0, 1, 2));
    assert_eq!(program(1, 2), eater(5, 0, 2_000, 3, 1));
}

#[test]
fn a_member_without_a_part_does_not_turn_in_its_loops() {
    let text = "
        about    = 'x'
        duration = '1s'
        [channel.many]
        kind  = 'futex'
        count = 2
        [team.member]
        size  = 2
        steps = [ { repeat = '1 - me', steps = [ { send = 'many[me]' } ] },
                  { forever = [ { repeat = '1 - me', steps = [ { receive = 'many[me]' } ] },
                                { spin = '(1 - me) * 1us' } ] } ]";
    let plan = planned(text, Overrides::default());
    let memory = memory(&plan);
    let channels = Channels::open(&plan, &memory, 1).unwrap_or_else(|(name, _)| panic!("{name}"));
    let areas = Areas::default();
    let program = |me| Program::new(&plan, (0, 0, me), &channels, &areas);
    assert!(program(0).acts());
    assert!(program(0).steps.iter().any(|step| matches!(step, Step::Forever)));
    assert!(!program(1).acts());
    assert!(program(1).steps.iter().all(|step| !matches!(step, Step::Forever)));
}

#[test]
fn what_a_failure_is_called() {
    let plan = plan();
    let ids = roster::task_ids(&plan);
    let check = |task: usize, failed: Failed, expected: [&str; 4]| {
        let memory = memory(&plan);
        failed.store(memory.slot(task));
        failure::announce(&memory, task);
        // Only the first counts.
        failure::announce(&memory, 0);
        assert_eq!(memory.control().failed.load(Relaxed) as usize, task + 1);
        let it = failure::describe(&plan, &memory, &ids, task);
        let who = format!("{} {}", it.team, it.task_idx);
        assert_eq!([&who, &it.step, &it.call, &it.error], expected);
    };
    let failed = |op: u32, tried: Tried, errno: i32| Failed { op, tried, errno: Errno(errno) };
    let invalid = Errno(libc::EINVAL).to_string();
    check(
        6,
        failed(AT_START, Tried::SetAffinity, libc::EINVAL),
        ["feeder 3", "start", "sched_setaffinity", &invalid],
    );
    check(
        9,
        failed(2, Tried::ReadAtEnd, libc::EPIPE),
        ["eater 5", "receive one", "read", "end of file: everybody who could send is gone"],
    );
    check(
        2,
        failed(9, Tried::FutexWake, libc::EINVAL),
        ["eater 0", "send many[next]", "futex wake", &invalid],
    );
    check(1, failed(700, Tried::Write, libc::EINVAL), ["feeder 1", "unknown", "write", &invalid]);
}

#[test]
fn a_refused_attribute_is_named() {
    let mut plan = plan();
    let check = |plan: &Plan, errno: i32, expected: &str| {
        let memory = memory(plan);
        let refused = Failed { op: AT_START, tried: Tried::SetScheduling, errno: Errno(errno) };
        refused.store(memory.slot(0));
        let it = failure::describe(plan, &memory, &roster::task_ids(plan), 0);
        assert_eq!((&*it.call, it.error), (expected, Errno(errno).to_string()));
    };
    check(&plan, libc::EPERM, "sched_setattr");
    plan.teams[0].scheduling.nice = Some(-5);
    check(&plan, libc::EPERM, "sched_setattr (nice)");
    plan.teams[0].scheduling.uclamp_min = Some(100);
    check(&plan, libc::EINVAL, "sched_setattr (nice, uclamp_min)");
    check(&plan, libc::EOPNOTSUPP, "sched_setattr (uclamp_min)");
    let times = DeadlineTimes { runtime_ns: 1, deadline_ns: 2, period_ns: 2 };
    plan.teams[0].scheduling.deadline = Some(times);
    check(
        &plan,
        libc::EBUSY,
        "sched_setattr (deadline: the CPUs' time for deadlines is given away)",
    );
}

#[test]
fn an_interrupt_is_no_failure() {
    let check = |hitch: Hitch, expected: Option<(Tried, i32)>| {
        let failed = Failed::of_hitch(3, hitch);
        assert_eq!(failed.map(|it| (it.tried, it.errno.0)), expected, "{hitch:?}");
        assert!(failed.is_none_or(|it| it.op == 3));
    };
    let of = |call| Hitch::Failed { call, errno: Errno(libc::EBADF) };
    check(Hitch::Interrupted, None);
    check(Hitch::Ended, Some((Tried::ReadAtEnd, libc::EPIPE)));
    check(of(Call::Read), Some((Tried::Read, libc::EBADF)));
    check(of(Call::Write), Some((Tried::Write, libc::EBADF)));
    check(of(Call::FutexWait), Some((Tried::FutexWait, libc::EBADF)));
    check(of(Call::FutexWake), Some((Tried::FutexWake, libc::EBADF)));
}

#[test]
fn one_byte_opens_the_gate_for_all() {
    let gate = Gate::new().unwrap();
    let event = fd::eventfd(EventCount::Sum).unwrap();
    std::thread::scope(|scope| {
        let tasks: Vec<_> = (0..20)
            .map(|_| {
                let gate = gate.for_tasks();
                scope.spawn(move || gate.ready(|| false).and_then(|()| gate.wait()))
            })
            .collect();
        let mut ready = 0;
        let all = Gate::wait_ready(&gate.ready_out, &mut ready, 20, event.as_fd(), &|_| ());
        assert!(matches!(all, Ok(Readiness::AllReady)));
        assert_eq!(ready, 20);
        assert!(tasks.iter().all(|task| !task.is_finished()));
        Gate::open(&gate.go_in).unwrap();
        for task in tasks {
            task.join().unwrap().unwrap();
        }
    });
    // Whoever comes late finds it open.
    gate.for_tasks().wait().unwrap();
}

#[test]
fn waiting_for_tasks_ends_with_them_and_with_an_event() {
    let gate = Gate::new().unwrap();
    let event = fd::eventfd(EventCount::Sum).unwrap();
    let mut ready = 0;
    gate.for_tasks().ready(|| false).unwrap();
    raw::write(event.as_raw_fd(), &1u64.to_ne_bytes()).unwrap();
    let waited = Gate::wait_ready(&gate.ready_out, &mut ready, 2, event.as_fd(), &|_| ());
    assert!(matches!(waited, Ok(Readiness::Event)), "it comes first");
    raw::read(event.as_raw_fd(), &mut [0; 8]).unwrap();

    let Gate { ready_out, ready_in, .. } = gate;
    drop(ready_in);
    let waited = Gate::wait_ready(&ready_out, &mut ready, 2, event.as_fd(), &|_| ());
    assert!(matches!(waited, Ok(Readiness::Ended)));
    assert_eq!(ready, 1);
}

/// Those of `NAME[copy]` members that write what the chases of a plan need to find.
fn preparers(text: &str) -> Vec<String> {
    let plan = planned(&format!("about = 'x'\n{text}"), Overrides::default());
    let memory = memory(&plan);
    let channels = Channels::open(&plan, &memory, 0).unwrap_or_else(|(name, _)| panic!("{name}"));
    let shared = Areas::shared(&plan).unwrap();
    let own = |space: &Space| shared.of_instance(&plan, 0).unwrap().own(&plan, space).unwrap();
    let areas: Vec<Areas> = plan.spaces().iter().map(own).collect();
    let claims = Claims::of(&plan);
    let mut found = Vec::new();
    for id in roster::task_ids(&plan) {
        let who = (id.copy, id.team, id.index);
        let areas = &areas[plan.space_of(id.copy, id.team)];
        let program = Program::new(&plan, who, &channels, areas);
        let name = &plan.teams[id.team].name;
        let its = program.usings.iter().filter(|using| claims.is_for(&plan, who, using));
        found.extend(its.map(|_| format!("{name}{} of {}", id.index, id.copy)));
    }
    found
}

/// Two at once would leave a tangle of two ways; none, a way of one line.
#[test]
fn the_way_of_a_chase_is_written_once() {
    let check = |keys: &str, teams: &[(&str, &str, &str)], expected: &[&str]| {
        let team = |(name, keys, place): &(&str, &str, &str)| {
            format!(
                "[team.{name}]\nsize = 2\n{keys}\nsteps = [ {{ chase = '{place}', count = 1 }} ]\n"
            )
        };
        let teams: String = teams.iter().map(team).collect();
        let text = format!("{keys}\n[memory.area]\nbytes = '4 KiB'\ncount = 2\n{teams}");
        assert_eq!(preparers(&text), expected, "of {text}");
    };
    check("", &[("a", "", "area[me]")], &["a0 of 0", "a1 of 0"]);
    check("", &[("a", "", "area")], &["a0 of 0"]);
    check("", &[("a", "", "area[0]")], &["a0 of 0"]);
    check("", &[("a", "", "area[1]"), ("b", "", "area[me]")], &["a0 of 0", "b0 of 0"]);
    check("copies = 2", &[("a", "", "area[me]")], &["a0 of 0", "a1 of 0"]);
    check("instances = 2", &[("a", "", "area")], &["a0 of 0", "a0 of 1"]);
    check("instances = 2\ncopies = 2", &[("a", "", "area")], &["a0 of 0", "a0 of 2"]);
    // Each process has a region of its own.
    let processes = "as = 'processes'";
    check("", &[("a", processes, "area")], &["a0 of 0", "a1 of 0"]);
    check("", &[("a", processes, "area"), ("b", "", "area")], &["a0 of 0", "a1 of 0", "b0 of 0"]);
}

#[test]
fn a_shared_way_is_written_by_one_process() {
    let check = |shared: &str, keys: &str, team: &str, expected: &[&str]| {
        let text = format!(
            "{keys}\n[memory.area]\nbytes = '4 KiB'\nshared = '{shared}'\n\
             [team.a]\nsize = 2\n{team}\nsteps = [ {{ chase = 'area', count = 1 }} ]"
        );
        assert_eq!(preparers(&text), expected, "of {text}");
    };
    let processes = "as = 'processes'";
    check("all", "", processes, &["a0 of 0"]);
    check("all", "instances = 3\ncopies = 2", "", &["a0 of 0"]);
    check("instance", "", processes, &["a0 of 0"]);
    check("instance", "copies = 2", processes, &["a0 of 0"]);
    check("instance", "instances = 2\ncopies = 2", "", &["a0 of 0", "a0 of 2"]);
}

/// Of each process one, where each has the region for itself.
#[test]
fn each_process_has_its_ways() {
    let check = |shared: &str, keys: &str, expected: &[&str]| {
        let team = |name: &str, process: &str| {
            format!(
                "[team.{name}]\nsize = 2\nprocess = '{process}'\n\
                 steps = [ {{ chase = 'area', count = 1 }} ]\n"
            )
        };
        let teams = [("a", "p"), ("b", "q"), ("c", "q")].map(|(name, process)| team(name, process));
        let text = format!(
            "{keys}\n[process.p]\n[process.q]\n\
             [memory.area]\nbytes = '4 KiB'\nshared = '{shared}'\n{}",
            teams.concat()
        );
        assert_eq!(preparers(&text), expected, "of {text}");
    };
    check("process", "", &["a0 of 0", "b0 of 0"]);
    check("process", "copies = 2", &["a0 of 0", "b0 of 0"]);
    check("process", "instances = 2", &["a0 of 0", "b0 of 0", "a0 of 1", "b0 of 1"]);
    check("instance", "instances = 2", &["a0 of 0", "a0 of 1"]);
    check("all", "instances = 2", &["a0 of 0"]);
}

/// Those at the gate would go it before who is spawned has written it.
#[test]
fn a_way_is_written_before_the_gate_opens() {
    let text = "[memory.area]\nbytes = '4 KiB'\n\
                [team.late]\nsize = 1\nstart = 'spawned'\nsteps = [ { chase = 'area', count = 1 \
                } ]\n\
                [team.main]\nsize = 1\nsteps = [ { spawn = 'late' }, { chase = 'area', count = 1 \
                } ]";
    assert_eq!(preparers(text), ["main0 of 0"]);
}

/// A process has regions of its own if it uses them, those of its instance, and those of all.
#[test]
fn what_address_spaces_share() {
    let text = "about = 'x'\ninstances = 2\n[process.a]\n[process.b]\n\
                [memory.own]\nbytes = '4 KiB'\n\
                [memory.its]\nbytes = '4 KiB'\n\
                [memory.of]\nbytes = '4 KiB'\nshared = 'instance'\n\
                [memory.all]\nbytes = '4 KiB'\nshared = 'all'\n\
                [team.a]\nsize = 1\nprocess = 'a'\nsteps = [ { sweep = 'own' }, { sweep = \
                'its' } ]\n\
                [team.b]\nsize = 1\nprocess = 'b'\nsteps = [ { sweep = 'own' }, { sweep = 'of' \
                }, { sweep = 'all' } ]";
    let plan = planned(text, Overrides::default());
    let shared = Areas::shared(&plan).unwrap();
    let instances = [0, 1].map(|instance| shared.of_instance(&plan, instance).unwrap());
    let own = |space: &Space| instances[space.instance as usize].own(&plan, space).unwrap();
    let areas: Vec<Areas> = plan.spaces().iter().map(own).collect();
    let address = |areas: &Areas, region| areas.region(region).map(|region| region.address());
    // By region: which address spaces see the same memory, by the first that does.
    let check = |region: usize, expected: [Option<usize>; 4]| {
        let all: Vec<_> = areas.iter().map(|areas| address(areas, region)).collect();
        let first =
            |it: &Option<usize>| it.and_then(|it| all.iter().position(|at| *at == Some(it)));
        assert_eq!(
            all.iter().map(first).collect::<Vec<_>>(),
            expected,
            "{}",
            plan.memory[region].name
        );
    };
    check(0, [Some(0), Some(1), Some(2), Some(3)]);
    check(1, [Some(0), None, Some(2), None]);
    check(2, [Some(0), Some(0), Some(2), Some(2)]);
    check(3, [Some(0); 4]);
    // After a fork they are one memory only if the kernel has it as shared.
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let sharing = |at: usize| {
        let range = |line: &str| {
            let (begin, end) = line.split_once(' ')?.0.split_once('-')?;
            let number = |text| usize::from_str_radix(text, 16).ok();
            Some(number(begin)?..number(end)?)
        };
        let line = maps.lines().find(|line| range(line).is_some_and(|range| range.contains(&at)));
        line.unwrap().split(' ').nth(1).unwrap().to_owned()
    };
    let kinds: Vec<String> =
        (0..4).map(|region| sharing(address(&areas[0], region).unwrap())).collect();
    assert_eq!(kinds, ["rw-p", "rw-p", "rw-s", "rw-s"]);
}

/// The kernel makes one mapping of neighbours that are alike, and numa_maps tells of mappings: also
/// where a region between two is another process's.
#[test]
fn neighbours_are_mappings_of_their_own() {
    let text = "about = 'x'\ninstances = 1\n[process.a]\n[process.b]\n\
                [memory.one]\nbytes = '4 KiB'\n[memory.of_b]\nbytes = '4 KiB'\n\
                [memory.two]\nbytes = '4 KiB'\n\
                [team.a]\nsize = 1\nprocess = 'a'\nsteps = [ { sweep = 'one' }, { sweep = \
                'two' } ]\n\
                [team.b]\nsize = 1\nprocess = 'b'\nsteps = [ { sweep = 'of_b' } ]";
    let plan = planned(text, Overrides::default());
    let shared = Areas::shared(&plan).unwrap();
    let areas = shared.own(&plan, &plan.spaces()[0]).unwrap();
    let smaps = std::fs::read_to_string("/proc/self/smaps").unwrap();
    let begins = |region: usize| {
        let begin = format!("{:x}-", areas.region(region).unwrap().address());
        smaps.lines().any(|line| line.starts_with(&begin))
    };
    assert!(areas.region(1).is_none());
    assert!(begins(0) && begins(2));
}
