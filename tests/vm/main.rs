//! Checks on machines with nodes: real kernels in QEMU's software emulation, one boot a shape.
//!
//! `make vm-test` runs it; `cargo test` and nextest do not. The same program is the host's side,
//! which boots, and the guest's (`--guest SHAPE`), which checks. To add a check: a function and its
//! row in `guest/`; a shape: a row in `shape.rs`. Must not know: the crate's inner parts.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

mod boot;
mod cpio;
mod cpulist;
mod guest;
mod kernel;
mod payload;
mod serial;
mod shape;

use boot::{Machine, QEMU};
use serial::Outcome;
use shape::{SHAPES, Shape};
use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Set where nothing may be skipped, as in CI.
const REQUIRE: &str = "SCHEDLOAD_REQUIRE_VM";

/// Boots side by side; each is as many threads as it has CPUs.
const AT_ONCE: usize = 2;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<&str>>().as_slice() {
        ["--guest", name] => {
            guest::run(Shape::of_name(name).expect("a shape"));
            ExitCode::SUCCESS
        }
        // A runner of tests that asks what there is: nothing that it should start.
        words if words.contains(&"--list") => ExitCode::SUCCESS,
        names => ring(names),
    }
}

/// Boots the shapes of these names, or all.
fn ring(names: &[&str]) -> ExitCode {
    if let Some(name) = names.iter().find(|name| Shape::of_name(name).is_none()) {
        let all: Vec<&str> = SHAPES.iter().map(|shape| shape.name).collect();
        println!("vm: there is no shape `{name}`; there are {}", all.join(", "));
        return ExitCode::from(2);
    }
    let shapes: Vec<&Shape> =
        SHAPES.iter().filter(|shape| names.is_empty() || names.contains(&shape.name)).collect();
    let machine = match prepare() {
        Ok(machine) => machine,
        Err(why) => {
            println!("vm: skipped: {why}");
            let required = std::env::var_os(REQUIRE).is_some();
            if required {
                println!("vm: {REQUIRE} is set, so that this is a failure");
            }
            return ExitCode::from(u8::from(required));
        }
    };
    println!("vm: {} shapes on {}", shapes.len(), machine.kernel.display());
    let failures = boot_all(&machine, &shapes);
    let n_checks: usize = shapes.iter().map(|shape| shape.checks().count()).sum();
    // Once more at the end, which is what is left of a long log.
    println!("\n{}", failures.join("\n"));
    println!("vm: {} shapes, {n_checks} checks, {} failed", shapes.len(), failures.len());
    ExitCode::from(u8::from(!failures.is_empty()))
}

/// All that a boot needs; or why nothing can be booted here.
fn prepare() -> Result<Machine, String> {
    if !cfg!(target_arch = "x86_64") {
        return Err("the shapes are x86-64 machines, this is none".to_owned());
    }
    payload::on_path(QEMU).ok_or_else(|| format!("there is no {QEMU}"))?;
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("vm");
    fs::create_dir_all(&dir).unwrap();
    let kernel = kernel::find(&dir)?;
    let initramfs = payload::write(&dir)?;
    Ok(Machine { kernel, initramfs, dir })
}

/// Boots the shapes and prints what became of their checks; returns a line for each that failed.
fn boot_all(machine: &Machine, shapes: &[&Shape]) -> Vec<String> {
    let next = AtomicUsize::new(0);
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(shape) = shapes.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let failed = boot_one(machine, shape);
                    failures.lock().unwrap().extend(failed);
                }
            });
        }
    });
    failures.into_inner().unwrap()
}

fn boot_one(machine: &Machine, shape: &Shape) -> Vec<String> {
    let boot = machine.boot(shape);
    let names: Vec<&str> = shape.checks().map(|check| check.name).collect();
    let outcomes = serial::outcomes(&boot.text, &names);
    let mut failures = Vec::new();
    for (name, outcome) in names.iter().zip(&outcomes) {
        match outcome {
            Outcome::Passed => println!("{} {name} ... ok", shape.name),
            Outcome::Failed(why) => {
                failures.push(format!("{} {name} ... FAILED: {why}", shape.name));
            }
        }
    }
    failures.extend(boot.fault.iter().map(|fault| format!("vm: {fault}")));
    if !failures.is_empty() {
        println!("{}", failures.join("\n"));
        println!("vm: the guest's console is in {}", boot.console.display());
    }
    failures
}
