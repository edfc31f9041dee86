//! What every way through memory holds: all of its span and nothing else, in pieces, stoppable.
//!
//! Must not know: how long anything takes.

use super::*;
use crate::base::Random;
use crate::sys::shared::page_bytes;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// A way through memory: from a span and what to ask in between, to whether it came to the end.
type Way = fn(Span<'_>, &mut Between<'_>) -> bool;

/// Arrays of a third of the span each.
fn thirds(span: Span<'_>) -> stream::Arrays<'_> {
    let bytes = span.bytes / 3;
    let part = |idx| Span { offset: span.offset + idx * bytes, bytes, ..span };
    stream::Arrays { a: part(0), b: part(1), c: part(2) }
}

fn sixteen_times(span: Span<'_>, access: Access, between: &mut Between<'_>) -> bool {
    let pick = Pick::of(span, 0.0).unwrap();
    touch(span, 16 * pick.n_lines(), access, &pick, &mut Random::new(5, 0), between)
}

fn prepared_chase(span: Span<'_>, between: &mut Between<'_>) -> bool {
    assert!(prepare_chase(span, &mut Random::new(5, 0), &mut |_| true));
    let mut goes_on = true;
    let mut noting = |bytes| {
        goes_on = between(bytes);
        goes_on
    };
    chase(span, span.lines().len() as u64, 0, &mut noting);
    goes_on
}

/// Name, the way, bytes that it counts for each byte of the span.
const WAYS: &[(&str, Way, u64)] = &[
    ("sweep read", |span, between| sweep(span, Access::Read, between), 1),
    ("sweep write", |span, between| sweep(span, Access::Write, between), 1),
    ("sweep modify", |span, between| sweep(span, Access::Modify, between), 1),
    ("sweep zero", |span, between| sweep(span, Access::Zero, between), 1),
    ("first touch", first_touch, 1),
    ("touch read", |span, between| sixteen_times(span, Access::Read, between), 16),
    ("touch write", |span, between| sixteen_times(span, Access::Write, between), 16),
    ("touch modify", |span, between| sixteen_times(span, Access::Modify, between), 16),
    ("touch zero", |span, between| sixteen_times(span, Access::Zero, between), 16),
    ("prepare chase", |span, between| prepare_chase(span, &mut Random::new(5, 0), between), 2),
    ("chase", prepared_chase, 1),
    (
        "allocate",
        |span, between| {
            let mut goes_on = true;
            let mut noting = |bytes| {
                goes_on = between(bytes);
                goes_on
            };
            allocate(span, span.bytes as u64, 5, &mut noting);
            goes_on
        },
        1,
    ),
    ("fill", |span, between| stream::fill(&thirds(span), between), 1),
    ("copy", |span, between| stream(&stream::KERNELS[0], &thirds(span), between), 0),
    ("triad", |span, between| stream(&stream::KERNELS[3], &thirds(span), between), 1),
];

/// Which pages of a region are in this process's page table, as the kernel's own file says (bit 63
/// of each entry of /proc/self/pagemap).
fn present(region: &Region) -> Option<Vec<bool>> {
    let page = page_bytes();
    let mut entries = vec![0; region.bytes() / page * 8];
    let start = (region.address() / page * 8) as u64;
    let read =
        File::open("/proc/self/pagemap").and_then(|it| it.read_exact_at(&mut entries, start));
    if let Err(error) = read {
        eprintln!("NOT TESTED: which pages are there: /proc/self/pagemap: {error}");
        return None;
    }
    Some(entries.as_chunks().0.iter().map(|entry| u64::from_ne_bytes(*entry) >> 63 == 1).collect())
}

#[test]
fn every_way_touches_all_of_its_span_and_nothing_else() {
    const PAGES: usize = 96;
    let page = page_bytes();
    let check = |name: &str, way: Way, region: Region, first: usize, n_pages: usize| {
        let _ = region.huge_pages(false);
        let span = Span { region: &region, offset: first * page, bytes: n_pages * page };
        assert!(way(span, &mut |_| true), "{name} did not come to its end");
        let Some(there) = present(&region) else { return };
        let inside = first..first + n_pages;
        for (at, there) in there.into_iter().enumerate() {
            // Copy reads one array and writes another, and lets the third be.
            let expected =
                inside.contains(&at) && (name != "copy" || (at - first) / (n_pages / 3) != 1);
            assert_eq!(there, expected, "{name}: page {at} of {inside:?}");
        }
    };
    for &(name, way, _) in WAYS {
        for (first, n_pages) in [(0, PAGES), (7, 66), (PAGES - 3, 3)] {
            check(name, way, Region::private(PAGES * page).unwrap(), first, n_pages);
            check(name, way, Region::shared(PAGES * page).unwrap(), first, n_pages);
        }
    }
}

#[test]
fn pieces_add_up_and_each_may_be_the_last() {
    let region = Region::private(3 << 20).unwrap();
    let span = Span::all(&region);
    for &(name, way, factor) in WAYS {
        let mut pieces = Vec::new();
        assert!(way(span, &mut |bytes| {
            pieces.push(bytes);
            true
        }));
        // Copy counts two thirds of the span.
        let expected = if factor == 0 { 2 << 20 } else { factor * (3 << 20) };
        assert_eq!(pieces.iter().sum::<u64>(), expected, "{name}");
        assert!(pieces.len() > 2, "{name} was gone in {} pieces", pieces.len());
        for last in [1, 2] {
            let mut n_pieces = 0;
            let ended = way(span, &mut |_| {
                n_pieces += 1;
                n_pieces < last
            });
            assert_eq!((ended, n_pieces), (false, last), "{name}, to stop after {last}");
        }
    }
}

#[test]
fn what_is_left_of_a_stopped_sweep_is_as_it_was() {
    let region = Region::private(3 << 20).unwrap();
    let lines = Span::all(&region).lines();
    for row in ACCESSES {
        lines.iter().flat_map(|line| &line.words).for_each(|word| word.store(7, Relaxed));
        let mut done = 0;
        assert!(!sweep(Span::all(&region), row.access, &mut |bytes| {
            done += bytes as usize;
            false
        }));
        let changed = |line: &&Line| line.words.iter().any(|word| word.load(Relaxed) != 7);
        let n_changed = lines.iter().filter(changed).count();
        let expected = if row.access == Access::Read { 0 } else { done / LINE_BYTES };
        assert_eq!(n_changed, expected, "{}", row.name);
    }
}

#[test]
fn each_access_leaves_its_values() {
    let region = Region::private(1 << 20).unwrap();
    let check = |name: &str, expected: [u64; 8]| {
        let access = find(name).unwrap().access;
        let inside = Span { region: &region, offset: 4096 - 64, bytes: (512 << 10) + 192 };
        let all = Span::all(&region).lines();
        let pick = Pick::of(Span { bytes: 64, ..inside }, 1.0).unwrap();
        for way in ["sweep", "touch"] {
            all.iter().flat_map(|line| &line.words).for_each(|word| word.store(7, Relaxed));
            let (first, n_lines) = (inside.offset / 64, inside.bytes / 64);
            let changed = if way == "sweep" {
                assert!(sweep(inside, access, &mut |_| true));
                first..first + n_lines
            } else {
                // A pick of one line of many.
                assert!(touch(inside, 1, access, &pick, &mut Random::new(1, 1), &mut |_| true));
                first..first + 1
            };
            for (at, line) in all.iter().enumerate() {
                let got = line.words.each_ref().map(|word| word.load(Relaxed));
                let expected = if changed.contains(&at) { expected } else { [7; 8] };
                assert_eq!(got, expected, "{way} {name}: line {at}");
            }
        }
    };
    check("read", [7; 8]);
    check("write", [7, WRITTEN, 7, 7, 7, 7, 7, 7]);
    check("modify", [7, 8, 7, 7, 7, 7, 7, 7]);
    check("zero", [0; 8]);
    assert!(find("clear").is_none());
}

#[test]
fn a_chase_visits_every_line_once() {
    let check = |n_lines: usize| {
        let region = Region::private(n_lines * 64 + 128).unwrap();
        let span = Span { region: &region, offset: 64, bytes: n_lines * 64 };
        assert!(prepare_chase(span, &mut Random::new(9, n_lines as u64), &mut |_| true));
        let start = n_lines as u64 / 2;
        let mut visits = vec![0; n_lines];
        let mut at = start;
        for _ in 0..n_lines {
            at = chase(span, 1, at, &mut |_| true);
            visits[at as usize] += 1;
        }
        assert!(visits.iter().all(|&n| n == 1), "{n_lines} lines: {visits:?}");
        assert_eq!(at, start);
        assert_eq!(chase(span, 3 * n_lines as u64, start, &mut |_| true), start);
        // A sweep of any access but zero lets the way be.
        assert!(sweep(span, Access::Modify, &mut |_| true));
        assert!(first_touch(span, &mut |_| true));
        assert_eq!(chase(span, n_lines as u64, start, &mut |_| true), start);
    };
    [1, 2, 3, 64, 1023, 1024, 1025, 5000].into_iter().for_each(check);
}

#[test]
fn a_chase_goes_on_where_it_was_stopped_and_stays_inside() {
    let region = Region::private(1 << 20).unwrap();
    let span = Span { region: &region, offset: 0, bytes: 1 << 19 };
    assert!(prepare_chase(span, &mut Random::new(9, 0), &mut |_| true));
    let mut bytes = 0;
    let half_way = chase(span, 5000, 17, &mut |piece| {
        bytes += piece;
        bytes < 2048 * 64
    });
    assert_eq!(bytes, 2048 * 64);
    let rest = chase(span, 5000 - 2048, half_way, &mut |_| true);
    assert_eq!(rest, chase(span, 5000, 17, &mut |_| true));

    for line in span.lines() {
        line.words[0].store(u64::MAX, Relaxed);
    }
    span.lines()[0].words[0].store(span.bytes as u64 / 8, Relaxed);
    for start in [0, 17, u64::MAX] {
        assert_eq!(chase(span, 9, start, &mut |_| true), 0);
    }
    assert_eq!(chase(Span { bytes: 0, ..span }, 9, 0, &mut |_| true), 0);
}

#[test]
fn stream_computes_what_it_says() {
    let region = Region::private(3 << 20).unwrap();
    let arrays = thirds(Span::all(&region));
    let number =
        |span: Span<'_>, line: usize| f64::from_bits(span.lines()[line].words[3].load(Relaxed));
    let check = |expected: [f64; 3]| {
        for line in [0, 4095, 16383] {
            let got = [arrays.a, arrays.b, arrays.c].map(|span| number(span, line));
            let near = got.iter().zip(expected).all(|(got, it)| (got - it).abs() < 1e-9);
            assert!(near, "line {line}: {got:?}, expected {expected:?}");
        }
    };
    let run = |name: &str, expected_bytes: u64| {
        let mut bytes = 0;
        let kernel = stream::find(name).unwrap();
        assert!(stream(kernel, &arrays, &mut |piece| {
            bytes += piece;
            true
        }));
        assert_eq!(bytes, expected_bytes, "{name}");
    };
    assert!(stream::fill(&arrays, &mut |_| true));
    check([1.0, 2.0, 0.0]);
    let s = stream::SCALAR;
    for _ in 0..100 {
        run("copy", 2 << 20);
        run("scale", 2 << 20);
        check([1.0, s, 1.0]);
        run("add", 3 << 20);
        check([1.0, s, 1.0 + s]);
        run("triad", 3 << 20);
        check([1.0, s, 1.0 + s]);
    }
    // Another array, without the others: what is past the shortest is let be.
    let short = stream::Arrays { b: Span { bytes: 64, ..arrays.b }, ..arrays };
    assert!(stream(&stream::KERNELS[2], &short, &mut |bytes| bytes == 8 * 24));
    assert!(stream::find("sum").is_none());
}

#[test]
fn draws_come_in_their_shares() {
    const DRAWS: u32 = 400_000;
    // Shares of the first lines, in thousandths, computed apart from this code.
    let check = |n_lines: u64, skew: f64, expected: &[f64]| {
        let pick = Pick::new(n_lines, skew).unwrap();
        let mut random = Random::new(11, n_lines);
        let mut counts = vec![0_u32; expected.len()];
        for _ in 0..DRAWS {
            let line = pick.line(&mut random);
            assert!(line < n_lines, "line {line} of {n_lines}");
            if let Some(count) = counts.get_mut(line as usize) {
                *count += 1;
            }
        }
        for (line, (&count, &expected)) in counts.iter().zip(expected).enumerate() {
            let share = 1000.0 * f64::from(count) / f64::from(DRAWS);
            // Five times the standard deviation of a share of a half, the largest there is.
            assert!(
                (share - expected).abs() < 4.0,
                "{n_lines} {skew}: {line}: {share}, {expected}"
            );
        }
    };
    check(10, 0.0, &[100.0, 100.0, 100.0, 100.0, 100.0, 100.0, 100.0, 100.0, 100.0, 100.0]);
    check(10, 1.0, &[341.42, 170.71, 113.81, 85.35, 68.28, 56.9, 48.77, 42.68, 37.94, 34.14]);
    check(10, 0.5, &[199.16, 140.83, 114.99, 99.58, 89.07, 81.31, 75.28, 70.41, 66.39, 62.98]);
    check(5, 2.0, &[683.24, 170.81, 75.92, 42.7, 27.33]);
    check(1000, 0.99, &[129.38, 65.14, 43.6, 32.8, 26.3]);
    check(100000, 1.2, &[196.4, 85.49, 52.55, 37.21, 28.47]);
    check(1, 1.5, &[1000.0]);
    check(3, 8.0, &[995.96, 3.89, 0.15]);
    check(4194304, 1.0, &[63.19, 31.59, 21.06, 15.8]);
}

#[test]
fn picks_that_cannot_be_made() {
    let check = |n_lines, skew, expected: bool| {
        assert_eq!(Pick::new(n_lines, skew).is_some(), expected, "{n_lines} lines, skew {skew}");
    };
    check(1, 0.0, true);
    check(1 << 40, 50.0, true);
    check(0, 0.0, false);
    check(9, -0.1, false);
    check(9, f64::NAN, false);
    check(9, f64::INFINITY, false);
}

#[test]
fn spans_that_are_not_in_their_region_are_refused() {
    let region = Region::private(8192).unwrap();
    let check = |offset, bytes, expected: bool| {
        let span = Span { region: &region, offset, bytes };
        let view = std::panic::AssertUnwindSafe(|| span.lines().len());
        assert_eq!(std::panic::catch_unwind(view).is_ok(), expected, "{offset} {bytes}");
    };
    check(0, region.bytes(), true);
    check(region.bytes(), 0, true);
    check(64, region.bytes(), false);
    check(8, 64, false);
    check(0, 65, false);
    check(usize::MAX - 63, 64, false);
}
