//! On which nodes the pages of a region are: a sample of them by move_pages(2), or, where that is
//! refused, all of them by numa_maps.
//!
//! Must not know: who uses the region, when it is looked at.

use crate::base::{Absence, NodeId, Random, Reading, State};
use crate::host::Root;
use crate::host::numa::maps::{self, Mapping};
use crate::record::timeline::{Method, Pages};
use crate::sys::Errno;
use crate::sys::policy::nodes_of;
use crate::sys::shared::page_bytes;
use std::ops::Range;

/// Pages that are asked for in each region, at least ...
const PAGES: u64 = 256;
/// ... and so many in each of its slices ...
const PAGES_OF_SLICE: u64 = 8;
/// ... but no more than this in all.
const PAGES_MAX: u64 = 4096;

/// A page whose node is not known; the kernel's answers are nodes, or negative.
const UNKNOWN: i32 = -1;

/// A region as it lies in an address space.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub address: u64,
    /// Whole pages.
    pub slice_bytes: u64,
    pub n_slices: u64,
    /// Chooses the pages: the same ones for the same number.
    pub seed: u64,
}

/// [`nodes_of`], or what stands for it in a test.
pub(super) type Ask = fn(u32, &[usize], &mut [i32]) -> Result<(), Errno>;

/// Asks the kernel.
pub(super) struct Residence {
    nodes: Vec<NodeId>,
    ask: Ask,
    root: Root,
    /// Why move_pages last was refused.
    refused: Option<Absence>,
    /// numa_maps of a process, at this look.
    maps: Option<(u32, Reading<String>)>,
    /// Room for one region's addresses, for the answers of one process and for those of all.
    addresses: Vec<usize>,
    answers: Vec<i32>,
    status: Vec<i32>,
}

impl Residence {
    /// `nodes`: those that answers are given by.
    pub(super) fn new(nodes: Vec<NodeId>) -> Residence {
        Residence::asking(nodes, nodes_of, Root::default())
    }

    fn asking(nodes: Vec<NodeId>, ask: Ask, root: Root) -> Residence {
        let (addresses, answers, status) = (Vec::new(), Vec::new(), Vec::new());
        Residence { nodes, ask, root, refused: None, maps: None, addresses, answers, status }
    }

    /// To be called before each look: what was read for the last one is old.
    pub(super) fn look_begins(&mut self) {
        self.maps = None;
    }

    /// Why move_pages was not used, if it was not.
    pub(super) fn refused(self) -> Option<Absence> {
        self.refused
    }

    /// Where the pages of a region are that these processes (0: ours) share, at least one; of pages
    /// that one has not used, and so does not know (mm/migrate.c, do_pages_stat_array, v6.12, looks
    /// into its page table), the next one may tell. `homes` has, by slice, the
    /// node of the task that it belongs to, as a position in `nodes`; `None` for a slice that
    /// belongs to nobody who runs. It is empty for a region whose slices are nobody's.
    pub(super) fn pages(
        &mut self,
        pids: &[u32],
        place: &Place,
        homes: &[Option<usize>],
    ) -> Reading<Pages> {
        let per_slice = place.choose(&mut self.addresses);
        self.status.clear();
        self.status.resize(self.addresses.len(), UNKNOWN);
        for &pid in pids {
            match self.ask_too(pid) {
                Ok(()) if self.status.iter().any(|status| *status < 0) => {}
                Ok(()) => break,
                Err(errno @ Errno(libc::EPERM | libc::EACCES)) => {
                    return self.instead(pid, place, State::NoPermission, errno);
                }
                Err(errno @ Errno(libc::ENOSYS)) => {
                    return self.instead(pid, place, State::Absent, errno);
                }
                Err(errno) => {
                    return Reading::absent(State::Absent, format!("move_pages: {errno}"));
                }
            }
        }
        Reading::Value(self.sampled(per_slice, homes))
    }

    /// Keeps what is known already.
    fn ask_too(&mut self, pid: u32) -> Result<(), Errno> {
        self.answers.clear();
        self.answers.resize(self.addresses.len(), UNKNOWN);
        (self.ask)(pid, &self.addresses, &mut self.answers)?;
        for (known, answer) in self.status.iter_mut().zip(&self.answers) {
            *known = if *known < 0 { *answer } else { *known };
        }
        Ok(())
    }

    fn sampled(&self, per_slice: Option<usize>, homes: &[Option<usize>]) -> Pages {
        let n = self.nodes.len();
        let per_slice = per_slice.filter(|_| !homes.is_empty());
        let mut own = per_slice.map(|_| vec![vec![0; n]; n]);
        let mut pages = Pages { by_node: vec![0; n], ..Pages::default() };
        for (at, status) in self.status.iter().enumerate() {
            let on = |node: &NodeId| i64::from(node.0) == i64::from(*status);
            let Some(node) = self.nodes.iter().position(on) else {
                pages.absent += 1;
                continue;
            };
            pages.by_node[node] += 1;
            if let (Some(own), Some(per_slice)) = (&mut own, per_slice)
                && let Some(home) = homes.get(at / per_slice).copied().flatten()
            {
                own[home][node] += 1;
            }
        }
        Pages { own, ..pages }
    }

    /// By numa_maps, since move_pages was refused.
    fn instead(&mut self, pid: u32, place: &Place, state: State, errno: Errno) -> Reading<Pages> {
        let refused = Absence { state, reason: format!("move_pages: {errno}") };
        let reading = self.numa_maps(pid);
        let reading = reading.and_then(|text| maps::mappings_in(&text, place.range()));
        let reading = reading.and_then(|mappings| self.mapped(&mappings, place));
        let reading = match reading {
            Reading::Absent(other) => {
                let reason = format!("{}; {}", refused.reason, other.reason);
                Reading::absent(refused.state, reason)
            }
            pages => pages,
        };
        self.refused = Some(refused);
        reading
    }

    /// Once for all regions of a process.
    fn numa_maps(&mut self, pid: u32) -> Reading<String> {
        let read = |root: &Root| match pid {
            0 => root.text(maps::NUMA_MAPS),
            pid => root.text(&format!("/proc/{pid}/numa_maps")),
        };
        match &self.maps {
            Some((of, text)) if *of == pid => text.clone(),
            _ => self.maps.insert((pid, read(&self.root))).1.clone(),
        }
    }

    /// The pages of a region's mappings, unless they have pages of others too.
    fn mapped(&self, mappings: &[Mapping], place: &Place) -> Reading<Pages> {
        let bytes_on = |node: &NodeId| mappings.iter().map(|it| it.bytes_on(*node)).sum::<u64>();
        let bytes: Vec<u64> = self.nodes.iter().map(bytes_on).collect();
        let all: u64 = bytes.iter().sum();
        let range = place.range();
        let begins_before = mappings.first().is_some_and(|it| it.start < range.start);
        if begins_before || all > range.end - range.start {
            let reason = format!("{} tells of it together with its neighbours", maps::NUMA_MAPS);
            return Reading::absent(State::NotSupported, reason);
        }
        let pages = |bytes: u64| (bytes / page_bytes() as u64) as u32;
        Reading::Value(Pages {
            absent: pages(range.end - range.start - all),
            by_node: bytes.into_iter().map(pages).collect(),
            method: Method::NumaMaps,
            own: None,
        })
    }
}

impl Place {
    fn range(&self) -> Range<u64> {
        self.address..self.address + self.slice_bytes * self.n_slices
    }

    /// Writes down the addresses of the pages to be asked for: one somewhere in each of equal
    /// parts, always the same ones, since even distances would see one node of an interleaved
    /// region. How many there are in each slice, one slice behind the other; `None` if there are
    /// too many slices to look into each, or they share pages.
    fn choose(&self, addresses: &mut Vec<usize>) -> Option<usize> {
        let page = page_bytes() as u64;
        let n_pages = (self.slice_bytes * self.n_slices).div_ceil(page);
        // Slices of less than a page share pages.
        let whole = self.slice_bytes.is_multiple_of(page);
        let slice_pages = if whole { self.slice_bytes / page } else { 0 };
        let wanted = PAGES.div_ceil(self.n_slices).max(PAGES_OF_SLICE);
        let per_slice = wanted.min(PAGES_MAX / self.n_slices).min(slice_pages);
        let n = match per_slice {
            0 => n_pages.min(PAGES),
            _ => per_slice * self.n_slices,
        };
        let mut random = Random::new(0, self.seed);
        let part = (n_pages / n).max(1);
        let pages = (0..n).map(|at| at * n_pages / n + random.below(part));
        addresses.clear();
        addresses.extend(pages.map(|page| self.address as usize + page as usize * page_bytes()));
        (per_slice > 0).then_some(per_slice as usize)
    }
}

#[cfg(test)]
mod tests;
