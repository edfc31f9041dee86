//! System calls and raw CPU facts, made safe: the only floor with `unsafe` in it.
//!
//! Each file owns one sort of thing and offers functions and types that cannot be misused from
//! safe code. Must not know: profiles, measuring, what its callers are up to.

pub mod bulk;
pub mod clock;
pub mod cpu;
pub mod errno;
pub mod event;
pub mod fd;
pub mod futex;
pub mod lock;
#[cfg(test)]
pub mod model;
pub mod policy;
pub mod process;
pub mod raw;
pub mod region;
pub mod rights;
pub mod scheduling;
#[cfg(test)]
pub(crate) mod seccomp;
pub mod shared;
pub mod signal;
pub mod socket;
pub mod thread;
pub mod usage;
pub mod word;

pub use errno::Errno;
pub use region::Region;
pub use shared::Shared;
