//! The four kernels of McCalpin's STREAM on three arrays of f64.
//!
//! Must not know: how long they take, whose the arrays are.

use super::{Between, Span};
use crate::sys::bulk;
use crate::sys::region::{LINE_BYTES, Line};
use std::sync::atomic::Ordering::Relaxed;

/// Bytes of each array between two questions whether to stop.
const PIECE_BYTES: usize = 128 << 10;

/// The arrays of STREAM, equally long; what is past the shortest is left alone.
#[derive(Debug, Clone, Copy)]
pub struct Arrays<'a> {
    pub a: Span<'a>,
    pub b: Span<'a>,
    pub c: Span<'a>,
}

/// The factor of scale and triad. STREAM has 3, with which the numbers grow without end; with this
/// one, which solves s^2 + 2 s = 1, they are the same after each round of the four kernels, and
/// triad alone changes nothing after the first time.
pub const SCALAR: f64 = std::f64::consts::SQRT_2 - 1.0;

/// What [`fill`] writes, as STREAM does.
pub const INITIAL: [f64; 3] = [1.0, 2.0, 0.0];

/// A kernel of STREAM.
#[derive(Debug)]
pub struct Kernel {
    pub name: &'static str,
    pub about: &'static str,
    /// As STREAM counts: 8 for each array that is read or written, not what the memory passes on
    /// when a line is fetched only to be overwritten.
    pub bytes_per_element: u64,
    run: fn(a: &[Line], b: &[Line], c: &[Line]),
}

/// All kernels, in STREAM's order.
pub const KERNELS: &[Kernel] = &[
    Kernel { name: "copy", about: "c = a", bytes_per_element: 16, run: |a, _, c| bulk::copy(c, a) },
    Kernel {
        name: "scale",
        about: "b = s * c",
        bytes_per_element: 16,
        run: |_, b, c| bulk::scale(b, c, SCALAR),
    },
    Kernel {
        name: "add",
        about: "c = a + b",
        bytes_per_element: 24,
        run: |a, b, c| bulk::add(c, a, b),
    },
    Kernel {
        name: "triad",
        about: "a = b + s * c",
        bytes_per_element: 24,
        run: |a, b, c| bulk::triad(a, b, c, SCALAR),
    },
];

/// The row of that name.
pub fn find(name: &str) -> Option<&'static Kernel> {
    KERNELS.iter().find(|kernel| kernel.name == name)
}

/// Runs a kernel once over the arrays; `bytes` as STREAM counts them. Whether it came to the end.
pub fn stream(kernel: &Kernel, arrays: &Arrays<'_>, between: &mut Between<'_>) -> bool {
    pieces(arrays).all(|[a, b, c]| {
        (kernel.run)(a, b, c);
        between(size_of_val(a) as u64 / 8 * kernel.bytes_per_element)
    })
}

/// Writes the first numbers into the arrays (and with them touches every page); `bytes` are those
/// written. Whether it came to the end.
pub fn fill(arrays: &Arrays<'_>, between: &mut Between<'_>) -> bool {
    pieces(arrays).all(|piece| {
        for (lines, number) in piece.iter().zip(INITIAL) {
            for word in lines.iter().flat_map(|line| &line.words) {
                word.store(number.to_bits(), Relaxed);
            }
        }
        between(3 * size_of_val(piece[0]) as u64)
    })
}

fn pieces<'a>(arrays: &Arrays<'a>) -> impl Iterator<Item = [&'a [Line]; 3]> {
    let lines = [arrays.a, arrays.b, arrays.c].map(|span| span.lines());
    let n_lines = lines.iter().map(|lines| lines.len()).min().unwrap_or(0);
    let [a, b, c] = lines.map(|lines| lines[..n_lines].chunks(PIECE_BYTES / LINE_BYTES));
    a.zip(b).zip(c).map(|((a, b), c)| [a, b, c])
}
