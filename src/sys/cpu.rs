//! Which CPU a thread runs on, at the price of a load.
//!
//! glibc 2.35 and later registers a `struct rseq` for every thread and tells where it is
//! (`__rseq_offset`); the kernel keeps its `cpu_id` current (kernel/rseq.c,
//! rseq_update_cpu_node_id, v6.12). Without it (musl, old glibc, GLIBC_TUNABLES) we ask
//! sched_getcpu(3). Must not know: what CPUs there are.

use std::ffi::c_int;

/// How to ask for the current CPU in this process; copies are free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CurrentCpu {
    /// Offset of `cpu_id` from the thread pointer.
    offset: Option<isize>,
}

/// Offset of `cpu_id` in `struct rseq` (include/uapi/linux/rseq.h).
const CPU_ID: isize = 4;

impl CurrentCpu {
    /// Finds the rseq area of this process's threads, if there is one.
    pub fn find() -> CurrentCpu {
        // SAFETY: dlsym with a literal name; the symbols are constants of these types (sys/rseq.h).
        let offset = unsafe {
            let size = libc::dlsym(libc::RTLD_DEFAULT, c"__rseq_size".as_ptr()) as *const u32;
            let offset = libc::dlsym(libc::RTLD_DEFAULT, c"__rseq_offset".as_ptr()) as *const isize;
            if size.is_null() || offset.is_null() || *size == 0 { None } else { Some(*offset) }
        };
        let found = CurrentCpu { offset: offset.map(|offset| offset + CPU_ID) };
        // A registration that failed leaves a negative cpu_id.
        match found.offset {
            Some(offset) if thread_word(offset) >= 0 => found,
            _ => CurrentCpu { offset: None },
        }
    }

    /// Whether it is the load, for the table of sources.
    pub fn is_rseq(self) -> bool {
        self.offset.is_some()
    }

    /// The CPU's number, which may be outdated by the time it is used.
    #[inline(always)]
    pub fn get(self) -> u32 {
        match self.offset {
            Some(offset) => thread_word(offset) as u32,
            None => getcpu(),
        }
    }
}

/// The word at `offset` from the thread pointer, for an offset that the loader gave us.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn thread_word(offset: isize) -> c_int {
    let word: c_int;
    // SAFETY: every thread has its rseq area at that offset for its whole life.
    unsafe {
        std::arch::asm!(
            "mov {word:e}, fs:[{offset}]",
            offset = in(reg) offset,
            word = out(reg) word,
            options(nostack, readonly, preserves_flags)
        );
    }
    word
}

/// The word at `offset` from the thread pointer, for an offset that the loader gave us.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn thread_word(offset: isize) -> c_int {
    let pointer: isize;
    // SAFETY: every thread has its rseq area at that offset for its whole life; the kernel writes
    // the word behind our back, hence the volatile read.
    unsafe {
        std::arch::asm!("mrs {}, tpidr_el0", out(reg) pointer, options(nomem, nostack));
        ((pointer + offset) as *const c_int).read_volatile()
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[inline(always)]
fn thread_word(_offset: isize) -> c_int {
    -1
}

/// The current CPU from the vDSO.
fn getcpu() -> u32 {
    // SAFETY: no arguments; -1 (a kernel without getcpu) becomes u32::MAX, a CPU nobody has.
    unsafe { libc::sched_getcpu() as u32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_agree_when_the_thread_stays() {
        let cpu = CurrentCpu::find();
        let agreed = (0..1000).filter(|_| cpu.get() == getcpu()).count();
        assert!(agreed > 900, "agreed {agreed} times of 1000");
    }
}
