//! What the kernel charges to the cgroups of instances: anonymous memory by node, and the counters
//! of NUMA balancing in memory.stat.
//!
//! Must not know: who made the cgroups, what else is read of an instance.

use crate::base::{NodeId, Reading};
use crate::host::Root;
use crate::host::numa::{self, Counters};
use crate::record::timeline::{CgroupRecord, Growth};

/// By instance; empty without cgroups.
pub(super) struct Charges {
    root: Root,
    all: Vec<Charged>,
}

struct Charged {
    directory: String,
    /// At the gate.
    counters: Counters,
    /// At the gate, and at the last look.
    anon: [Reading<Vec<(NodeId, u64)>>; 2],
}

impl Charges {
    /// Reads them at the gate; they are known by their directories.
    pub(super) fn begin(root: Root, directories: &[String]) -> Charges {
        let charged = |directory: &String| {
            let anon = numa::cgroup_anon(&root, directory);
            Charged {
                directory: directory.clone(),
                counters: numa::memory_stat(&root, directory),
                anon: [anon.clone(), anon],
            }
        };
        Charges { all: directories.iter().map(charged).collect(), root }
    }

    /// Reads where memory of an instance is, while its tasks are there: it goes with them.
    pub(super) fn look(&mut self, instance: usize) {
        if let Some(it) = self.all.get_mut(instance) {
            it.anon[1] = numa::cgroup_anon(&self.root, &it.directory);
        }
    }

    /// By instance, when all tasks have ended; before the cgroups are removed.
    pub(super) fn end(self) -> Vec<CgroupRecord> {
        let root = &self.root;
        let record = |it: Charged| {
            let after = numa::memory_stat(root, &it.directory);
            CgroupRecord { counters: grown(&it.counters, &after), anon: it.anon }
        };
        self.all.into_iter().map(record).collect()
    }
}

/// By how much counters grew between two readings of the same file.
pub(super) fn grown(before: &Counters, after: &Counters) -> Vec<Growth> {
    let grown = numa::grown(before, after).into_iter();
    grown.map(|(key, value)| Growth { key: key.to_owned(), value }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// `key grew; ... | node=bytes ... -> node=bytes ...`
    fn shown(record: &CgroupRecord) -> String {
        let counters = record.counters.iter().map(|it| match &it.value {
            Reading::Value(n) => format!("{} {n}", it.key),
            Reading::Absent(absence) => format!("{} {}", it.key, absence.state),
        });
        let anon = record.anon.iter().map(|it| match it {
            Reading::Value(nodes) => {
                let nodes = nodes.iter().map(|(node, bytes)| format!("{node}={bytes}"));
                nodes.collect::<Vec<_>>().join(" ")
            }
            Reading::Absent(absence) => absence.state.to_string(),
        });
        let (counters, anon): (Vec<_>, Vec<_>) = (counters.collect(), anon.collect());
        format!("{} | {}", counters.join("; "), anon.join(" -> "))
    }

    #[test]
    fn growth_from_the_gate_to_the_end() {
        let dir = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| fs::write(dir.path().join("own").join(file), text);
        fs::create_dir(dir.path().join("own")).unwrap();
        let (stat, nodes) = ("memory.stat", "memory.numa_stat");
        write(stat, "anon 4096\nnuma_pages_migrated 5\nnuma_hint_faults 7\n").unwrap();
        write(nodes, "anon N0=4096 N1=0\nfile N0=0 N1=0\n").unwrap();
        let directories = ["/own".to_owned(), "/closed".to_owned()];
        let mut charges = Charges::begin(Root::new(dir.path()), &directories);
        write(nodes, "anon N0=0 N1=8192\n").unwrap();
        (0..3).for_each(|instance| charges.look(instance));
        write(stat, "anon 0\nnuma_pages_migrated 6\nnuma_hint_faults 7\n").unwrap();
        write(nodes, "anon N0=0 N1=0\n").unwrap();
        let shown: Vec<String> = charges.end().iter().map(shown).collect();
        // An older kernel lacks a line; without the controller there are no files.
        let own = "numa_pte_updates absent; numa_hint_faults 0; numa_pages_migrated 1 | \
                   0=4096 1=0 -> 0=0 1=8192";
        let closed = "numa_pte_updates absent; numa_hint_faults absent; numa_pages_migrated absent \
                      | absent -> absent";
        assert_eq!(shown, [own, closed]);
    }
}
