//! Ways for one task to wake another: a row and a file for each kind.
//!
//! The contract of every kind: a wake posted before the wait is kept, and every wake makes exactly
//! one wait return. Neither `wake` nor `wait` reads a clock, allocates, sets a time limit, or tries
//! again after an interrupt: that is the caller's to decide. Must not know: recorder, plan, clock.

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
    /// Whether it works between processes.
    pub processes: bool,
    pub shapes: &'static [Shape],
    /// Descriptors that one instance keeps open.
    pub descriptors: u32,
    /// Bytes of shared memory that one instance needs for itself.
    pub state_bytes: usize,
}

const ANY: &[Shape] = &[
    Shape::OneToOne,
    Shape::ManyToOne,
    Shape::OneToMany,
    Shape::ManyToMany,
];

/// All kinds, in the order in which they are listed.
pub const KINDS: &[Kind] = &[
    Kind {
        name: "pipe",
        about: "pipe(2): bytes through a kernel buffer, woken with WF_SYNC",
        payload: true,
        processes: true,
        shapes: ANY,
        descriptors: 2,
        state_bytes: 0,
    },
    Kind {
        name: "socketpair",
        about: "a pair of connected AF_UNIX stream sockets",
        payload: true,
        processes: true,
        shapes: ANY,
        descriptors: 2,
        state_bytes: 0,
    },
    Kind {
        name: "tcp",
        about: "a loopback TCP connection without Nagle's delay",
        payload: true,
        processes: true,
        shapes: ANY,
        descriptors: 2,
        state_bytes: 0,
    },
    Kind {
        name: "eventfd",
        about: "an eventfd(2) counting one for each wake (EFD_SEMAPHORE)",
        payload: false,
        processes: true,
        shapes: ANY,
        descriptors: 1,
        state_bytes: 0,
    },
    Kind {
        name: "futex",
        about: "a counter in shared memory with futex(2) wait and wake",
        payload: false,
        processes: true,
        shapes: ANY,
        descriptors: 0,
        state_bytes: 64,
    },
    Kind {
        name: "condvar",
        about: "a parking_lot mutex and condition variable around a counter",
        payload: false,
        processes: false,
        shapes: ANY,
        descriptors: 0,
        state_bytes: 0,
    },
    Kind {
        name: "queue",
        about: "a bounded crossbeam channel, which spins a little before it parks",
        payload: false,
        processes: false,
        shapes: ANY,
        descriptors: 0,
        state_bytes: 0,
    },
    Kind {
        name: "null",
        about: "nothing: wake and wait return at once, to measure the harness itself",
        payload: false,
        processes: true,
        shapes: ANY,
        descriptors: 0,
        state_bytes: 0,
    },
];

/// The row of that name.
pub fn find(name: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.name == name)
}
