//! What the kernel counts and says about NUMA: of a task, of the system, of mappings and nodes.
//!
//! Each file is parsed by a pure function of its text; a key that a kernel does not have, and a
//! file that is missing or closed, is absent with its reason. Must not know: regions, plans, what
//! the counts are for.

pub mod counters;
pub mod task;

pub use counters::{Counters, grown, vmstat};
pub use task::TaskNuma;
