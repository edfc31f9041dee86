//! System calls of the hot path without libc in between.
//!
//! In a process with threads, glibc wraps `read` and `write` in the bookkeeping of thread
//! cancellation (two atomic operations a call, glibc 2.36, nptl/cancellation.c), which we never
//! use. Must not know: descriptors' kinds. Errors come back as numbers; nothing touches `errno`.

use super::Errno;

/// A system call with up to six arguments.
///
/// # Safety
///
/// The call must be sound with these arguments: pointers valid for what the kernel does with them.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) unsafe fn syscall(number: libc::c_long, a: [usize; 6]) -> isize {
    let result;
    // SAFETY: the caller vouches for the call; the instruction clobbers rcx and r11 only.
    unsafe {
        std::arch::asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") a[0], in("rsi") a[1], in("rdx") a[2],
            in("r10") a[3], in("r8") a[4], in("r9") a[5],
            lateout("rcx") _, lateout("r11") _,
            options(nostack, preserves_flags)
        );
    }
    result
}

/// A system call with up to six arguments.
///
/// # Safety
///
/// The call must be sound with these arguments: pointers valid for what the kernel does with them.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub(super) unsafe fn syscall(number: libc::c_long, a: [usize; 6]) -> isize {
    let result;
    // SAFETY: the caller vouches for the call; the kernel preserves all other registers.
    unsafe {
        std::arch::asm!(
            "svc 0",
            in("x8") number,
            inlateout("x0") a[0] => result,
            in("x1") a[1], in("x2") a[2], in("x3") a[3], in("x4") a[4], in("x5") a[5],
            options(nostack)
        );
    }
    result
}

/// A system call with up to six arguments, through libc.
///
/// # Safety
///
/// The call must be sound with these arguments: pointers valid for what the kernel does with them.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[inline(always)]
pub(super) unsafe fn syscall(number: libc::c_long, a: [usize; 6]) -> isize {
    // SAFETY: the caller vouches for the call.
    let result = unsafe { libc::syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]) };
    if result == -1 { -(Errno::last().0 as isize) } else { result as isize }
}

/// read(2): the number of bytes, 0 at the end of the file.
#[inline(always)]
pub fn read(fd: i32, buffer: &mut [u8]) -> Result<usize, Errno> {
    let args = [fd as usize, buffer.as_mut_ptr() as usize, buffer.len(), 0, 0, 0];
    // SAFETY: the kernel writes at most `len` bytes into the buffer that we hold exclusively.
    Errno::check_raw(unsafe { syscall(libc::SYS_read, args) })
}

/// write(2): the number of bytes.
#[inline(always)]
pub fn write(fd: i32, buffer: &[u8]) -> Result<usize, Errno> {
    let args = [fd as usize, buffer.as_ptr() as usize, buffer.len(), 0, 0, 0];
    // SAFETY: the kernel reads `len` bytes of a buffer that outlives the call.
    Errno::check_raw(unsafe { syscall(libc::SYS_write, args) })
}
