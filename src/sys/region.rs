//! Memory that is under study: what tasks sweep, touch and chase through.
//!
//! All tasks of a region may use all of it at the same time, so that everything here is either an
//! atomic access or machine code that the compiler cannot see into. Must not know: who uses it.

use super::shared::{Plain, page_bytes};
use super::{Errno, policy};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

pub use super::policy::{Policy, nodes_of, with_thread_policy};

/// The unit of caching (bytes); a sweep touches each once.
pub const LINE_BYTES: usize = size_of::<Line>();

crate::plain! {
    /// A line of a cache.
    pub struct Line {
        pub words: [AtomicU64; 8],
    }
}

/// Anonymous memory, zero at first and without pages until they are touched; unmapped when dropped.
#[derive(Debug)]
pub struct Region {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the memory is only reached through views of `Sync` types and through calls that do what
// atomic accesses could do.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

impl Region {
    /// Memory of this process; a fork has a copy of its own (whose pages it shares until either
    /// writes).
    ///
    /// # Errors
    ///
    /// ENOMEM if there is no room in the address space. Whether there are pages for it is not asked
    /// (MAP_NORESERVE): too large a region is found out by the OOM killer.
    pub fn private(bytes: usize) -> Result<Region, Errno> {
        Region::map(bytes, libc::MAP_PRIVATE)
    }

    /// Memory that a fork shares: the same pages in all processes. The NUMA balancer leaves it
    /// alone, policy or not, since it is a file to the kernel (mm/mempolicy.c, vma_policy_mof:
    /// without a policy the mapping's `get_policy` gives none, v6.12). Huge pages need
    /// `shmem_enabled`.
    ///
    /// # Errors
    ///
    /// As [`private`](Region::private).
    pub fn shared(bytes: usize) -> Result<Region, Errno> {
        Region::map(bytes, libc::MAP_SHARED)
    }

    fn map(bytes: usize, sharing: libc::c_int) -> Result<Region, Errno> {
        let room = Errno(libc::ENOMEM);
        let bytes = bytes.max(1).checked_next_multiple_of(page_bytes()).ok_or(room)?;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = sharing | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(Errno::last());
        }
        let start = NonNull::new(start.cast()).ok_or(room)?;
        Ok(Region { start, bytes })
    }

    /// Whole pages, at least what was asked for.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Of the first byte; the start of a page.
    pub fn address(&self) -> usize {
        self.start.as_ptr() as usize
    }

    /// Asks for transparent huge pages, or for none (madvise(2)), before the memory is touched.
    ///
    /// # Errors
    ///
    /// EINVAL: a kernel without them.
    pub fn huge_pages(&self, wanted: bool) -> Result<(), Errno> {
        let advice = if wanted { libc::MADV_HUGEPAGE } else { libc::MADV_NOHUGEPAGE };
        // SAFETY: our own mapping; the size of its pages does not change its content.
        let result = unsafe { libc::madvise(self.start.as_ptr().cast(), self.bytes, advice) };
        Errno::check(result).map(|_| ())
    }

    /// Leaves the region out of core dumps (madvise(2), MADV_DONTDUMP). The kernel makes no one
    /// mapping of neighbours that differ in this (mm/vma.c, is_mergeable_vma, v6.12).
    pub fn not_dumped(&self) {
        // SAFETY: our own mapping; what becomes of it in a dump does not change its content. It
        // cannot fail for a whole mapping of anonymous memory.
        unsafe { libc::madvise(self.start.as_ptr().cast(), self.bytes, libc::MADV_DONTDUMP) };
    }

    /// Gives a range, which begins at a page, a policy of its own (mbind(2)), before it is touched:
    /// pages that are there stay where they are. The NUMA balancer leaves memory with a policy
    /// alone (mm/mempolicy.c, vma_policy_mof, v6.12).
    ///
    /// # Errors
    ///
    /// EINVAL: a node that is not there, has no memory or is not allowed, or an offset inside a
    /// page. EFAULT: a range outside. ENOSYS or EPERM where there is no such call.
    pub fn set_policy(&self, offset: usize, bytes: usize, policy: &Policy) -> Result<(), Errno> {
        let end = offset.checked_add(bytes);
        if end.is_none_or(|end| end > self.bytes) {
            return Err(Errno(libc::EFAULT));
        }
        policy::mbind(self.address() + offset, bytes, policy)
    }

    /// `count` values at a byte offset, which any task may be reading and writing.
    ///
    /// # Panics
    ///
    /// If the values do not fit or are not aligned: the plan is wrong, not the input.
    pub fn slice<T: Plain>(&self, offset: usize, count: usize) -> &[T] {
        let bytes = count.checked_mul(size_of::<T>());
        let end = bytes.and_then(|bytes| offset.checked_add(bytes));
        assert!(end.is_some_and(|end| end <= self.bytes), "view past the end of a region");
        assert!(offset.is_multiple_of(align_of::<T>()), "view not aligned in a region");
        // SAFETY: in bounds, aligned (the mapping starts at a page), any bytes are a valid T, and
        // T is Sync with interior mutability, so other views and processes may write.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().add(offset).cast::<T>(), count) }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: our own mapping, to which no view can outlive `self`.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::NodeId;
    use std::sync::atomic::Ordering::Relaxed;

    /// What a file of /proc/self says of a mapping: the lines from that which begins with its
    /// address.
    fn said(file: &str, region: &Region) -> String {
        let text = std::fs::read_to_string(format!("/proc/self/{file}")).unwrap_or_default();
        let start = format!("{:x}", region.address());
        text.lines()
            .skip_while(|line| !line.starts_with(&start))
            .take(30)
            .fold(String::new(), |said, line| said + line + "\n")
    }

    #[test]
    fn the_kernel_knows_of_policy_and_huge_pages() {
        let check = |policy: Policy, huge: bool, expected: &str, flag: &str| {
            for region in [Region::private(8 << 20).unwrap(), Region::shared(8 << 20).unwrap()] {
                if let Err(errno) = region.set_policy(0, region.bytes(), &policy) {
                    eprintln!("NOT TESTED: policies of regions: mbind: {errno}");
                    let refused = [libc::ENOSYS, libc::EPERM].contains(&errno.0);
                    assert!(refused, "{policy:?}: {errno}");
                } else {
                    region.slice::<AtomicU64>(0, 1)[0].store(1, Relaxed);
                    let line = said("numa_maps", &region);
                    let first = line.lines().next().unwrap_or_default();
                    assert!(first.contains(expected), "{policy:?}: {first}");
                }
                if let Err(errno) = region.huge_pages(huge) {
                    eprintln!("NOT TESTED: huge pages: madvise: {errno}");
                    assert_eq!(errno, Errno(libc::EINVAL));
                } else {
                    let flags = said("smaps", &region);
                    let line = flags.lines().find(|line| line.starts_with("VmFlags"));
                    let has = line.is_some_and(|line| line.split(' ').any(|it| it == flag));
                    assert!(has, "{flag}: {line:?}");
                }
            }
        };
        let node = NodeId(0);
        check(Policy::Default, true, " default ", "hg");
        check(Policy::Bind(vec![node]), false, " bind:0 ", "nh");
        check(Policy::Preferred(node), false, " prefer:0 ", "nh");
        check(Policy::Interleave(vec![node]), false, " interleave:0 ", "nh");
    }

    #[test]
    fn what_is_outside_is_refused() {
        let region = Region::private(1).unwrap();
        let bytes = region.bytes();
        let check = |offset, bytes, expected| {
            let got = region.set_policy(offset, bytes, &Policy::Default);
            assert_eq!(got, Err(Errno(expected)), "{offset} {bytes}");
            let view =
                std::panic::AssertUnwindSafe(|| region.slice::<Line>(offset, bytes / 64).len());
            assert!(std::panic::catch_unwind(view).is_err(), "{offset} {bytes}");
        };
        check(0, bytes + 64, libc::EFAULT);
        check(bytes, 64, libc::EFAULT);
        check(usize::MAX, 64, libc::EFAULT);
        assert_eq!(Region::private(usize::MAX).err(), Some(Errno(libc::ENOMEM)));
        assert_eq!(Region::shared(1 << 60).err(), Some(Errno(libc::ENOMEM)));
    }
}
