//! What the kernel counts and says about NUMA: of a task, of the system, of mappings and nodes.
//!
//! Each file is parsed by a pure function of its text; a key that a kernel does not have, and a
//! file that is missing or closed, is absent with its reason. Must not know: regions, plans, what
//! the counts are for.

pub mod counters;
pub(super) mod knobs;
pub mod maps;
pub mod node;
pub mod task;

pub use counters::{Counters, grown, memory_stat, vmstat};
pub use maps::Mapping;
pub use node::{NodeMemory, cgroup_anon};
pub use task::TaskNuma;

use super::{Host, Root};
use crate::base::{Absence, Reading, State};

/// What NUMA balancing does where it is on: the bits of kernel.numa_balancing
/// (include/linux/sched/sysctl.h, NUMA_BALANCING_NORMAL and _MEMORY_TIERING, v6.12).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Tasks and their pages come to each other.
    Normal,
    /// Hot pages come from a slow tier of memory to a fast one; tasks stay.
    Tiering,
    /// Both.
    NormalAndTiering,
}

impl Mode {
    /// Of the number in the file; a value of `None` is 0, off.
    pub fn of_knob(text: &str) -> Reading<Option<Mode>> {
        Reading::Value(match text.trim() {
            "0" => None,
            "1" => Some(Mode::Normal),
            "2" => Some(Mode::Tiering),
            "3" => Some(Mode::NormalAndTiering),
            other => {
                let reason = format!("{KNOB} holds `{other}`, which is no mode that is known");
                return Reading::absent(State::NotSupported, reason);
            }
        })
    }

    pub fn name(self) -> &'static str {
        match self {
            Mode::Normal => "normal",
            Mode::Tiering => "memory tiering",
            Mode::NormalAndTiering => "normal, memory tiering",
        }
    }
}

const KNOB: &str = "/proc/sys/kernel/numa_balancing";
/// The key of the fact that holds its text.
const KEY: &str = "numa_balancing";

/// How NUMA balancing works here; absent where it can move nothing: one node, a kernel without it
/// (absent), the knob at 0 (disabled).
pub fn balancing(host: &Host) -> Reading<Mode> {
    let Some(fact) = host.fact(KEY) else {
        return Reading::absent(State::Absent, format!("{KNOB} was not read"));
    };
    let mode = fact.value.clone().and_then(|text| Mode::of_knob(&text));
    match mode {
        Reading::Absent(absence) => Reading::Absent(absence),
        Reading::Value(_) if host.topology.nodes.len() < 2 => {
            Reading::absent(State::Absent, "there is one NUMA node, and nowhere else to move to")
        }
        Reading::Value(Some(mode)) => Reading::Value(mode),
        Reading::Value(None) => Reading::absent(
            State::Disabled,
            format!("{KNOB} is 0; switch it on as root: `echo 1 > {KNOB}`"),
        ),
    }
}

/// A file of the memory controller of a cgroup v2, and its path.
fn of_controller(root: &Root, directory: &str, file: &str) -> (String, Reading<String>) {
    let path = format!("{directory}/{file}");
    let text = match root.text(&path) {
        Reading::Absent(Absence { state: State::Absent, .. }) => {
            let reason = format!("there is no {path}: the controller memory is not enabled for it");
            Reading::absent(State::Absent, reason)
        }
        text => text,
    };
    (path, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::Topology;
    use crate::host::files::tests::fake;

    #[test]
    fn whether_balancing_can_act() {
        let check = |machine: &str, knob: Option<&str>, expected: Result<Mode, (State, &str)>| {
            let files: Vec<_> = knob.map(|text| (KNOB, text)).into_iter().collect();
            let topology = Topology::from_synthetic(machine).unwrap();
            let host = Host::read_under(fake(&files).path(), topology).unwrap();
            let got = balancing(&host);
            let got = got.value().copied().ok_or_else(|| (got.state(), got.reason()));
            assert_eq!(got, expected, "{knob:?} on {machine}");
        };
        let two = "pack:2 [numa] core:2 pu:1";
        check(two, Some("1\n"), Ok(Mode::Normal));
        check(two, Some("2\n"), Ok(Mode::Tiering));
        check(two, Some("3\n"), Ok(Mode::NormalAndTiering));
        let off = "/proc/sys/kernel/numa_balancing is 0; switch it on as root: `echo 1 > \
                   /proc/sys/kernel/numa_balancing`";
        check(two, Some("0\n"), Err((State::Disabled, off)));
        let unknown = "/proc/sys/kernel/numa_balancing holds `9`, which is no mode that is known";
        check(two, Some("9\n"), Err((State::NotSupported, unknown)));
        let missing = "there is no /proc/sys/kernel/numa_balancing: a kernel without \
                       CONFIG_NUMA_BALANCING";
        check(two, None, Err((State::Absent, missing)));
        let one = "there is one NUMA node, and nowhere else to move to";
        check("core:2 pu:1", Some("1\n"), Err((State::Absent, one)));
        check("core:2 pu:1", Some("0\n"), Err((State::Absent, one)));
    }

    #[test]
    fn of_a_made_up_machine_nothing_is_known() {
        let topology = Topology::from_synthetic("pack:2 [numa] core:2 pu:1").unwrap();
        let got = balancing(&Host::made_up(topology, "synthetic"));
        assert_eq!((got.state(), got.reason()), (State::Absent, "synthetic is a made-up machine"));
    }
}
