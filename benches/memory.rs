//! How fast memory is gone through, beside C: triad against gcc -O3, a zero sweep against memset.
//!
//! `cargo bench --bench memory` runs pairs of both, the one and the other first in turn, on arrays
//! of four times the last level cache, and prints the median of each in GB/s (10^9 bytes, as STREAM
//! counts) and of the pairs' ratios, with the least and the most; words after `--` choose the rows
//! that hold one of them. Time is the thread's CPU time on both sides, so that what others on the
//! CPU take does not count (what they do to caches and memory does). The caller's thread, and with
//! it the C program, is pinned to the CPU that it is on. Must not know: what is fast enough; these
//! numbers are for people.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a program for people: it prints, and stops where it cannot go on"
)]

use schedload::base::{CpuId, CpuList, Random};
use schedload::step::memory::{self, Access, Pick, Span, stream};
use schedload::sys::clock::thread_cpu_ns;
use schedload::sys::cpu::CurrentCpu;
use schedload::sys::{Region, scheduling};
use std::path::{Path, PathBuf};
use std::process::Command;

const PAIRS: usize = 15;
const ROUNDS: usize = 9;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|it| !it.starts_with('-')).collect();
    let wants = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word));
    let here = CurrentCpu::find().get();
    scheduling::set_affinity(&CpuList::from_iter([CpuId(here)])).unwrap();
    let cache_bytes = last_level_cache_bytes();
    let bytes = (4 * cache_bytes).next_multiple_of(1 << 20);
    println!(
        "arrays of {} MiB, last level cache {} MiB, {ROUNDS} rounds each, {PAIRS} pairs",
        bytes >> 20,
        cache_bytes >> 20
    );
    alone(bytes, &wants);
    let peer = match Peer::build(bytes / 8) {
        Ok(peer) => peer,
        Err(reason) => return println!("\nnot compared with C: {reason}"),
    };
    println!("\n{:<24} {:>10} {:>10} {:>8} {:>8} {:>8}", "", "ours", "C", "ratio", "least", "most");
    if wants("triad") {
        compare("triad", || triad(bytes), || peer.run("triad", 3 * bytes));
    }
    if wants("zero") {
        compare("zero, memset", || zero(bytes), || peer.run("zero", bytes));
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// GB/s of the median of some rounds that each pass on so many bytes.
fn rate(bytes: usize, seconds: Vec<f64>) -> f64 {
    bytes as f64 / median(seconds) / 1e9
}

fn seconds(mut round: impl FnMut()) -> Vec<f64> {
    let timed = |_| {
        let start = thread_cpu_ns();
        round();
        (thread_cpu_ns() - start) as f64 / 1e9
    };
    (0..ROUNDS).map(timed).collect()
}

fn triad(bytes: usize) -> f64 {
    let regions = [(); 3].map(|()| Region::private(bytes).unwrap());
    let [a, b, c] = regions.each_ref().map(Span::all);
    let arrays = stream::Arrays { a, b, c };
    let kernel = stream::find("triad").unwrap();
    stream::fill(&arrays, &mut |_| true);
    rate(3 * bytes, seconds(|| assert!(memory::stream(kernel, &arrays, &mut |_| true))))
}

fn zero(bytes: usize) -> f64 {
    let region = Region::private(bytes).unwrap();
    memory::first_touch(Span::all(&region), &mut |_| true);
    let all = Span::all(&region);
    rate(bytes, seconds(|| assert!(memory::sweep(all, Access::Zero, &mut |_| true))))
}

/// What has no peer here: every access, in order and at random, and a chase.
fn alone(bytes: usize, wants: &dyn Fn(&str) -> bool) {
    let region = Region::private(bytes).unwrap();
    let span = Span::all(&region);
    memory::first_touch(span, &mut |_| true);
    println!("\n{:<24} {:>10}", "", "ours");
    for row in memory::ACCESSES {
        let name = format!("sweep {}", row.name);
        if wants(&name) {
            let sweep = || assert!(memory::sweep(span, row.access, &mut |_| true));
            println!("{name:<24} {:>10.2} GB/s", rate(bytes, seconds(sweep)));
        }
    }
    const TOUCHES: u64 = 1 << 20;
    for (name, skew) in [("touch modify", 0.0), ("touch modify zipf 0.99", 0.99)] {
        if wants(name) {
            let pick = Pick::of(span, skew).unwrap();
            let mut random = Random::new(1, 0);
            let touch = || {
                let access = Access::Modify;
                assert!(memory::touch(span, TOUCHES, access, &pick, &mut random, &mut |_| true));
            };
            println!("{name:<24} {:>10.2} ns", median(seconds(touch)) * 1e9 / TOUCHES as f64);
        }
    }
    if wants("chase") {
        memory::prepare_chase(span, &mut Random::new(1, 0), &mut |_| true);
        let mut at = 0;
        let chase = || at = memory::chase(span, TOUCHES, at, &mut |_| true);
        println!("{:<24} {:>10.2} ns", "chase", median(seconds(chase)) * 1e9 / TOUCHES as f64);
    }
}

fn compare(name: &str, ours: impl Fn() -> f64, theirs: impl Fn() -> f64) {
    let mut pairs: Vec<[f64; 2]> = Vec::new();
    for idx in 0..PAIRS {
        pairs.push(if idx % 2 == 0 {
            let first = ours();
            [first, theirs()]
        } else {
            let first = theirs();
            [ours(), first]
        });
    }
    let sorted = |value: fn(&[f64; 2]) -> f64| {
        let mut values: Vec<f64> = pairs.iter().map(value).collect();
        values.sort_by(f64::total_cmp);
        values
    };
    let ratios = sorted(|pair| pair[0] / pair[1]);
    println!(
        "{name:<24} {:>10.2} {:>10.2} {:>8.3} {:>8.3} {:>8.3}",
        sorted(|pair| pair[0])[PAIRS / 2],
        sorted(|pair| pair[1])[PAIRS / 2],
        ratios[PAIRS / 2],
        ratios[0],
        ratios[PAIRS - 1]
    );
}

/// The C program.
struct Peer {
    path: PathBuf,
}

impl Peer {
    fn build(n_elements: usize) -> Result<Peer, String> {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/peers/memory.c");
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("memory-peer");
        let mut gcc = Command::new("gcc");
        gcc.args(["-O3", &format!("-DELEMENTS={n_elements}")]).arg(source).arg("-o").arg(&path);
        match gcc.status() {
            Err(error) => Err(format!("gcc: {error}")),
            Ok(status) if !status.success() => Err(format!("gcc: {status}")),
            Ok(_) => Ok(Peer { path }),
        }
    }

    fn run(&self, kernel: &str, bytes: usize) -> f64 {
        let output = Command::new(&self.path).args([kernel, &ROUNDS.to_string()]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        rate(bytes, text.lines().map(|line| line.parse().unwrap()).collect())
    }
}

/// The largest cache of this CPU; 32 MiB where the kernel does not say.
fn last_level_cache_bytes() -> usize {
    let dir = std::fs::read_dir("/sys/devices/system/cpu/cpu0/cache");
    let sizes = dir.into_iter().flatten().filter_map(|entry| {
        let text = std::fs::read_to_string(entry.ok()?.path().join("size")).ok()?;
        let kib: usize = text.trim().strip_suffix('K')?.parse().ok()?;
        Some(kib << 10)
    });
    sizes.max().unwrap_or(32 << 20)
}
