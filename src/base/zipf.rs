//! Random ranks of which the first are drawn most.
//!
//! Must not know: what is drawn.

use super::Random;

/// Zipf's law by rejection-inversion: Hörmann and Derflinger, "Rejection-inversion to generate
/// variates from monotone discrete distributions", ACM TOMACS 6(3), 1996. Rank k has the weight
/// h(k) = k^-q. A real x is drawn with a density in proportion to h(x), by the inverse of its
/// integral H, and rounded; a rank is refused as often as the bar of height h(k) asks for, which is
/// rare: fewer than 1.1 draws a rank.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Zipf {
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
    /// Over ranks 1 to `n` (at least 1), with an exponent above 0.
    pub fn new(n: u64, skew: f64) -> Zipf {
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
    pub fn draw(&self, random: &mut Random) -> u64 {
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
