//! Values that need no operating system: ids, units, CPU lists, random streams, bucket geometry.
//!
//! Must not know: system calls, files, profiles. Everything here is pure and testable by tables.

pub mod aligned;
pub mod bucket;
pub mod cpulist;
pub mod id;
pub mod nearest;
pub mod random;
pub mod reading;
pub mod relation;
pub mod unit;
pub mod zipf;

pub use aligned::Aligned;
pub use cpulist::CpuList;
pub use id::{CpuId, NodeId};
pub use random::Random;
pub use reading::{Absence, Reading, State};
pub use relation::{Place, Relation};
pub use unit::Unit;
pub use zipf::Zipf;
