//! What measuring costs here, measured before a run on memory of its own.
//!
//! Must not know: the run.

use super::RunError;
use crate::plan::Plan;
use crate::record::layout::{self, Layout};
use crate::record::memory::Phase;
use crate::record::recorder::{Recorder, Recorders};
use crate::record::recording::HarnessCost;
use crate::record::{Memory, stamp};
use crate::sys::clock::{Clock, monotonic_ns};
use crate::sys::cpu::CurrentCpu;
use std::hint::black_box;
use std::sync::atomic::Ordering::Relaxed;

/// Calls in a trial, and trials: the best one counts, since everything that disturbs a trial makes
/// it longer. Together some 2 ms.
const CALLS: u32 = 2_000;
const TRIALS: u32 = 20;

fn best_ns(mut call: impl FnMut()) -> f64 {
    let mut trial = || {
        let start = monotonic_ns();
        for _ in 0..CALLS {
            call();
        }
        monotonic_ns() - start
    };
    let best = (0..TRIALS).map(|_| trial()).min().unwrap_or(0);
    best as f64 / f64::from(CALLS)
}

/// Clock, stamp and record with the run's own code on this machine.
pub(super) fn measure(plan: &Plan, clock: Clock) -> Result<HarnessCost, RunError> {
    let first = plan.cpus.iter().find(|cpu| cpu.allowed).map(|cpu| cpu.id);
    let cpu_spec = |cpu: &crate::plan::PlanCpu| layout::Cpu {
        id: cpu.id,
        place: cpu.place,
        allowed: Some(cpu.id) == first,
    };
    let layout = Layout::new(layout::Spec {
        cpus: plan.cpus.iter().map(cpu_spec).collect(),
        teams: vec![layout::Team {
            receives: true,
            measures: Vec::new(),
            syncs: Vec::new(),
            pauses: Vec::new(),
            paces: 0,
        }],
        n_tasks: 1,
        channels: Vec::new(),
        sync_bytes: Vec::new(),
        copies: 1,
        instances_apart: 1,
        n_instances: 1,
        spaces: 1,
        n_regions: 0,
        page_bytes: crate::sys::shared::page_bytes(),
    });
    let (memory, _) = Memory::create(layout).map_err(RunError::system("shared memory"))?;
    let recorders = Recorders::new(&memory, clock, CurrentCpu::find());
    let mut recorder = Recorder::new(&recorders, 0, 0);
    memory.control().phase.store(Phase::Window as u32, Relaxed);
    recorder.begin();

    let mut message = [0; stamp::BYTES];
    let clock_ns = best_ns(|| {
        black_box(clock.now());
    });
    let stamp_ns = best_ns(|| {
        recorder.sent();
        recorder.stamp().write(black_box(&mut message));
    });
    let received_ns = best_ns(|| {
        let waiting_since = recorder.now();
        recorder.received(waiting_since, |_| stamp::Stamp::read(black_box(&message)));
    });
    Ok(HarnessCost {
        clock: clock.source(),
        clock_ns,
        stamp_ns,
        record_ns: (received_ns - clock_ns).max(0.0),
    })
}
