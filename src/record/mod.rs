//! What is remembered of a run: on the hot path in shared memory, afterwards as a [`Recording`].
//!
//! Must not know: reports. Reading on: `recording.rs` for the cold form that everybody else uses,
//! `layout.rs` and `recorder.rs` for the hot one.

pub mod recording;

pub use recording::Recording;
