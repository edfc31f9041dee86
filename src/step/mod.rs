//! The mechanisms that steps of a profile name: a directory for each sort, a file for each kind.
//!
//! The rooms of this wing do not know each other, nor the recorder or the plan.

pub mod channel;
pub mod memory;
pub mod sync;
pub mod work;
