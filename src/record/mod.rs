//! What is remembered of a run: on the hot path in shared memory, afterwards as a [`Recording`].
//!
//! Recording is sharded by CPU, not by thread: a histogram is an array of relaxed atomic counters
//! at (CPU now running, series, bucket), so that 20,000 threads cost no more than 20 and each
//! one's counters are in its own CPU's cache. Must not know: reports. Reading on: `recording.rs`
//! for the cold form that everybody else uses, `layout.rs` for where things are in the shared
//! memory, `recorder.rs` for what a worker does, `gather.rs` from the one to the other.

pub mod gather;
pub mod layout;
pub mod memory;
pub mod recorder;
pub mod recording;
pub mod stamp;
pub mod timeline;

pub use layout::Layout;
pub use memory::Memory;
pub use recorder::Recorder;
pub use recording::Recording;
