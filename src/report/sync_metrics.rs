//! The metrics of barriers, locks, group commits, desks and safepoints.
//!
//! Must not know: the other metrics.

use crate::record::recording::{SeriesKind, SyncRecord};
use crate::report::histogram::{P50, P99};
use crate::report::judge::Case;
use crate::report::metrics::{NO_WINDOW, Value, per_s, percentile, ratio};
use crate::report::{NO_SYNC, latency, sync};

/// Whoever is still waiting at the end of the window has a wait that nobody knows the length of.
const NO_PASS: &str = "nobody passed a barrier in the window";

/// `None` for the key of a metric of something else.
pub(super) fn of(key: &str, case: &Case<'_>) -> Option<Value> {
    Some(match key {
        "asks_per_s" => sync_per_s("desk", |it| it.led.window, case),
        "commits_per_s" => sync_per_s("commit", |it| it.passes.window, case),
        "lock_acquisitions_per_s" => sync_per_s("lock", |it| it.passes.window, case),
        "pauses_per_s" => sync_per_s("safepoint", |it| it.leads, case),
        "pause_ns_p50" => pause(P50, case),
        "pause_ns_p99" => pause(P99, case),
        "barrier_rounds_per_s" => sync_per_s("barrier", |it| it.leads, case),
        "barrier_wait_share" => barrier_waits(case),
        "barrier_asleep_share" => {
            let of_barriers = |of: fn(&SyncRecord) -> u64| sync::sum_of(case, "barrier", of);
            let passes = of_barriers(|it| it.passes.window).unwrap_or_default();
            let slept = of_barriers(|it| it.slept).ok_or(NO_SYNC.to_owned());
            slept.and_then(|slept| ratio(slept as f64, passes, NO_PASS))
        }
        _ => return None,
    })
}

/// Of all objects of a sort; nothing where there is none of it.
fn sync_per_s(sort: &str, of: fn(&SyncRecord) -> u64, case: &Case<'_>) -> Value {
    let sum = sync::sum_of(case, sort, of);
    sum.ok_or(NO_SYNC.to_owned()).and_then(|sum| per_s(sum, case))
}

/// Of the time of all teams that come to barriers; who comes to two of them counts once.
fn barrier_waits(case: &Case<'_>) -> Value {
    let passes = sync::sum_of(case, "barrier", |it| it.passes.window).ok_or(NO_SYNC)?;
    if passes == 0 {
        return Err(NO_PASS.to_owned());
    }
    let (waited_ns, had_ns) = sync::barrier_waits(case);
    match had_ns > 0.0 {
        true => Ok(waited_ns / had_ns),
        false => Err(NO_WINDOW.to_owned()),
    }
}

fn pause(p: u64, case: &Case<'_>) -> Value {
    sync::sum_of(case, "safepoint", |_| 0).ok_or(NO_SYNC.to_owned())?;
    let pauses =
        latency::merged(case.recording, |series| matches!(series.kind, SeriesKind::Pause(_)));
    percentile(&pauses, p, "pause that helpers ended")
}
