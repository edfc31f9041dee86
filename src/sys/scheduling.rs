//! Affinity and scheduling attributes of the calling thread.
//!
//! Must not know: profiles. sched_setattr(2) is used throughout, since it alone knows slices,
//! uclamp and deadlines, and keeps what is not asked for (SCHED_FLAG_KEEP_PARAMS).

use super::{Errno, raw};
use crate::base::{CpuId, CpuList};

/// What to set; `None` keeps what there is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Attributes {
    /// SCHED_* number.
    pub policy: Option<u32>,
    pub nice: Option<i32>,
    pub priority: Option<u32>,
    /// Slice of a fair policy, or runtime of SCHED_DEADLINE (ns).
    pub runtime_ns: Option<u64>,
    pub deadline_ns: Option<u64>,
    pub period_ns: Option<u64>,
    pub uclamp_min: Option<u32>,
    pub uclamp_max: Option<u32>,
}

pub const OTHER: u32 = 0;
pub const FIFO: u32 = 1;
pub const RR: u32 = 2;
pub const BATCH: u32 = 3;
pub const IDLE: u32 = 5;
pub const DEADLINE: u32 = 6;
pub const EXT: u32 = 7;

/// `struct sched_attr` (include/uapi/linux/sched/types.h), version 1 with utilisation clamps.
#[repr(C)]
#[derive(Default, Clone, Copy)]
struct SchedAttr {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
    util_min: u32,
    util_max: u32,
}

const FLAG_RESET_ON_FORK: u64 = 0x01;
const FLAG_UTIL_CLAMP_MIN: u64 = 0x20;
const FLAG_UTIL_CLAMP_MAX: u64 = 0x40;

fn current() -> Result<SchedAttr, Errno> {
    let mut attr = SchedAttr::default();
    let size = size_of::<SchedAttr>();
    let args = [0, std::ptr::from_mut(&mut attr) as usize, size, 0, 0, 0];
    // SAFETY: the kernel writes at most `size` bytes of a struct that we own.
    Errno::check_raw(unsafe { raw::syscall(libc::SYS_sched_getattr, args) })?;
    Ok(attr)
}

/// Sets the attributes of the calling thread.
///
/// # Errors
///
/// EPERM without the right, EINVAL or EOPNOTSUPP where the kernel does not know the attribute.
pub fn set(wanted: &Attributes) -> Result<(), Errno> {
    if *wanted == Attributes::default() {
        return Ok(());
    }
    let mut attr = current()?;
    attr.size = size_of::<SchedAttr>() as u32;
    // Clamps are left as they are unless asked for: the flags say which fields count.
    attr.flags = 0;
    if let Some(policy) = wanted.policy {
        let stays_fair = [OTHER, BATCH].contains(&policy) && [OTHER, BATCH].contains(&attr.policy);
        if policy != attr.policy && !stays_fair {
            (attr.runtime, attr.deadline, attr.period) = (0, 0, 0);
        }
        attr.policy = policy;
        if ![FIFO, RR].contains(&policy) {
            attr.priority = 0;
        }
    }
    attr.nice = wanted.nice.unwrap_or(attr.nice);
    attr.priority = wanted.priority.unwrap_or(attr.priority);
    attr.runtime = wanted.runtime_ns.unwrap_or(attr.runtime);
    attr.deadline = wanted.deadline_ns.unwrap_or(attr.deadline);
    attr.period = wanted.period_ns.unwrap_or(attr.period);
    if let Some(min) = wanted.uclamp_min {
        attr.util_min = min;
        attr.flags |= FLAG_UTIL_CLAMP_MIN;
    }
    if let Some(max) = wanted.uclamp_max {
        attr.util_max = max;
        attr.flags |= FLAG_UTIL_CLAMP_MAX;
    }
    apply(&attr)
}

fn apply(attr: &SchedAttr) -> Result<(), Errno> {
    let args = [0, std::ptr::from_ref(attr) as usize, 0, 0, 0, 0];
    // SAFETY: the kernel reads `size` bytes of a struct that outlives the call.
    Errno::check_raw(unsafe { raw::syscall(libc::SYS_sched_setattr, args) }).map(|_| ())
}

/// Puts the calling thread before all others until dropped, so that it need not wait for its turn
/// among thousands that are runnable: SCHED_FIFO of the highest priority where we have the right,
/// else a short slice (Linux 6.12).
pub struct Hastened(SchedAttr);

impl Hastened {
    /// `None` where neither can be had.
    pub fn now() -> Option<Hastened> {
        const HIGHEST: u32 = 99;
        const SHORT_SLICE_NS: u64 = 100_000;
        let mut before = current().ok()?;
        before.size = size_of::<SchedAttr>() as u32;
        // What we were asked to pass on to nobody stays so; clamps are not touched.
        before.flags &= FLAG_RESET_ON_FORK;
        let fifo =
            Attributes { policy: Some(FIFO), priority: Some(HIGHEST), ..Attributes::default() };
        let short = Attributes { runtime_ns: Some(SHORT_SLICE_NS), ..Attributes::default() };
        let fair = [OTHER, BATCH].contains(&before.policy);
        let hastened = set(&fifo).is_ok() || fair && set(&short).is_ok();
        hastened.then_some(Hastened(before))
    }
}

impl Drop for Hastened {
    fn drop(&mut self) {
        // Going back needs no right.
        let _ = apply(&self.0);
    }
}

/// The largest CPU number that the core_affinity crate can set; beyond it aborts the process.
const CORE_AFFINITY_LIMIT: u32 = 1024;

/// Lets the calling thread run on these CPUs only.
///
/// # Errors
///
/// EINVAL if none of them is allowed by the cpuset and online.
pub fn set_affinity(cpus: &CpuList) -> Result<(), Errno> {
    if let (1, Some(CpuId(id))) = (cpus.len(), cpus.get(0))
        && id < CORE_AFFINITY_LIMIT
    {
        let pinned = core_affinity::set_for_current(core_affinity::CoreId { id: id as usize });
        // It tells only that sched_setaffinity(2) failed; why is still in errno.
        return if pinned { Ok(()) } else { Err(Errno::last()) };
    }
    let largest = cpus.iter().last().map_or(0, |cpu| cpu.0);
    let bits = usize::BITS;
    let mut mask = vec![0usize; (largest / bits + 1) as usize];
    for CpuId(id) in cpus.iter() {
        mask[(id / bits) as usize] |= 1 << (id % bits);
    }
    let args = [0, mask.len() * size_of::<usize>(), mask.as_ptr() as usize, 0, 0, 0];
    // SAFETY: the kernel reads as many bytes as it is told from a mask that outlives the call.
    Errno::check_raw(unsafe { raw::syscall(libc::SYS_sched_setaffinity, args) }).map(|_| ())
}

/// The CPUs on which the calling thread may run, whatever their number.
pub fn affinity() -> Result<CpuList, Errno> {
    let mut mask = vec![0usize; 16];
    loop {
        let bytes = mask.len() * size_of::<usize>();
        let args = [0, bytes, mask.as_mut_ptr() as usize, 0, 0, 0];
        // SAFETY: the kernel writes at most `bytes` into a mask that we own.
        match Errno::check_raw(unsafe { raw::syscall(libc::SYS_sched_getaffinity, args) }) {
            Ok(_) => break,
            // The kernel has more CPUs than the mask has bits.
            Err(Errno(libc::EINVAL)) if mask.len() < 1 << 16 => mask.resize(mask.len() * 2, 0),
            Err(errno) => return Err(errno),
        }
    }
    let set = |&id: &u32| mask[(id / usize::BITS) as usize] >> (id % usize::BITS) & 1 == 1;
    Ok((0..mask.len() as u32 * usize::BITS).filter(set).map(CpuId).collect())
}

/// Lets the calling thread run on these CPUs until dropped, then where it could before.
pub struct Confined(CpuList);

impl Confined {
    pub fn to(cpus: &CpuList) -> Result<Confined, Errno> {
        let before = affinity()?;
        set_affinity(cpus)?;
        Ok(Confined(before))
    }
}

impl Drop for Confined {
    fn drop(&mut self) {
        // It was possible before; a cpuset that shrank meanwhile has moved us anyway.
        let _ = set_affinity(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn affinity_goes_out_and_back() {
        let before = affinity().unwrap();
        assert!(!before.is_empty());
        let first: CpuList = before.get(0).into_iter().collect();
        {
            let _confined = Confined::to(&first).unwrap();
            assert_eq!(affinity().unwrap(), first);
        }
        assert_eq!(affinity().unwrap(), before);
    }

    #[test]
    fn nice_is_set_and_the_rest_kept() {
        std::thread::spawn(|| {
            set(&Attributes { nice: Some(5), ..Attributes::default() }).unwrap();
            let now = current().unwrap();
            assert_eq!((now.policy, now.nice), (OTHER, 5));
            set(&Attributes { policy: Some(BATCH), ..Attributes::default() }).unwrap();
            let now = current().unwrap();
            assert_eq!((now.policy, now.nice), (BATCH, 5));
        })
        .join()
        .unwrap();
    }

    #[test]
    fn haste_ends() {
        std::thread::spawn(|| {
            set(&Attributes { nice: Some(3), ..Attributes::default() }).unwrap();
            let before = current().unwrap();
            let hastened = Hastened::now();
            let during = current().unwrap();
            let first = during.policy == FIFO || during.runtime < before.runtime;
            assert!(first || hastened.is_none() || before.runtime == 0);
            drop(hastened);
            let after = current().unwrap();
            assert_eq!((after.policy, after.nice, after.priority), (OTHER, 3, 0));
            assert_eq!(after.runtime, before.runtime);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn no_cpu_at_all_is_refused() {
        assert_eq!(set_affinity(&CpuList::default()), Err(Errno(libc::EINVAL)));
        let last = CpuId(CORE_AFFINITY_LIMIT - 1);
        if !affinity().unwrap().contains(last) {
            let last = std::iter::once(last).collect();
            assert_eq!(set_affinity(&last), Err(Errno(libc::EINVAL)));
        }
    }
}
