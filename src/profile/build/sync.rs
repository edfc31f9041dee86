//! Building barriers, locks, group commits and safepoints in Rust, and steps at them.
//!
//! Must not know: how profiles are checked.

use crate::base::Unit;
use crate::profile::{
    Action, Address, Expr, Profile, Sort, Step, SyncObject, SyncStep, SyncVerb, Which, Word,
};

impl Profile {
    /// A barrier, a lock, a group commit or a safepoint.
    pub fn sync(mut self, object: SyncObject) -> Profile {
        self.syncs.push(object);
        self
    }
}

impl SyncObject {
    /// A barrier of all tasks that come to it. What has no method here is a field.
    pub fn barrier(name: &str, kind: &str) -> SyncObject {
        let kind = Word::from(kind);
        SyncObject::new(name, Sort::Barrier { kind, spins: None, parties: None })
    }

    /// One lock.
    pub fn lock(name: &str, kind: &str) -> SyncObject {
        let count = Expr::number(1.0, Unit::Count);
        SyncObject::new(name, Sort::Lock { kind: Word::from(kind), count })
    }

    /// A group commit whose leader sleeps for `flush`.
    pub fn commit(name: &str, flush: impl Into<Expr>) -> SyncObject {
        let (flush, by) = (flush.into(), Word::from("sleep"));
        SyncObject::new(name, Sort::Commit { flush, by })
    }

    pub fn desk(name: &str) -> SyncObject {
        SyncObject::new(name, Sort::Desk)
    }

    pub fn safepoint(name: &str) -> SyncObject {
        SyncObject::new(name, Sort::Safepoint)
    }

    /// Number of locks. Means nothing for the other sorts.
    pub fn count(mut self, n: impl Into<Expr>) -> SyncObject {
        if let Sort::Lock { count, .. } = &mut self.sort {
            *count = n.into();
        }
        self
    }

    fn new(name: &str, sort: Sort) -> SyncObject {
        SyncObject { name: name.to_owned(), span: 0..0, sort }
    }
}

impl Step {
    pub fn barrier(name: &str) -> Step {
        Step::at_object(SyncVerb::Barrier, named(name), [])
    }

    /// The steps with a lock held: `rows[any]`, `rows[me]`, `rows[next]`, `rows[0]`.
    pub fn lock(which: impl Into<Address>, steps: impl IntoIterator<Item = Step>) -> Step {
        Step::at_object(SyncVerb::Lock, which.into(), steps)
    }

    pub fn commit(name: &str) -> Step {
        Step::at_object(SyncVerb::Commit, named(name), [])
    }

    pub fn ask(name: &str) -> Step {
        Step::at_object(SyncVerb::Ask, named(name), [])
    }

    pub fn serve(name: &str) -> Step {
        Step::at_object(SyncVerb::Serve, named(name), [])
    }

    pub fn safepoint(name: &str) -> Step {
        Step::at_object(SyncVerb::Safepoint, named(name), [])
    }

    pub fn collect(name: &str) -> Step {
        Step::at_object(SyncVerb::Collect, named(name), [])
    }

    pub fn pause(name: &str, steps: impl IntoIterator<Item = Step>) -> Step {
        Step::at_object(SyncVerb::Pause, named(name), steps)
    }

    /// A step at an object; its other fields are those of [`SyncStep`].
    fn at_object(verb: SyncVerb, at: Address, steps: impl IntoIterator<Item = Step>) -> Step {
        let steps = steps.into_iter().collect();
        let (skew, mode, fill, bytes) = (None, None, None, None);
        Action::Sync(Box::new(SyncStep { verb, at, skew, mode, fill, bytes, steps })).into()
    }

    /// Exponent of a Zipf distribution over the locks of `[any]`. Means nothing for other steps.
    pub fn skewed(mut self, exponent: impl Into<Expr>) -> Step {
        if let Action::Sync(it) = &mut self.action {
            it.skew = Some(exponent.into());
        }
        self
    }

    /// Of `serve`, the region of which the slice of a task is written right before it is woken.
    /// Means nothing for other steps.
    pub fn fill(mut self, region: &str) -> Step {
        if let Action::Sync(it) = &mut self.action {
            it.fill = Some(named(region));
        }
        self
    }

    /// `read` or `write`, of a lock. Means nothing for other steps.
    pub fn mode(mut self, mode: &str) -> Step {
        if let Action::Sync(it) = &mut self.action {
            it.mode = Some(Word::from(mode));
        }
        self
    }
}

fn named(name: &str) -> Address {
    Address { channel: Word::from(name), which: Which::All }
}
