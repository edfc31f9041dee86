//! Looking for the rate of requests at which the CPUs are as busy as is wanted.
//!
//! A rate is tried by a short run. Below the wanted share it grows threefold, above it shrinks, and
//! once there is a rate on either side the next is where the line between them meets the share: how
//! busy CPUs are grows with the rate, from whatever others keep them busy with. Must not know: how
//! a rate is run, what is printed.

/// How many rates are tried.
pub const TRIES: usize = 20;

/// The largest rate that the profile takes.
const MOST: u64 = 10_000_000;

/// A share is as wanted from here on: so much of itself off.
const NEAR: f64 = 0.05;
/// What a rate grows by, and what it shrinks to, until there is one on either side.
const GROWS: f64 = 3.0;
const SHRINKS: f64 = 0.3;

/// What a run at some rate showed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tried {
    /// Requests in a second that were to arrive.
    pub rps: u64,
    /// How busy the CPUs were: 1 is all of them, all the time.
    pub busy: f64,
    /// Requests in a second that workers got through, where they fell behind.
    pub at_most: Option<u64>,
}

/// What is done next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Next {
    Try(u64),
    /// The rate, how busy the CPUs are at it, and why it is this one.
    Keep(u64, f64, Why),
}

/// Why a rate is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// The CPUs are as busy as wanted.
    Near,
    /// Workers get no more through.
    NoMore,
    /// Of those tried it is the nearest, and there is none in between or no time for it.
    Nearest,
}

/// A search that is under way.
#[derive(Debug, Clone)]
pub struct Search {
    wanted: f64,
    n_tried: usize,
    below: Option<Tried>,
    above: Option<Tried>,
}

impl Search {
    /// For this share of the CPUs' time.
    pub fn new(wanted: f64) -> Search {
        Search { wanted, n_tried: 0, below: None, above: None }
    }

    /// What follows from another try.
    pub fn after(&mut self, tried: Tried) -> Next {
        self.n_tried += 1;
        let Tried { busy, at_most, .. } = tried;
        // Where workers fell behind, what kept the CPUs busy is what they got through.
        let rps = at_most.unwrap_or(tried.rps).max(1);
        let tried = Tried { rps, ..tried };
        if self.off(tried) <= NEAR {
            return Next::Keep(rps, busy, Why::Near);
        }
        match (busy < self.wanted, at_most) {
            (true, Some(_)) => return Next::Keep(rps, busy, Why::NoMore),
            (true, None) => self.below = Some(tried),
            (false, _) => self.above = Some(tried),
        }
        match self.between().filter(|_| self.n_tried < TRIES) {
            Some(rps) => Next::Try(rps),
            None => self.nearest(tried),
        }
    }

    /// By which part of the wanted share it was missed.
    fn off(&self, tried: Tried) -> f64 {
        (tried.busy - self.wanted).abs() / self.wanted
    }

    /// The rate to try next; `None` if there is none that would tell more.
    fn between(&self) -> Option<u64> {
        let scaled = |tried: Tried, by: f64| (tried.rps as f64 * by).round() as u64;
        match (self.below, self.above) {
            (Some(below), Some(above)) => {
                let part = (self.wanted - below.busy) / (above.busy - below.busy);
                let apart = above.rps.checked_sub(below.rps)?;
                let next = below.rps + (apart as f64 * part).round() as u64;
                Some(next.max(below.rps + 1).min(above.rps - 1)).filter(|rps| *rps > below.rps)
            }
            (Some(below), None) => {
                Some(scaled(below, GROWS).min(MOST)).filter(|rps| *rps > below.rps)
            }
            (None, Some(above)) => {
                Some(scaled(above, SHRINKS).max(1)).filter(|rps| *rps < above.rps)
            }
            (None, None) => None,
        }
    }

    fn nearest(&self, last: Tried) -> Next {
        let found = [self.below, self.above].into_iter().flatten();
        let nearest = found.min_by(|a, b| self.off(*a).total_cmp(&self.off(*b))).unwrap_or(last);
        Next::Keep(nearest.rps, nearest.busy, Why::Nearest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine on which others keep `others` of the CPUs busy, a request takes `cost` of their
    /// second, and workers get `most` through.
    struct Machine {
        others: f64,
        cost: f64,
        most: f64,
    }

    impl Machine {
        fn run(&self, rps: u64) -> Tried {
            let served = (rps as f64).min(self.most);
            let at_most = (served < rps as f64).then_some(served as u64);
            Tried { rps, busy: (self.others + served * self.cost).min(1.0), at_most }
        }
    }

    /// The rates that are tried from `first` on, and what is kept.
    fn search(machine: &Machine, wanted: f64, first: u64) -> (Vec<u64>, u64, Why) {
        let mut search = Search::new(wanted);
        let (mut rps, mut rates) = (first, Vec::new());
        loop {
            rates.push(rps);
            match search.after(machine.run(rps)) {
                Next::Try(next) => rps = next,
                Next::Keep(rps, _, why) => return (rates, rps, why),
            }
        }
    }

    #[test]
    fn finds_the_rate_of_a_share() {
        for (others, cost) in [(0.0, 0.0002), (0.0, 0.01), (0.2, 0.0001), (0.4, 0.003)] {
            let machine = Machine { others, cost, most: 1e9 };
            for (wanted, first) in [(0.5, 1), (0.5, 10), (0.5, 4_000), (0.9, 1_000_000), (1.0, 10)]
            {
                let (rates, kept, why) = search(&machine, wanted, first);
                let off = (machine.run(kept).busy - wanted).abs() / wanted;
                assert!(why == Why::Near && off <= NEAR, "{why:?} {rates:?}, kept {kept}");
                assert!(rates.len() <= TRIES, "{rates:?}");
            }
        }
    }

    #[test]
    fn ends_where_there_is_no_such_rate() {
        let check = |others, cost, most, wanted, expected: (u64, Why)| {
            let (rates, kept, why) = search(&Machine { others, cost, most }, wanted, 10);
            assert_eq!((kept, why), expected, "{rates:?}");
            assert!(rates.len() <= TRIES, "{rates:?}");
        };
        // Workers that sleep get 700 through, whatever arrives.
        check(0.0, 0.0002, 700.0, 0.5, (700, Why::NoMore));
        // Others keep more than that of the CPUs busy already.
        check(0.7, 0.0002, 1e9, 0.5, (1, Why::Nearest));
        // 2 requests are too few, 3 too many.
        check(0.0, 0.2, 1e9, 0.5, (2, Why::Nearest));
        // Requests that cost next to nothing.
        check(0.0, 1e-18, 1e18, 0.5, (MOST, Why::Nearest));
    }

    #[test]
    fn one_grows_at_most_threefold_at_once() {
        let (rates, ..) = search(&Machine { others: 0.0, cost: 1e-5, most: 1e9 }, 0.5, 10);
        assert!(rates.windows(2).all(|pair| pair[1] <= 3 * pair[0]), "{rates:?}");
        assert_eq!(rates[..3], [10, 30, 90]);
    }
}
