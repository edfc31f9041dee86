//! The parts of the VM ring that need no guest, tested on the host like anything else.
//!
//! The tests stand in the parts' own files; the ring itself (`main.rs`) has a harness of its own.
//! Must not know: QEMU.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]
// The ring uses them.
#![allow(dead_code)]

mod cpio;
mod cpulist;
mod guest;
mod kernel;
mod payload;
mod serial;
mod shape;
