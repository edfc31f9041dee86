//! Ways for one task to wake another: a row and a file for each kind.
//!
//! The contract of every kind: a wake posted before the wait is kept, and every wake makes exactly
//! one wait return. Neither `wake` nor `wait` reads a clock, allocates, sets a time limit, or tries
//! again after an interrupt: that is the caller's to decide. Must not know: recorder, plan, clock.
//!
//! To add a kind: a file here (copy `null.rs`), its type in `forms!` unless it has one of those,
//! and its row in [`KINDS`]; the conformance suite, help and documents walk the rows.

mod condvar;
mod eventfd;
mod futex;
mod null;
mod pipe;
mod queue;
mod socketpair;
mod stream;
mod tcp;

#[cfg(test)]
mod conformance;

pub use crate::sys::futex::Scope;

use crate::sys::fd::Broken;
use crate::sys::{Errno, Shared};

/// One instance of a kind, shared by all who wake or wait on it.
pub trait Channel: Send + Sync {
    /// Posts a message, waking one wakee if there is one; may itself block while the channel is
    /// full, if the kind's row says so.
    fn wake(&self, message: &[u8]) -> Result<(), Hitch>;

    /// Waits for a message and takes it. `message` has the size that wakers use.
    fn wait(&self, message: &mut [u8]) -> Result<(), Hitch>;

    /// Gets everybody out who is blocked in `wake` or `wait`, for kinds whose calls a signal does
    /// not end. Called again until all are out; no message sent after it counts.
    fn interrupt(&self) {}
}

/// An instance of any kind.
///
/// It is known by its type, not through a table of methods, so that its system call is inlined into
/// the step loop: a `ret` after a system call is mispredicted, since the kernel's own returns have
/// used up the CPU's return stack. That is 20 ns a message here.
pub struct Instance<'a>(Form<'a>);

/// The types that have a `Channel` for what kinds do; several kinds may share one.
macro_rules! forms {
    ($($form:ident($type:ty),)*) => {
        enum Form<'a> {
            $($form($type),)*
        }

        $(impl<'a> From<$type> for Instance<'a> {
            fn from(it: $type) -> Instance<'a> {
                Instance(Form::$form(it))
            }
        })*

        impl Channel for Instance<'_> {
            #[inline(always)]
            fn wake(&self, message: &[u8]) -> Result<(), Hitch> {
                match &self.0 {
                    $(Form::$form(it) => it.wake(message),)*
                }
            }

            #[inline(always)]
            fn wait(&self, message: &mut [u8]) -> Result<(), Hitch> {
                match &self.0 {
                    $(Form::$form(it) => it.wait(message),)*
                }
            }

            fn interrupt(&self) {
                match &self.0 {
                    $(Form::$form(it) => it.interrupt(),)*
                }
            }
        }
    };
}

forms! {
    Stream(stream::Stream),
    Eventfd(eventfd::Eventfd),
    Futex(futex::Futex<'a>),
    Condvar(condvar::Counter),
    Queue(queue::Queue),
    Null(null::Null),
}

/// Why a wake or wait did not happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hitch {
    /// A signal or [`Channel::interrupt`] ended it.
    Interrupted,
    /// The other side is gone.
    Ended,
    /// This call failed.
    Failed { call: Call, errno: Errno },
}

/// The calls that kinds make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    Read,
    Write,
    FutexWait,
    FutexWake,
}

impl Hitch {
    #[inline]
    fn from_broken(call: Call) -> impl Fn(Broken) -> Hitch {
        move |broken| match broken {
            Broken::Interrupted => Hitch::Interrupted,
            Broken::Ended => Hitch::Ended,
            Broken::Failed(errno) => Hitch::Failed { call, errno },
        }
    }
}

/// What an instance is made from.
pub struct Opening<'a> {
    /// Threads of one process, or processes.
    pub scope: Scope,
    /// Size of every message (bytes).
    pub bytes: usize,
    /// Zeroed memory that all tasks share, and where the row's `state_bytes` of this instance are.
    pub shared: &'a Shared,
    pub offset: usize,
}

/// Why an instance could not be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{call}: {errno}")]
pub struct OpenError {
    pub call: &'static str,
    pub errno: Errno,
}

/// The number of wakers and wakees on one instance of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    OneToOne,
    ManyToOne,
    OneToMany,
    ManyToMany,
}

/// What a kind is and can do; everything that lists kinds walks these rows.
pub struct Kind {
    pub name: &'static str,
    pub about: &'static str,
    /// Whether a message has content, so that its size matters and it can carry its stamp.
    pub payload: bool,
    /// Whether a waker may block while the channel is full.
    pub wake_blocks: bool,
    /// Whether it works between processes.
    pub processes: bool,
    pub shapes: &'static [Shape],
    /// Descriptors that one instance keeps open.
    pub descriptors: u32,
    /// Bytes of shared memory that one instance needs for itself.
    pub state_bytes: usize,
    pub open: for<'a> fn(&Opening<'a>) -> Result<Instance<'a>, OpenError>,
}

const ANY: &[Shape] = &[Shape::OneToOne, Shape::ManyToOne, Shape::OneToMany, Shape::ManyToMany];

/// All kinds, in the order in which they are listed.
pub const KINDS: &[Kind] = &[
    Kind {
        name: "pipe",
        about: "pipe(2): bytes through a kernel buffer, woken with WF_SYNC",
        payload: true,
        wake_blocks: true,
        processes: true,
        shapes: ANY,
        descriptors: 2,
        state_bytes: 0,
        open: pipe::open,
    },
    Kind {
        name: "socketpair",
        about: "a pair of connected AF_UNIX stream sockets",
        payload: true,
        wake_blocks: true,
        processes: true,
        shapes: ANY,
        descriptors: 2,
        state_bytes: 0,
        open: socketpair::open,
    },
    Kind {
        name: "tcp",
        about: "a loopback TCP connection without Nagle's delay",
        payload: true,
        wake_blocks: true,
        processes: true,
        shapes: ANY,
        descriptors: 2,
        state_bytes: 0,
        open: tcp::open,
    },
    Kind {
        name: "eventfd",
        about: "an eventfd(2) counting one for each wake (EFD_SEMAPHORE)",
        payload: false,
        wake_blocks: false,
        processes: true,
        shapes: ANY,
        descriptors: 1,
        state_bytes: 0,
        open: eventfd::open,
    },
    Kind {
        name: "futex",
        about: "a counter in shared memory with futex(2) wait and wake",
        payload: false,
        wake_blocks: false,
        processes: true,
        shapes: ANY,
        descriptors: 0,
        state_bytes: 64,
        open: futex::open,
    },
    Kind {
        name: "condvar",
        about: "a parking_lot mutex and condition variable around a counter",
        payload: false,
        wake_blocks: false,
        processes: false,
        shapes: ANY,
        descriptors: 0,
        state_bytes: 0,
        open: condvar::open,
    },
    Kind {
        name: "queue",
        about: "a bounded crossbeam channel, which spins a little before it parks",
        payload: false,
        wake_blocks: true,
        processes: false,
        shapes: ANY,
        descriptors: 0,
        state_bytes: 0,
        open: queue::open,
    },
    Kind {
        name: "null",
        about: "nothing: wake and wait return at once, to measure the harness itself",
        payload: false,
        wake_blocks: false,
        processes: true,
        shapes: ANY,
        descriptors: 0,
        state_bytes: 0,
        open: null::open,
    },
];

/// The row of that name.
pub fn find(name: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.name == name)
}
