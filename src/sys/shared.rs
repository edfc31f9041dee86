//! Memory shared by all tasks of a run: one memfd mapping with checked, typed views.
//!
//! Only types made of atomics may be viewed, so any bytes are a valid value and any number of
//! views may coexist: [`Plain`] is implemented here alone, and [`plain!`](crate::plain) makes
//! structs of them. Must not know: what is stored.

use super::Errno;
use super::policy::{self, Policy};
use crate::base::NodeId;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64};

/// Types that may live in shared memory: any bit pattern is valid, all access is atomic.
///
/// # Safety
///
/// The type consists of atomics (and arrays of them) only, and needs no drop.
pub unsafe trait Plain: Sync {}

// SAFETY: atomics of fixed size.
unsafe impl Plain for AtomicU32 {}
// SAFETY: atomics of fixed size.
unsafe impl Plain for AtomicI32 {}
// SAFETY: atomics of fixed size.
unsafe impl Plain for AtomicU64 {}
// SAFETY: arrays of plain types are plain.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {}

/// A struct for shared memory, aligned to cache lines, whose fields are all [`Plain`].
#[macro_export]
macro_rules! plain {
    ($(#[$meta:meta])* $vis:vis struct $name:ident {
        $($(#[$field_meta:meta])* $field_vis:vis $field:ident: $type:ty,)*
    }) => {
        $(#[$meta])*
        #[repr(C, align(64))]
        #[derive(Debug)]
        $vis struct $name {
            $($(#[$field_meta])* $field_vis $field: $type,)*
        }
        // SAFETY: every field is plain, which the bounds make the compiler check.
        unsafe impl $crate::sys::shared::Plain for $name
        where
            $($type: $crate::sys::shared::Plain,)*
        {
        }
    };
}

/// The mapping; unmapped when dropped. Zeroed at first.
#[derive(Debug)]
pub struct Shared {
    start: NonNull<u8>,
    bytes: usize,
    file: OwnedFd,
}

// SAFETY: the memory is only reached through views of `Sync` types.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Shared {
    /// A new mapping of `bytes` (rounded up to whole pages), all zero, backed by a memfd.
    ///
    /// # Errors
    ///
    /// ENOMEM, EMFILE and the like, of memfd_create, ftruncate or mmap.
    pub fn create(bytes: usize) -> Result<Shared, Errno> {
        let bytes = bytes.max(1).next_multiple_of(page_bytes());
        // SAFETY: a literal name; the descriptor is ours when the call succeeds.
        let file = unsafe {
            let fd = libc::memfd_create(c"schedload".as_ptr(), libc::MFD_CLOEXEC);
            OwnedFd::from_raw_fd(Errno::check(fd)?)
        };
        let length = libc::off_t::try_from(bytes).map_err(|_| Errno(libc::EFBIG))?;
        // SAFETY: no pointers.
        Errno::check(unsafe { libc::ftruncate(file.as_raw_fd(), length) })?;
        Shared::map(file)
    }

    /// Maps all of a memfd that another process created.
    pub fn map(file: OwnedFd) -> Result<Shared, Errno> {
        // SAFETY: `stat` is plain old data that the call fills in.
        let bytes = unsafe {
            let mut stat: libc::stat = std::mem::zeroed();
            Errno::check(libc::fstat(file.as_raw_fd(), &raw mut stat))?;
            stat.st_size as usize
        };
        // SAFETY: a new mapping at an address of the kernel's choice.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(Errno::last());
        }
        let start = NonNull::new(start.cast()).ok_or(Errno(libc::ENOMEM))?;
        Ok(Shared { start, bytes, file })
    }

    pub fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// `count` values at a byte offset.
    ///
    /// # Panics
    ///
    /// If the values do not fit or are not aligned: the layout is wrong, not the input.
    pub fn slice<T: Plain>(&self, offset: usize, count: usize) -> &[T] {
        let bytes = count.checked_mul(size_of::<T>());
        let end = bytes.and_then(|bytes| offset.checked_add(bytes));
        assert!(end.is_some_and(|end| end <= self.bytes), "view past the end of shared memory");
        assert!(offset.is_multiple_of(align_of::<T>()), "view not aligned in shared memory");
        // SAFETY: in bounds, aligned (the mapping starts at a page), any bytes are a valid T, and
        // T is Sync with interior mutability, so other views and processes may write.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().add(offset).cast::<T>(), count) }
    }

    /// One value at a byte offset.
    pub fn at<T: Plain>(&self, offset: usize) -> &T {
        &self.slice(offset, 1)[0]
    }

    /// Binds the pages of a range to nodes (mbind(2), MPOL_BIND), before they are touched. The
    /// policy belongs to the memory: it holds in every process that maps it, and the NUMA balancer
    /// leaves memory with a policy alone (mm/mempolicy.c, vma_policy_mof, v6.12).
    pub fn bind(&self, offset: usize, bytes: usize, nodes: &[NodeId]) -> Result<(), Errno> {
        let address = self.start.as_ptr() as usize + offset;
        policy::mbind(address, bytes, &Policy::Bind(nodes.to_vec()))
    }

    /// Puts all pages in place and into this process's page table, so that no fault is left for
    /// the window (madvise(2), MADV_POPULATE_WRITE; touches each on older kernels).
    pub fn populate(&self) {
        let start = self.start.as_ptr().cast();
        // SAFETY: the whole mapping and nothing else; populating does not change its content.
        let done = unsafe { libc::madvise(start, self.bytes, libc::MADV_POPULATE_WRITE) };
        if done != 0 {
            for offset in (0..self.bytes).step_by(page_bytes()) {
                self.at::<AtomicU64>(offset).fetch_add(0, Relaxed);
            }
        }
    }

    /// Maps the pages of a range, which another process has put in place, into this process's page
    /// table. A read fault maps all pages around it that are there, 64 KiB by default
    /// (mm/memory.c, do_fault_around, v6.12), so one look in each block does.
    pub fn map_in(&self, offset: usize, bytes: usize) {
        const AROUND: usize = 64 << 10;
        let end = (offset + bytes).min(self.bytes);
        let blocks = (offset / AROUND..end.div_ceil(AROUND)).map(|block| block * AROUND);
        for block in blocks {
            // Inside the range, since its first block may begin before it.
            let look = block.max(offset).next_multiple_of(8).min(self.bytes - 8);
            self.at::<AtomicU64>(look).load(Relaxed);
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: our own mapping, to which no view can outlive `self`.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

/// The size of a page (bytes).
pub fn page_bytes() -> usize {
    // SAFETY: no pointers; the value is positive on Linux.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as usize }
}

#[cfg(test)]
mod tests {
    use super::*;

    plain! {
        struct Pair {
            a: AtomicU64,
            b: [AtomicU32; 2],
        }
    }

    #[test]
    fn two_mappings_of_one_file_are_one_memory() {
        let here = Shared::create(10_000).unwrap();
        let there = Shared::map(here.file().try_clone_to_owned().unwrap()).unwrap();
        assert_eq!(here.bytes(), there.bytes());
        here.populate();
        here.at::<Pair>(128).b[1].store(7, Relaxed);
        assert_eq!(there.at::<Pair>(128).b[1].load(Relaxed), 7);
        assert_eq!(there.at::<Pair>(128).a.load(Relaxed), 0);
    }

    #[test]
    fn views_outside_are_refused() {
        let shared = Shared::create(1).unwrap();
        let bytes = shared.bytes();
        let outside = |offset, count| {
            let view =
                std::panic::AssertUnwindSafe(|| shared.slice::<AtomicU64>(offset, count).len());
            std::panic::catch_unwind(view).is_err()
        };
        assert!(!outside(bytes - 8, 1));
        assert!(outside(bytes - 8, 2));
        assert!(outside(4, 1));
        assert!(outside(8, usize::MAX));
    }
}
