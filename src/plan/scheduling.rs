//! Scheduling attributes of a team: their ranges, which go together, and who may have them.
//!
//! The kernel refuses wrong ones too, but late, with an error number, and some it ignores.
//! Must not know: how they are set.

use super::number::{self, Wanted};
use super::resolve::one_of;
use super::scope::Scope;
use super::sync::{SyncPlan, SyncSort};
use super::{DeadlineTimes, Op, Plan, Policy, Refusal, Scheduling, TeamPlan};
use crate::base::{Unit, unit};
use crate::host::Host;
use crate::profile::keys::{SLICE_MAX, SLICE_MIN, TIMER_SLACK_MAX};
use crate::profile::{self, Deadline, Expr, Fault, Span, Team};
use crate::step::work;

pub(super) const POLICIES: [(&str, Policy); 7] = [
    ("other", Policy::Other),
    ("batch", Policy::Batch),
    ("idle", Policy::Idle),
    ("fifo", Policy::Fifo),
    ("rr", Policy::Rr),
    ("deadline", Policy::Deadline),
    ("ext", Policy::Ext),
];

/// Below that the kernel takes no runtime (DL_SCALE in kernel/sched/sched.h, v6.12).
const DEADLINE_RUNTIME_MIN: f64 = 1024.0;
/// Above that the kernel takes no period (sysctl_sched_dl_period_max, v6.12).
const DEADLINE_PERIOD_MAX: f64 = 4_194_304_000.0;

impl Policy {
    /// The word in profiles.
    pub fn name(self) -> &'static str {
        let row = POLICIES.iter().find(|(_, policy)| *policy == self);
        row.map_or("", |(name, _)| name)
    }

    fn is_real_time(self) -> bool {
        matches!(self, Policy::Fifo | Policy::Rr)
    }
}

/// Timer slack of who sleeps and was given none (ns).
const SLACK_NS: u64 = 1;
/// The kernel's own (init/init_task.c, v6.12).
const USUAL_SLACK_NS: u64 = 50_000;

/// The shortest slice (ns).
const SHORTEST: u64 = SLICE_MIN as u64;

/// The attributes of a team, each within its range and fitting the others.
pub(super) fn resolve(team: &Team, scope: &Scope, faults: &mut Vec<Fault>) -> Scheduling {
    let profile::Scheduling { policy, nice, priority, slice, deadline, .. } = &team.scheduling;
    let profile::Scheduling { timer_slack, uclamp_min, uclamp_max, .. } = &team.scheduling;
    let mut number = |expr: &Option<Expr>, word: &str, unit, min, max| {
        let what = format!("`{word}` of team `{}`", team.name);
        let wanted = Wanted::new(what, unit, min, max);
        number::whole(expr.as_ref()?, &wanted, scope, faults)
    };
    let slice_ns = number(slice, "slice", Unit::Time, 0.0, SLICE_MAX).map(|it| it as u64);
    let resolved = Scheduling {
        nice: number(nice, "nice", Unit::Count, -20.0, 19.0).map(|nice| nice as i32),
        priority: number(priority, "priority", Unit::Count, 1.0, 99.0).map(|it| it as u32),
        // 0 leaves it to the scheduler, so that a parameter can.
        slice_ns: slice_ns.filter(|ns| *ns > 0),
        timer_slack_ns: number(timer_slack, "timer_slack", Unit::Time, 1.0, TIMER_SLACK_MAX)
            .map(|it| it as u64),
        uclamp_min: number(uclamp_min, "uclamp_min", Unit::Count, 0.0, 1024.0).map(|it| it as u32),
        uclamp_max: number(uclamp_max, "uclamp_max", Unit::Count, 0.0, 1024.0).map(|it| it as u32),
        policy: policy.as_ref().and_then(|word| one_of("policy", &POLICIES, word, scope, faults)),
        deadline: deadline.as_ref().and_then(|times| self::deadline(times, team, scope, faults)),
    };
    if let (Some(expr), Some(ns @ 1..SHORTEST)) = (slice, slice_ns) {
        let [given, least] = [ns, SHORTEST].map(|ns| unit::exact(ns as f64, Unit::Time));
        let message = format!(
            "`slice` of team `{}` is {given}, and must be at least {least}, or 0",
            team.name
        );
        faults.push(Fault::new(expr.span.clone(), message));
    }
    let policy_failed = policy.is_some() && resolved.policy.is_none();
    if !policy_failed {
        combine(team, &resolved, faults);
    }
    resolved
}

fn deadline(
    times: &Deadline,
    team: &Team,
    scope: &Scope,
    faults: &mut Vec<Fault>,
) -> Option<DeadlineTimes> {
    let mut number = |expr: &Expr, word: &str, min| {
        let what = format!("deadline's `{word}` of team `{}`", team.name);
        let wanted = Wanted::new(what, Unit::Time, min, DEADLINE_PERIOD_MAX);
        number::whole(expr, &wanted, scope, faults).map(|time| time as u64)
    };
    let runtime = number(&times.runtime, "runtime", DEADLINE_RUNTIME_MIN);
    let period = number(&times.period, "period", 100e3);
    let deadline = match &times.deadline {
        Some(deadline) => number(deadline, "deadline", DEADLINE_RUNTIME_MIN),
        None => period,
    };
    let times = DeadlineTimes { runtime_ns: runtime?, deadline_ns: deadline?, period_ns: period? };
    if times.runtime_ns <= times.deadline_ns && times.deadline_ns <= times.period_ns {
        return Some(times);
    }
    let message = format!(
        "team `{}`: runtime {} ns, deadline {} ns, period {} ns: each must be at most the next",
        team.name, times.runtime_ns, times.deadline_ns, times.period_ns
    );
    faults.push(Fault::new(team.span.clone(), message));
    None
}

/// What does not go together.
fn combine(team: &Team, resolved: &Scheduling, faults: &mut Vec<Fault>) {
    let given = &team.scheduling;
    let policy = resolved.policy.unwrap_or(Policy::Other);
    let span = |expr: &Option<Expr>| expr.as_ref().map(|expr| expr.span.clone());
    let word = given.policy.as_ref().map_or(team.span.clone(), |word| word.span.clone());
    let mut fault = |span: Span, message: String| {
        faults.push(Fault::new(span, format!("team `{}`: {message}", team.name)));
    };
    let fair = matches!(policy, Policy::Other | Policy::Batch);
    // sched_ext schedulers weigh tasks by their nice values, too.
    if let (Some(span), false) = (span(&given.nice), fair || policy == Policy::Ext) {
        fault(span, format!("policy `{}` takes no `nice`", policy.name()));
    }
    if let (Some(span), false) = (span(&given.slice), fair) {
        fault(span, format!("policy `{}` takes no `slice`", policy.name()));
    }
    match span(&given.priority) {
        Some(span) if !policy.is_real_time() => {
            fault(
                span,
                format!("policy `{}` takes no `priority`, only fifo and rr do", policy.name()),
            );
        }
        None if policy.is_real_time() => {
            fault(word.clone(), format!("policy `{}` needs a `priority` (1 to 99)", policy.name()));
        }
        _ => {}
    }
    if let (Some(min), Some(max)) = (resolved.uclamp_min, resolved.uclamp_max)
        && min > max
    {
        let span = span(&given.uclamp_min).unwrap_or_default();
        fault(span, format!("uclamp_min {min} is above uclamp_max {max}"));
    }
    match (&given.deadline, policy == Policy::Deadline) {
        (Some(times), false) => {
            let span = times.runtime.span.clone();
            fault(span, format!("policy `{}` takes no deadline times", policy.name()));
        }
        (None, true) => fault(word, "policy `deadline` needs a runtime and a period".to_owned()),
        _ => {}
    }
    // __sched_setscheduler in kernel/sched/syscalls.c, v6.12: the mask must span the root domain.
    let placed = team.placement.on.is_some() || team.placement.spread.is_some();
    if policy == Policy::Deadline && (placed || team.placement.pin) {
        let message = "the kernel refuses policy `deadline` to tasks that may not run everywhere: \
                       leave out `on`, `spread` and `pin`";
        fault(team.span.clone(), message.to_owned());
    }
}

/// What this user may not do, or this kernel cannot.
pub(super) fn rights(team: &TeamPlan, host: &Host, refusals: &mut Vec<Refusal>) {
    let Scheduling { policy, nice, priority, slice_ns, .. } = &team.scheduling;
    let name = &team.name;
    let limits = &host.limits;
    let nobody_knows = limits.rt_priority.is_none();
    let needs_right = "run it as root, or with CAP_SYS_NICE";
    if let (Some(priority), Some(limit), false) =
        (priority, limits.rt_priority, limits.can_set_nice)
        && limit.soft < u64::from(*priority)
    {
        let message = format!(
            "team `{name}` needs real-time priority {priority}, and RLIMIT_RTPRIO is {}",
            limit.soft
        );
        let help = format!("raise it with `ulimit -r {priority}`, or {needs_right}");
        refusals.push(Refusal::new(message).with_help(help));
    }
    // RLIMIT_NICE is 20 minus the lowest nice value.
    if let (Some(nice), Some(limit), false) = (nice, limits.nice, limits.can_set_nice)
        && *nice < 0
        && limit.soft < 20 + u64::from(nice.unsigned_abs())
    {
        let need = 20 + nice.unsigned_abs();
        let message = format!(
            "team `{name}` needs nice {nice}, and RLIMIT_NICE is {}, where it takes {need}",
            limit.soft
        );
        let help = format!("raise it with `ulimit -e {need}`, or {needs_right}");
        refusals.push(Refusal::new(message).with_help(help));
    }
    if *policy == Some(Policy::Deadline) && !limits.can_set_nice && !nobody_knows {
        let message = format!("team `{name}` needs policy deadline, and CAP_SYS_NICE is not held");
        refusals.push(Refusal::new(message).with_help(needs_right));
    }
    if let (Some(_), Some(release)) = (slice_ns, host.kernel_release.value())
        && version(release).is_some_and(|version| version < (6, 12))
    {
        let message = format!(
            "team `{name}` needs a slice of its own, which Linux has since 6.12, and this is \
             {release}"
        );
        refusals.push(Refusal::new(message).with_help("leave out `slice`"));
    }
}

impl TeamPlan {
    /// The timer slack with which its members sleep for times of their own, in a step or as
    /// leaders of a group commit (ns); `None` if none does.
    fn sleeps_with_slack_ns(&self, syncs: &[SyncPlan]) -> Option<u64> {
        let flushes = |object: &u32| match &syncs[*object as usize].sort {
            SyncSort::Commit { by, .. } => work::find(by).is_some_and(|kind| kind.sleeps),
            _ => false,
        };
        let sleeps = self.ops.iter().any(Op::sleeps) || self.syncs().iter().any(flushes);
        sleeps.then(|| self.scheduling.timer_slack_ns.unwrap_or(SLACK_NS))
    }
}

impl Plan {
    /// The timer slack that members of a team set (ns): what they were given, or the least for
    /// those that sleep for a time of their own; `None` leaves what is inherited.
    pub fn timer_slack_ns(&self, team: &TeamPlan) -> Option<u64> {
        team.scheduling.timer_slack_ns.or_else(|| team.sleeps_with_slack_ns(&self.syncs))
    }
}

/// Says of each team that sleeps what is not as the kernel would have it.
pub(super) fn notes(teams: &[TeamPlan], syncs: &[SyncPlan], notes: &mut Vec<String>) {
    for team in teams {
        if let Some(slack_ns) = team.sleeps_with_slack_ns(syncs)
            && slack_ns != USUAL_SLACK_NS
        {
            let (name, slack) = (&team.name, unit::time(slack_ns as f64));
            notes.push(format!(
                "team `{name}` sleeps with a timer slack of {slack}, not the usual 50 us"
            ));
        }
    }
}

/// `6.12.3-amd64` as (6, 12).
fn version(release: &str) -> Option<(u32, u32)> {
    let mut parts = release.split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}
