//! The regions of memory of one address space: mapped, given their policies, first touched.
//!
//! Must not know: steps, who else has them.

use crate::plan::{FirstTouch, HugePages, MemoryPlan, MemoryPolicy, Plan, Sharing, Space};
use crate::record::Memory;
use crate::step::memory::{self, Span};
use crate::sys::Errno;
use crate::sys::policy::{Policy, with_thread_policy};
use crate::sys::region::Region;
use std::sync::Arc;
use std::sync::atomic::Ordering::Release;

/// By the plan's regions; `None` for those that are mapped elsewhere (shared ones come first, by
/// themselves).
#[derive(Debug, Default)]
pub(super) struct Areas(Vec<Option<Arc<Region>>>);

/// What could not be done with a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AreaError {
    pub region: usize,
    pub call: &'static str,
    pub errno: Errno,
}

impl Areas {
    /// Maps the regions that all address spaces share, before any is forked.
    pub(super) fn shared(plan: &Plan) -> Result<Areas, AreaError> {
        let nobody = Areas(vec![None; plan.memory.len()]);
        nobody.and(plan, 0, |region| plan.memory[region].sharing == Sharing::All)
    }

    /// Maps the regions that the processes of an instance share, before any of them is forked;
    /// `self` are those of all.
    pub(super) fn of_instance(&self, plan: &Plan, instance: u32) -> Result<Areas, AreaError> {
        self.and(plan, instance, |region| plan.memory[region].sharing == Sharing::Instance)
    }

    /// Maps the regions that an address space has for itself; `self` are those of its instance.
    pub(super) fn own(&self, plan: &Plan, space: &Space) -> Result<Areas, AreaError> {
        self.and(plan, space.instance, |region| {
            plan.memory[region].sharing == Sharing::Process && plan.has(space.process, region)
        })
    }

    /// These and the wanted ones.
    fn and(
        &self,
        plan: &Plan,
        instance: u32,
        is_wanted: impl Fn(usize) -> bool,
    ) -> Result<Areas, AreaError> {
        let mut is_dumped = true;
        let one = |(index, region): (usize, &MemoryPlan)| {
            if !is_wanted(index) {
                return Ok(self.0[index].clone());
            }
            let mapped = mapped(region, instance).map_err(|(call, errno)| AreaError {
                region: index,
                call,
                errno,
            })?;
            // Every other one is not, so that numa_maps tells of each by itself.
            if !is_dumped {
                mapped.not_dumped();
            }
            is_dumped = !is_dumped;
            Ok(Some(Arc::new(mapped)))
        };
        plan.memory.iter().enumerate().map(one).collect::<Result<_, _>>().map(Areas)
    }

    /// Writes down where the regions are in the address space of this number, for whoever looks at
    /// their pages.
    pub(super) fn tell(&self, plan: &Plan, memory: &Memory, space: usize) {
        for index in 0..plan.memory.len() {
            let address = self.region(index).map_or(0, Region::address) as u64;
            memory.region_address(space, index).store(address, Release);
        }
    }

    pub(super) fn region(&self, index: usize) -> Option<&Region> {
        self.0[index].as_deref()
    }

    /// The slice of a region, or all of it, with a share of the slice behind it.
    pub(super) fn span(
        &self,
        plan: &Plan,
        index: usize,
        slice: Option<u32>,
        halo: f64,
    ) -> Option<Span<'_>> {
        let region = self.region(index)?;
        let Some(slice) = slice else {
            return Some(Span::all(region));
        };
        let bytes = plan.memory[index].slice_bytes as usize;
        let offset = bytes * slice as usize;
        let halo = (bytes as f64 * halo) as usize / 64 * 64;
        Some(Span { region, offset, bytes: (bytes + halo).min(region.bytes() - offset) })
    }

    /// Touches what the thread that starts the others touches first, of the regions that are shared
    /// so. `over` tells that the run was given up.
    pub(super) fn touch(
        &self,
        plan: &Plan,
        instance: u32,
        sharing: Sharing,
        over: &dyn Fn() -> bool,
    ) -> Result<(), AreaError> {
        let mut between = |_| !over();
        for (index, area) in plan.memory.iter().enumerate() {
            if area.sharing != sharing || self.region(index).is_none() {
                continue;
            }
            let failed = |errno| AreaError { region: index, call: "set_mempolicy", errno };
            let mut touch = |policy: &Policy, slice| {
                let Some(span) = self.span(plan, index, slice, 0.0) else { return Ok(()) };
                let mut touch = || memory::first_touch(span, &mut between);
                if *policy == Policy::Default {
                    touch();
                    return Ok(());
                }
                with_thread_policy(policy, touch).map(|_| ()).map_err(failed)
            };
            match &area.first_touch {
                FirstTouch::Main => touch(&Policy::Default, None)?,
                FirstTouch::Interleave => {
                    let nodes = plan.nodes.iter().filter(|node| node.has_memory);
                    let nodes = nodes.map(|node| node.id).collect();
                    touch(&Policy::Interleave(nodes), None)?;
                }
                FirstTouch::Nodes(nodes) => {
                    for slice in 0..area.count {
                        let number = area.slice_number(instance, slice);
                        let node = nodes[number % nodes.len()];
                        touch(&Policy::Bind(vec![node]), Some(slice))?;
                    }
                }
                FirstTouch::Owner | FirstTouch::Opposite | FirstTouch::Team(_) => {}
                FirstTouch::Nobody => {}
            }
        }
        Ok(())
    }
}

fn mapped(plan: &MemoryPlan, instance: u32) -> Result<Region, (&'static str, Errno)> {
    let bytes = plan.bytes() as usize;
    let region = match plan.sharing {
        Sharing::Process => Region::private(bytes),
        Sharing::Instance | Sharing::All => Region::shared(bytes),
    };
    let region = region.map_err(|errno| ("mmap", errno))?;
    match plan.huge {
        HugePages::Always => region.huge_pages(true).map_err(|errno| ("madvise", errno))?,
        // A kernel that has none refuses to be told so.
        HugePages::Never => drop(region.huge_pages(false)),
        HugePages::Leave => {}
    }
    let slice_bytes = plan.slice_bytes as usize;
    for slice in 0..plan.count {
        let policy = match plan.policy(plan.slice_number(instance, slice)) {
            MemoryPolicy::Default => continue,
            MemoryPolicy::Bind(nodes) => Policy::Bind(nodes.clone()),
            MemoryPolicy::Preferred(node) => Policy::Preferred(*node),
            MemoryPolicy::Interleave(nodes) => Policy::Interleave(nodes.clone()),
        };
        let (offset, bytes) = match plan.policies.len() {
            1 => (0, bytes),
            _ => (slice as usize * slice_bytes, slice_bytes),
        };
        region.set_policy(offset, bytes, &policy).map_err(|errno| ("mbind", errno))?;
        if plan.policies.len() == 1 {
            break;
        }
    }
    Ok(region)
}
