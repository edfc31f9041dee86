//! Using random lines of memory, all alike or some more than others.
//!
//! Must not know: what the lines hold.

use super::{Access, Between, Span};
use crate::base::Random;
use crate::sys::region::LINE_BYTES;

/// Touches between two questions whether to stop: 0.1 ms if each misses every cache and the TLB
/// (100 ns), far less if the CPU overlaps them.
const PIECE_TOUCHES: u64 = 1024;

/// Uses `n` lines of the span, each drawn by `pick`; `bytes` are those of the lines, 64 for each
/// touch. Whether it came to the end. `zero` clears the line that it touches.
///
/// # Panics
///
/// If `pick` was made for more lines than the span has.
pub fn touch(
    span: Span<'_>,
    n: u64,
    access: Access,
    pick: &Pick,
    random: &mut Random,
    between: &mut Between<'_>,
) -> bool {
    let lines = span.lines();
    assert!(pick.n_lines() <= lines.len() as u64, "lines picked past the end of a span");
    let mut left = n;
    while left > 0 {
        let piece = left.min(PIECE_TOUCHES);
        // Draws are inside: only indexing knows what the assertion says.
        access.each((0..piece).map(|_| &lines[pick.line(random) as usize]));
        left -= piece;
        if !between(piece * LINE_BYTES as u64) {
            return false;
        }
    }
    true
}

/// How random lines are drawn. Made before the window; drawing allocates nothing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pick {
    n_lines: u64,
    zipf: Option<Zipf>,
}

impl Pick {
    /// Over so many lines (at least 1), with a skew: 0 draws all alike; above that, line k (from 1)
    /// is drawn in proportion to k^-skew, so that the first lines, and with them the first pages,
    /// are the hot ones. `None` if the skew is negative or not a number, or there is no line.
    pub fn new(n_lines: u64, skew: f64) -> Option<Pick> {
        let usable = n_lines > 0 && skew >= 0.0 && skew.is_finite();
        let zipf = (skew > 0.0).then(|| Zipf::new(n_lines, skew));
        usable.then_some(Pick { n_lines, zipf })
    }

    /// Over all lines of a span; see [`new`](Pick::new).
    pub fn of(span: Span<'_>, skew: f64) -> Option<Pick> {
        Pick::new((span.bytes / LINE_BYTES) as u64, skew)
    }

    pub fn n_lines(&self) -> u64 {
        self.n_lines
    }

    /// A line, from 0.
    #[inline(always)]
    pub fn line(&self, random: &mut Random) -> u64 {
        match &self.zipf {
            None => random.below(self.n_lines),
            Some(zipf) => zipf.draw(random) - 1,
        }
    }
}

/// Zipf's law by rejection-inversion: Hörmann and Derflinger, "Rejection-inversion to generate
/// variates from monotone discrete distributions", ACM TOMACS 6(3), 1996. Rank k has the weight
/// h(k) = k^-q. A real x is drawn with a density in proportion to h(x), by the inverse of its
/// integral H, and rounded; a rank is refused as often as the bar of height h(k) asks for, which is
/// rare: fewer than 1.1 draws a rank.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Zipf {
    n: f64,
    skew: f64,
    /// H(3/2) - h(1): the end of the bar of rank 1, which is never refused.
    first: f64,
    /// H(n + 1/2).
    last: f64,
    /// How far x may lie below its rank and surely be inside the bar.
    sure: f64,
}

impl Zipf {
    fn new(n: u64, skew: f64) -> Zipf {
        let n = n as f64;
        let mut zipf = Zipf { n, skew, first: 0.0, last: 0.0, sure: 0.0 };
        zipf.first = zipf.integral(1.5) - 1.0;
        zipf.last = zipf.integral(n + 0.5);
        zipf.sure = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.weight(2.0));
        zipf
    }

    /// h(x).
    fn weight(&self, x: f64) -> f64 {
        (-self.skew * x.ln()).exp()
    }

    /// H(x), the integral of h from 1: (x^(1-q) - 1) / (1 - q), which for q = 1 is ln x.
    fn integral(&self, x: f64) -> f64 {
        let log = x.ln();
        log * expm1_over((1.0 - self.skew) * log)
    }

    /// The x of which H is `area`.
    fn inverse(&self, area: f64) -> f64 {
        // At the end of the first bar of a steep law, rounding may reach past where H begins.
        let t = ((1.0 - self.skew) * area).max(-1.0);
        (area * ln1p_over(t)).exp()
    }

    /// A rank, from 1.
    fn draw(&self, random: &mut Random) -> u64 {
        loop {
            // 53 random bits, all that a f64 holds between 0 and 1.
            let unit = (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
            let area = self.last + unit * (self.first - self.last);
            let x = self.inverse(area);
            let rank = (x + 0.5).floor().clamp(1.0, self.n);
            let inside = area >= self.integral(rank + 0.5) - self.weight(rank);
            if rank - x <= self.sure || inside {
                return rank as u64;
            }
        }
    }
}

/// (e^x - 1) / x, also around 0.
fn expm1_over(x: f64) -> f64 {
    if x.abs() < 1e-8 { 1.0 + x / 2.0 } else { x.exp_m1() / x }
}

/// ln(1 + x) / x, also around 0.
fn ln1p_over(x: f64) -> f64 {
    if x.abs() < 1e-8 { 1.0 - x / 2.0 } else { x.ln_1p() / x }
}
