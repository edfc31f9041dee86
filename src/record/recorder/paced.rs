//! Rounds that have times of their own or are of a part of the team, and blocks measured from when
//! their request arrived.
//!
//! Must not know: what decides the times.

use super::{Phase, Recorder, add};

impl Recorder<'_> {
    /// A measure block has ended whose request arrived at `origin` (ticks); 0 if that is not known.
    #[inline(always)]
    pub fn answered(&mut self, measure: u16, origin: u64) {
        match (origin, self.phase()) {
            (0, Phase::Window) => add(&self.slot.without_origin, 1),
            (0, _) => {}
            _ => self.measured(measure, origin),
        }
    }

    /// A round of a paced block begins, so long after its time (ns).
    #[inline]
    pub fn paced(&mut self, pace: u16, late_ns: u64) {
        let [begun, _] = &self.paces[pace as usize];
        add(begun, 1);
        if self.phase() == Phase::Window {
            let cpu = self.shared.cpu.get();
            self.enter(cpu, self.layout.first_lateness + pace, late_ns);
        }
    }

    /// The task has come to a block that a part of its team does, and is of that part or is not.
    #[inline]
    pub fn drew(&self, is_active: bool) {
        if self.phase() == Phase::Window {
            add(&self.slot.draws[usize::from(is_active)], 1);
        }
    }

    /// So many rounds of a paced block were left out.
    #[inline]
    pub fn missed(&self, pace: u16, n: u64) {
        if self.phase() == Phase::Window {
            let [_, missed] = &self.paces[pace as usize];
            add(missed, n);
        }
    }
}
