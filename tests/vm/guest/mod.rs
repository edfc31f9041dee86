//! The guest's side: prepares the machine, runs the checks of its shape, prints a line for each.
//!
//! A check is a function that panics if something is not as it must be. Must not know: QEMU.

pub mod kernel_files;
pub mod memory;
pub mod moves;
pub mod numa_maps;
pub mod placement;
pub mod profiles;
pub mod program;
pub mod topology;
pub mod trace;

use crate::cpulist;
use crate::serial::{self, Outcome};
use crate::shape::Shape;
use std::fs::File;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

pub struct Check {
    pub name: &'static str,
    pub body: fn(&Shape),
}

/// What the last panic said, and where.
static PANIC: Mutex<String> = Mutex::new(String::new());

/// Runs all checks of a shape, each whatever became of the others.
pub fn run(shape: &Shape) {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(|at| format!(" ({}:{})", at.file(), at.line()));
        let words = panic.payload();
        let said = words.downcast_ref::<String>().map(String::as_str);
        let said =
            said.or(words.downcast_ref::<&str>().copied()).unwrap_or("a panic without words");
        *PANIC.lock().unwrap() = format!("{said}{}", place.unwrap_or_default());
    }));
    let mut host = File::create(serial::DEVICE).unwrap();
    writeln!(host, "{}", serial::UP).unwrap();
    for cpu in cpulist::parse(shape.offline) {
        kernel_files::write(&format!("/sys/devices/system/cpu/cpu{cpu}/online"), "0");
    }
    for check in shape.checks() {
        let outcome = match catch_unwind(AssertUnwindSafe(|| (check.body)(shape))) {
            Ok(()) => Outcome::Passed,
            Err(_) => Outcome::Failed(PANIC.lock().unwrap().clone()),
        };
        writeln!(host, "{}", serial::line(check.name, &outcome)).unwrap();
    }
    writeln!(host, "{}", serial::DONE).unwrap();
}
