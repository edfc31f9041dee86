//! Memory in bulk: clearing it, through the caches or past them, the loops of STREAM and that of a
//! multiplication of matrices, as fast as C has them.
//!
//! Several tasks may be at the same memory at the same time, for which the compiler has no plain
//! access, and atomic ones it does not turn into vector instructions. So the loops are machine code
//! that it cannot see into: each does what relaxed atomic loads and stores of its bytes, in some
//! order, could do too. Must not know: pieces, spans, who else is at the memory.

use super::region::Line;
use std::ffi::c_void;
use std::hint::black_box;
#[cfg(target_arch = "x86_64")]
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Clears all bytes, with libc's memset, which is not inlined: `black_box` hides which function it
/// is.
pub fn zero(lines: &[Line]) {
    let memset = black_box(libc::memset as unsafe extern "C" fn(_, _, _) -> _);
    let start = lines.as_ptr().cast::<c_void>().cast_mut();
    // SAFETY: exactly the bytes of the lines, all of them atomics, for which zero is valid.
    let _: *mut c_void = unsafe { memset(start, 0, size_of_val(lines)) };
}

/// Clears all bytes past the caches, where the CPU has an instruction for whole lines of zeros
/// (AMD's CLZERO), and waits until other CPUs can see them; else as [`zero`] does.
///
/// An AMD of family 1ah is as fast with one memset that is larger than its last level cache (both
/// 95 GB/s, glibc 2.36), and half as fast with pieces that would fit, or with what an interrupt
/// leaves of a large one.
pub fn zero_uncached(lines: &[Line]) {
    #[cfg(target_arch = "x86_64")]
    if !lines.is_empty() && has_clzero() {
        // SAFETY: at least one line and whole ones; each round clears the 64 bytes of the line that
        // rax is in. The stores are weakly ordered, hence the fence.
        unsafe {
            std::arch::asm!(
                "2:",
                "clzero",
                "add rax, 64",
                "cmp rax, rcx",
                "jne 2b",
                "sfence",
                inout("rax") lines.as_ptr() => _, in("rcx") lines.as_ptr_range().end,
                options(nostack),
            );
        }
        return;
    }
    zero(lines);
}

/// Asks the CPU once: the instruction for that leaves a virtual machine.
#[cfg(target_arch = "x86_64")]
#[allow(unused_unsafe, reason = "later versions of Rust have `__cpuid` as a safe function")]
fn has_clzero() -> bool {
    use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
    static KNOWN: AtomicU8 = AtomicU8::new(0);
    const LEAF: u32 = 0x8000_0008;
    match KNOWN.load(Relaxed) {
        0 => {
            use std::arch::x86_64::__cpuid;
            // SAFETY: every x86-64 has the instruction, and this leaf if the other says so.
            let has = unsafe { __cpuid(0x8000_0000).eax >= LEAF && __cpuid(LEAF).ebx & 1 == 1 };
            KNOWN.store(1 + u8::from(has), Relaxed);
            has
        }
        known => known == 2,
    }
}

/// `to[i] = from[i]`, with libc's memmove, which is what gcc makes of such a loop (memcpy is the
/// same code in glibc 2.36, sysdeps/x86_64/multiarch/memmove-vec-unaligned-erms.S).
///
/// # Panics
///
/// Here as below: if the operands differ in length.
pub fn copy(to: &[Line], from: &[Line]) {
    assert_eq!(to.len(), from.len());
    let memmove = black_box(libc::memmove as unsafe extern "C" fn(_, _, _) -> _);
    let (start, from) = (to.as_ptr().cast::<c_void>().cast_mut(), from.as_ptr().cast::<c_void>());
    // SAFETY: exactly the bytes of both, which may overlap; any bytes are valid in atomics.
    let _: *mut c_void = unsafe { memmove(start, from, size_of_val(to)) };
}

/// Lines are taken as eight f64 each. One loop for each kernel: `$code` computes two elements at
/// offset rax of `to` (rdi) from those of `left` (rsi) and `right` (rdx), and the scalar, twice, in
/// xmm7. It is what gcc -O3 makes of the C loop for x86-64, whose baseline has SSE2.
#[cfg(target_arch = "x86_64")]
macro_rules! kernel {
    ($to:expr, $left:expr, $right:expr, $scalar:expr, $($code:literal)+) => {{
        let (to, left, right): (&[Line], &[Line], &[Line]) = ($to, $left, $right);
        assert!(to.len() == left.len() && to.len() == right.len());
        if !to.is_empty() {
            // SAFETY: at least one line and whole ones, so that the loop reads and writes exactly
            // the bytes of the operands, aligned to their 64 bytes; any bits are valid in atomics.
            unsafe {
                std::arch::asm!(
                    "unpcklpd xmm7, xmm7",
                    "2:",
                    $($code,)+
                    "add rax, 16",
                    "cmp rax, rcx",
                    "jne 2b",
                    inout("rax") 0_usize => _,
                    in("rdi") to.as_ptr(), in("rsi") left.as_ptr(), in("rdx") right.as_ptr(),
                    in("rcx") size_of_val(to),
                    inout("xmm7") $scalar => _, out("xmm0") _,
                    options(nostack),
                );
            }
        }
    }};
}

/// `to[i] = scalar * from[i]`
#[cfg(target_arch = "x86_64")]
pub fn scale(to: &[Line], from: &[Line], scalar: f64) {
    kernel!(to, from, from, scalar,
        "movapd xmm0, [rsi + rax]"
        "mulpd xmm0, xmm7"
        "movapd [rdi + rax], xmm0");
}

/// `to[i] = left[i] + right[i]`
#[cfg(target_arch = "x86_64")]
pub fn add(to: &[Line], left: &[Line], right: &[Line]) {
    kernel!(to, left, right, 0.0_f64,
        "movapd xmm0, [rsi + rax]"
        "addpd xmm0, [rdx + rax]"
        "movapd [rdi + rax], xmm0");
}

/// `to[i] = left[i] + scalar * right[i]`
#[cfg(target_arch = "x86_64")]
pub fn triad(to: &[Line], left: &[Line], right: &[Line], scalar: f64) {
    kernel!(to, left, right, scalar,
        "movapd xmm0, [rdx + rax]"
        "mulpd xmm0, xmm7"
        "addpd xmm0, [rsi + rax]"
        "movapd [rdi + rax], xmm0");
}

/// Rows of a square matrix, all of whose columns from number `first` on are there that fill `to`.
fn side(to: &[AtomicU64], row: &[AtomicU64], matrix: &[AtomicU64], first: usize) -> usize {
    let side = row.len();
    assert!(side > 0 && side.checked_mul(side) == Some(matrix.len()));
    assert!(first <= side && to.len() <= side - first);
    side
}

/// `to` = a row times columns of a square matrix, from number `first` on. Each sum goes down a
/// column, is stored after each product, and goes round.
///
/// schbench's requests are made of this, and one way of writing it takes up to a third more or less
/// than another. Here it takes as long, to some percent, as the C loop of gcc 12 with -O2, or up to
/// 14 % less.
///
/// # Panics
///
/// If the three do not fit each other.
#[cfg(target_arch = "x86_64")]
pub fn row_by_columns(to: &[AtomicU64], row: &[AtomicU64], matrix: &[AtomicU64], first: usize) {
    let side = side(to, row, matrix, first);
    for (column, to) in (first..).zip(to) {
        to.store(0, Relaxed);
        // SAFETY: a column has as many numbers as the row, `side` apart, all in the matrix; any
        // bits are valid in atomics.
        unsafe {
            std::arch::asm!(
                ".p2align 5",
                "2:",
                "mov {product}, [{left}]",
                "imul {product}, [{right}]",
                "add {left}, 8",
                "add {right}, {stride}",
                "add {sum}, {product}",
                "mov [{to}], {sum}",
                "cmp {left}, {end}",
                "jne 2b",
                product = out(reg) _, sum = inout(reg) 0_u64 => _,
                left = inout(reg) row.as_ptr() => _, end = in(reg) row.as_ptr_range().end,
                right = inout(reg) matrix.as_ptr().wrapping_add(column) => _,
                stride = in(reg) side * size_of::<u64>(),
                to = in(reg) to.as_ptr(),
                options(nostack),
            );
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
pub use by_words::{add, row_by_columns, scale, triad};

/// The same word by word, for other machines, and for the tests of the loops above.
#[cfg(any(test, not(target_arch = "x86_64")))]
mod by_words {
    use super::Line;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    fn each(to: &[Line], left: &[Line], right: &[Line], element: impl Fn(f64, f64) -> f64) {
        assert!(to.len() == left.len() && to.len() == right.len());
        for ((to, left), right) in to.iter().zip(left).zip(right) {
            for ((to, left), right) in to.words.iter().zip(&left.words).zip(&right.words) {
                let [left, right] = [left, right].map(|word| f64::from_bits(word.load(Relaxed)));
                to.store(element(left, right).to_bits(), Relaxed);
            }
        }
    }

    /// `to[i] = scalar * from[i]`
    pub fn scale(to: &[Line], from: &[Line], scalar: f64) {
        each(to, from, from, |it, _| scalar * it);
    }

    /// `to[i] = left[i] + right[i]`
    pub fn add(to: &[Line], left: &[Line], right: &[Line]) {
        each(to, left, right, |left, right| left + right);
    }

    /// `to[i] = left[i] + scalar * right[i]`
    pub fn triad(to: &[Line], left: &[Line], right: &[Line], scalar: f64) {
        each(to, left, right, |left, right| left + scalar * right);
    }

    /// `to` = a row times columns of a square matrix, from number `first` on.
    pub fn row_by_columns(to: &[AtomicU64], row: &[AtomicU64], matrix: &[AtomicU64], first: usize) {
        let side = super::side(to, row, matrix, first);
        for (column, to) in (first..).zip(to) {
            let mut sum: u64 = 0;
            to.store(sum, Relaxed);
            for (left, right) in row.iter().zip(matrix.chunks_exact(side)) {
                sum =
                    sum.wrapping_add(left.load(Relaxed).wrapping_mul(right[column].load(Relaxed)));
                to.store(sum, Relaxed);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::Region;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    const LINES: usize = 67;

    fn numbers(region: &Region) -> Vec<f64> {
        let words = region.slice::<Line>(0, LINES).iter().flat_map(|line| &line.words);
        words.map(|word| f64::from_bits(word.load(Relaxed))).collect()
    }

    /// Runs both ways of a kernel on the same numbers, on lines 1 to 65, beside a guard.
    fn check(fast: fn(&[&[Line]; 3]), slow: fn(&[&[Line]; 3]), n_elements: usize) {
        let run = |kernel: fn(&[&[Line]; 3])| {
            let regions = [0, 1, 2].map(|_| Region::private(LINES * 64).unwrap());
            let mut random = crate::base::Random::new(3, 0);
            for region in &regions {
                for word in region.slice::<Line>(0, LINES).iter().flat_map(|line| &line.words) {
                    word.store((random.below(1000) as f64 / 7.0).to_bits(), Relaxed);
                }
            }
            let before = numbers(&regions[0]);
            kernel(&regions.each_ref().map(|it| &it.slice::<Line>(0, LINES)[1..LINES - 1]));
            let after = numbers(&regions[0]);
            let changed = before.iter().zip(&after).filter(|(a, b)| a != b).count();
            assert_eq!(before[..8], after[..8]);
            assert_eq!(before[LINES * 8 - 8..], after[LINES * 8 - 8..]);
            (after, changed)
        };
        let (fast, slow) = (run(fast), run(slow));
        assert_eq!(fast, slow);
        assert!(fast.1 >= n_elements, "{} elements changed", fast.1);
    }

    #[test]
    fn loops_do_what_the_words_would() {
        check(|[a, b, _]| scale(a, b, 2.5), |[a, b, _]| by_words::scale(a, b, 2.5), 500);
        check(|[a, b, c]| add(a, b, c), |[a, b, c]| by_words::add(a, b, c), 500);
        check(|[a, b, c]| triad(a, b, c, 0.3), |[a, b, c]| by_words::triad(a, b, c, 0.3), 500);
        check(|[a, b, _]| copy(a, b), |[a, b, _]| by_words::scale(a, b, 1.0), 500);
        check(|[a, _, _]| zero(a), |[a, _, _]| by_words::scale(a, a, 0.0), 500);
        check(|[a, _, _]| zero_uncached(a), |[a, _, _]| by_words::scale(a, a, 0.0), 500);
        check(|[a, ..]| zero_uncached(&a[..0]), |[a, ..]| zero(&a[..0]), 0);
        check(|[a, ..]| zero(&a[..0]), |[a, ..]| triad(&a[..0], &a[..0], &a[..0], 1.0), 0);
    }

    #[test]
    fn a_row_times_columns_is_what_the_words_give() {
        let check = |side: usize| {
            let mut random = crate::base::Random::new(5, 0);
            let mut numbers = |n: usize| -> Vec<AtomicU64> {
                (0..n).map(|_| AtomicU64::new(random.below(u64::MAX))).collect()
            };
            let (row, matrix) = (numbers(side), numbers(side * side));
            let products = [row_by_columns, by_words::row_by_columns].map(|multiply| {
                // One behind the end, which stays.
                let to: Vec<_> = (0..=side).map(|_| AtomicU64::new(7)).collect();
                multiply(&to[..side / 2], &row, &matrix, 0);
                multiply(&to[side / 2..side], &row, &matrix, side / 2);
                to.into_iter().map(AtomicU64::into_inner).collect::<Vec<u64>>()
            });
            assert_eq!(products[0], products[1], "{side}");
            assert!(products[0][..side].iter().any(|&sum| sum != 0));
        };
        [1, 2, 104].into_iter().for_each(check);
    }
}
