//! What a task remembers of its measure blocks, whatever is in them, and of what it computes.
//!
//! Must not know: which instances are kept apart, and why.

use super::{Phase, Recorder, add};
use std::sync::atomic::Ordering::Relaxed;

impl<'a> Recorder<'a> {
    /// The same of a task of that instance, with its own blocks if instances are kept apart.
    pub fn in_instance(mut self, instance: u32) -> Recorder<'a> {
        self.instance = instance as usize;
        if self.instance < self.shared.memory.layout.spec.instances_apart {
            self.first_measure += instance as u16 * self.layout.n_measures;
        }
        self
    }

    /// A measure block that began at `began` (ticks) has ended.
    #[inline(always)]
    pub fn measured(&mut self, measure: u16, began: u64) {
        let now = self.now();
        if self.phase() == Phase::Window {
            let cpu = self.shared.cpu.get();
            self.record(cpu, self.first_measure + measure, began, now);
            self.keep_block(now.saturating_sub(began));
        }
    }

    /// So much work is done, each of it so many floating point operations, if the run is not over,
    /// which cuts it short; of what no run ends the product may not be a number.
    #[inline]
    pub fn computed(&self, amount: u64, flops: u64) {
        if self.phase() == Phase::Window {
            add(&self.slot.flops, amount * flops);
        }
    }

    /// Keeps how long the first block and the last one took, of whatever name.
    #[inline(always)]
    fn keep_block(&self, ticks: u64) {
        let kept = ticks + 1;
        if self.slot.first_block.load(Relaxed) == 0 {
            self.slot.first_block.store(kept, Relaxed);
        }
        self.slot.last_block.store(kept, Relaxed);
    }
}
