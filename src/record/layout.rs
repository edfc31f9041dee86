//! Where everything is in the shared memory of a run: a pure function of counts and places.
//!
//! Every process of a run computes the same layout. Must not know: what the memory is mapped by,
//! plans.
//!
//! ```text
//! control | region addresses | times of instances on LLCs | task slots
//! channels: state and stamp rings; sync objects | shards
//! slot: what a task keeps | extremes of each series | bytes of memory steps by node | sync objects
//! shard: counters of each team | histogram of each series
//! ```

use super::memory::{Control, Extremes, MovedOnNode, PaceCount, SyncCounts, TaskSlot, TeamShard};
use super::recording::SeriesKind;
use super::stamp;
use crate::base::bucket::BUCKETS;
use crate::base::{CpuId, NodeId, Place, Relation};

/// What there is to lay out.
#[derive(Debug, Clone)]
pub struct Spec {
    /// All online CPUs, sorted by id.
    pub cpus: Vec<Cpu>,
    pub teams: Vec<Team>,
    /// Tasks of all teams and copies.
    pub n_tasks: usize,
    /// The channels of one copy.
    pub channels: Vec<Channel>,
    /// State of each sync object of one copy (bytes).
    pub sync_bytes: Vec<usize>,
    pub copies: usize,
    /// Instances whose measure blocks are kept apart; 1 if they are not.
    pub instances_apart: usize,
    pub n_instances: usize,
    /// Address spaces.
    pub spaces: usize,
    /// Regions of memory that each of them may have.
    pub n_regions: usize,
    /// Size of a page (bytes); shards are whole pages, so that each can be bound to a node.
    pub page_bytes: usize,
}

#[derive(Debug, Clone, Copy)]
pub struct Cpu {
    pub id: CpuId,
    pub place: Place,
    pub allowed: bool,
}

#[derive(Debug, Clone)]
pub struct Team {
    /// Whether it waits on channels, so that it has wakeups to record.
    pub receives: bool,
    pub measures: Vec<String>,
    /// Number of its blocks whose rounds have times of their own.
    pub paces: usize,
    /// The sync objects that it comes to.
    pub syncs: Vec<String>,
    /// The safepoints in whose pauses it helps.
    pub pauses: Vec<String>,
}

#[derive(Debug, Clone, Copy)]
pub struct Channel {
    pub count: usize,
    pub state_bytes: usize,
    /// Entries of its stamp ring; `None` if messages carry their stamps.
    pub ring_entries: Option<usize>,
}

/// Offsets and strides (bytes) in the shared memory.
#[derive(Debug, Clone)]
pub struct Layout {
    pub spec: Spec,
    pub teams: Vec<TeamLayout>,
    /// An address for each region of each address space.
    pub regions: usize,
    pub n_region_words: usize,
    /// Ticks of each instance on each LLC.
    pub homes: usize,
    /// The LLCs of the CPUs, sorted.
    pub llcs: Vec<u32>,
    pub slots: usize,
    pub slot_stride: usize,
    /// From the start of a slot to the bytes of memory steps by node.
    pub moved_on: usize,
    /// The same of the counts of its paced blocks.
    pub paces: usize,
    /// The nodes of the CPUs, sorted; none in a run without regions, which moves no bytes.
    pub moved_nodes: Vec<NodeId>,
    /// From the start of a slot to what its task did at sync objects.
    pub sync_counts: usize,
    channels: Vec<ChannelLayout>,
    /// In the first copy.
    syncs: Vec<usize>,
    copy_stride: usize,
    pub shards: usize,
    pub shard_stride: usize,
    /// From the start of a shard to its histograms.
    pub histograms: usize,
    pub n_series: usize,
    /// Ids of the CPUs that have a shard, in order of shards.
    pub shard_cpus: Vec<CpuId>,
    pub bytes: usize,
}

#[derive(Debug, Clone, Copy)]
struct ChannelLayout {
    first: usize,
    stride: usize,
    ring: usize,
}

/// The series of one team; numbers count from its first one.
#[derive(Debug, Clone)]
pub struct TeamLayout {
    /// Of all series of a shard.
    pub first_series: usize,
    pub kinds: Vec<SeriesKind>,
    /// By `Relation as usize * 2 + moved`.
    pub wakeup: [u16; 10],
    pub found_ready: u16,
    pub between_migrations: u16,
    /// Those of instance 0, then those of the next.
    pub first_measure: u16,
    pub n_measures: u16,
    pub first_lateness: u16,
    pub n_paces: usize,
    /// Waits at its sync objects, in their order.
    pub first_wait: u16,
    pub n_syncs: usize,
    /// Two for each of its safepoints: pauses, and times to get there.
    pub first_pause: u16,
}

/// In place of a series that the team does not have.
pub const NO_SERIES: u16 = u16::MAX;

impl Layout {
    pub fn new(spec: Spec) -> Layout {
        let relations = relations(&spec.cpus);
        let (teams, n_series) = teams(&spec, &relations);
        let regions = size_of::<Control>().next_multiple_of(64);
        let n_region_words = spec.n_regions * spec.spaces;
        let homes = regions + (n_region_words * 8).next_multiple_of(64);
        let llcs = sorted(spec.cpus.iter().map(|cpu| cpu.place.llc));
        let slots = homes + (spec.n_instances * llcs.len() * 8).next_multiple_of(64);
        let moved_nodes = match spec.n_regions {
            0 => Vec::new(),
            _ => sorted(spec.cpus.iter().map(|cpu| cpu.place.node)),
        };
        let most_series = teams.iter().map(|team| team.kinds.len()).max().unwrap_or(0);
        let moved_on = size_of::<TaskSlot>() + most_series * size_of::<Extremes>();
        let moved_bytes = moved_nodes.len() * size_of::<MovedOnNode>();
        let paces = moved_on + moved_bytes;
        let most_paces = spec.teams.iter().map(|team| team.paces).max().unwrap_or(0);
        let sync_counts = (paces + most_paces * size_of::<PaceCount>()).next_multiple_of(64);
        let most_syncs = teams.iter().map(|team| team.n_syncs).max().unwrap_or(0);
        let slot_stride = sync_counts + most_syncs * size_of::<SyncCounts>();
        let mut at = slots + spec.n_tasks * slot_stride;
        let first_channel = at;
        let mut channels = Vec::new();
        for channel in &spec.channels {
            let ring = channel.state_bytes.next_multiple_of(64);
            let stride = ring + channel.ring_entries.map_or(0, stamp::ring_bytes);
            channels.push(ChannelLayout { first: at, stride, ring });
            at += channel.count * stride;
        }
        let mut syncs = Vec::new();
        for bytes in &spec.sync_bytes {
            syncs.push(at);
            at += bytes.next_multiple_of(64);
        }
        let copy_stride = at - first_channel;

        let shards = (first_channel + copy_stride * spec.copies).next_multiple_of(spec.page_bytes);
        let histograms = spec.teams.len() * size_of::<TeamShard>();
        let shard_bytes = histograms + n_series * BUCKETS * 8;
        let shard_stride = shard_bytes.next_multiple_of(spec.page_bytes);
        let allowed = spec.cpus.iter().filter(|cpu| cpu.allowed);
        let shard_cpus: Vec<CpuId> = allowed.map(|cpu| cpu.id).collect();
        let bytes = shards + shard_stride * shard_cpus.len();
        Layout {
            spec,
            teams,
            regions,
            n_region_words,
            homes,
            llcs,
            slots,
            slot_stride,
            moved_on,
            paces,
            moved_nodes,
            sync_counts,
            channels,
            syncs,
            copy_stride,
            shards,
            shard_stride,
            histograms,
            n_series,
            shard_cpus,
            bytes,
        }
    }

    /// Where the state of an instance of a channel is, and its stamp ring.
    pub fn channel(&self, copy: usize, channel: usize, instance: usize) -> (usize, usize) {
        let layout = self.channels[channel];
        let state = layout.first + copy * self.copy_stride + instance * layout.stride;
        (state, state + layout.ring)
    }

    /// Where the state of a sync object is.
    pub fn sync(&self, copy: usize, object: usize) -> usize {
        self.syncs[object] + copy * self.copy_stride
    }
}

/// The teams' series, one team behind the other, and how many they are.
fn teams(spec: &Spec, relations: &[Relation]) -> (Vec<TeamLayout>, usize) {
    let mut n_series = 0;
    let mut teams = Vec::new();
    for team in &spec.teams {
        let team = TeamLayout::new(team, spec.instances_apart, relations, n_series);
        n_series += team.kinds.len();
        teams.push(team);
    }
    (teams, n_series)
}

/// Each once, in order.
fn sorted<T: Ord>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut all: Vec<T> = all.collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// The relations that two CPUs of this machine can have.
fn relations(cpus: &[Cpu]) -> Vec<Relation> {
    let mut found = vec![Relation::SameCpu];
    let mut sorted: Vec<Place> = cpus.iter().map(|cpu| cpu.place).collect();
    // Neighbours in this order are as near as any two of the machine's CPUs can be.
    sorted.sort_by_key(|place| (place.node, place.llc, place.core));
    for pair in sorted.windows(2) {
        let relation = Relation::of_places(pair[0], pair[1]);
        if !found.contains(&relation) {
            found.push(relation);
        }
    }
    found.sort();
    found
}

impl TeamLayout {
    fn new(
        team: &Team,
        instances: usize,
        relations: &[Relation],
        first_series: usize,
    ) -> TeamLayout {
        let mut kinds = vec![SeriesKind::BetweenMigrations];
        let mut wakeup = [NO_SERIES; 10];
        let mut found_ready = NO_SERIES;
        if team.receives {
            found_ready = kinds.len() as u16;
            kinds.push(SeriesKind::FoundReady);
            for &relation in relations {
                for moved in [false, true] {
                    wakeup[relation as usize * 2 + usize::from(moved)] = kinds.len() as u16;
                    kinds.push(SeriesKind::Wakeup { relation, moved });
                }
            }
        }
        let first_measure = kinds.len() as u16;
        for instance in 0..instances as u32 {
            let named = |name: &String| SeriesKind::Measure { name: name.clone(), instance };
            kinds.extend(team.measures.iter().map(named));
        }
        let first_lateness = kinds.len() as u16;
        kinds.extend((0..team.paces as u16).map(SeriesKind::Lateness));
        let first_wait = kinds.len() as u16;
        kinds.extend(team.syncs.iter().cloned().map(SeriesKind::Wait));
        let first_pause = kinds.len() as u16;
        for name in &team.pauses {
            kinds.push(SeriesKind::Pause(name.clone()));
            kinds.push(SeriesKind::ToSafepoint(name.clone()));
        }
        TeamLayout {
            first_series,
            kinds,
            wakeup,
            found_ready,
            between_migrations: 0,
            first_measure,
            n_measures: team.measures.len() as u16,
            first_lateness,
            n_paces: team.paces,
            first_wait,
            n_syncs: team.syncs.len(),
            first_pause,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpu(id: u32, core: u32, llc: u32, node: u32) -> Cpu {
        Cpu { id: CpuId(id), place: Place { core, llc, node: NodeId(node) }, allowed: true }
    }

    #[test]
    fn only_the_relations_of_the_machine_have_series() {
        use Relation::{CrossNode, SameCpu, SameLlc, SameNode, Smt};
        let check = |cpus: &[Cpu], expected: &[Relation]| assert_eq!(relations(cpus), expected);
        check(&[cpu(0, 0, 0, 0)], &[SameCpu]);
        check(&[cpu(0, 0, 0, 0), cpu(1, 1, 0, 0)], &[SameCpu, SameLlc]);
        check(&[cpu(0, 0, 0, 0), cpu(1, 1, 1, 1), cpu(2, 0, 0, 0)], &[SameCpu, Smt, CrossNode]);
        check(
            &[cpu(0, 0, 0, 0), cpu(1, 1, 1, 0), cpu(2, 2, 2, 1)],
            &[SameCpu, SameNode, CrossNode],
        );
    }

    fn spec(n_tasks: usize) -> Spec {
        Spec {
            cpus: vec![cpu(0, 0, 0, 0), cpu(1, 1, 0, 0)],
            teams: vec![
                Team { receives: true, measures: vec![], syncs: vec![], pauses: vec![], paces: 0 },
                Team {
                    receives: false,
                    measures: vec!["round_trip".to_owned()],
                    syncs: vec!["phase".to_owned(), "log".to_owned()],
                    pauses: vec!["gc".to_owned()],
                    paces: 1,
                },
            ],
            n_tasks,
            channels: vec![
                Channel { count: 3, state_bytes: 8, ring_entries: Some(4) },
                Channel { count: 2, state_bytes: 0, ring_entries: None },
            ],
            sync_bytes: vec![64, 100],
            copies: 2,
            instances_apart: 2,
            n_instances: 2,
            spaces: 2,
            n_regions: 3,
            page_bytes: 4096,
        }
    }

    #[test]
    fn a_task_costs_less_than_a_kibibyte() {
        let (few, many) = (Layout::new(spec(10)), Layout::new(spec(10 + 1024)));
        assert!((many.bytes - few.bytes) / 1024 <= 1024, "{}", (many.bytes - few.bytes) / 1024);
        assert_eq!(many.shard_stride, few.shard_stride);
    }

    #[test]
    fn areas_follow_each_other_without_overlap() {
        let layout = Layout::new(spec(5));
        assert!(layout.regions >= size_of::<Control>());
        assert!(layout.homes >= layout.regions + 2 * 3 * 8);
        assert!(layout.slots >= layout.homes + 2 * 8);
        let (first, ring) = layout.channel(0, 0, 0);
        assert_eq!(first, layout.slots + 5 * layout.slot_stride);
        assert_eq!(ring, first + 64);
        assert_eq!(layout.channel(0, 0, 1).0, ring + stamp::ring_bytes(4));
        assert_eq!(layout.channel(0, 1, 0).0, layout.channel(0, 0, 2).1 + stamp::ring_bytes(4));
        assert_eq!(layout.channel(1, 0, 0).0 - first, layout.copy_stride);
        assert!(layout.sync(0, 0) >= layout.channel(0, 1, 1).0);
        assert_eq!(layout.sync(0, 1), layout.sync(0, 0) + 64);
        assert_eq!(layout.sync(1, 1), layout.sync(0, 1) + layout.copy_stride);
        assert!(layout.sync(1, 1) + 100 <= layout.shards);
        assert_eq!(layout.shards % 4096, 0);
        assert_eq!(layout.bytes, layout.shards + 2 * layout.shard_stride);
    }

    #[test]
    fn series_of_teams_are_apart() {
        let layout = Layout::new(spec(1));
        let kinds: Vec<usize> = layout.teams.iter().map(|team| team.kinds.len()).collect();
        assert_eq!(kinds, [1 + 1 + 4, 1 + 2 + 1 + 2 + 2]);
        assert_eq!(layout.teams[1].first_series, 6);
        assert_eq!(layout.n_series, 14);
    }
}
