//! Which pages are asked for, what becomes of the answers, and of no answer.

use super::*;
use crate::sys::region::Region;
use std::collections::BTreeSet;
use std::fs;

const PAGE: u64 = 4096;

fn place(slice_pages: u64, n_slices: u64) -> Place {
    Place { address: 1 << 40, slice_bytes: slice_pages * page_bytes() as u64, n_slices, seed: 3 }
}

#[test]
fn each_slice_is_looked_into() {
    // Pages in all, and in each slice if that is told.
    let check = |slice_pages: u64, n_slices: u64, n: usize, per_slice: Option<usize>| {
        let (place, mut addresses) = (place(slice_pages, n_slices), vec![7]);
        let got = place.choose(&mut addresses);
        let what = format!("{n_slices} slices of {slice_pages}");
        assert_eq!((addresses.len(), got), (n, per_slice), "{what}");
        let page = |address: &usize| (*address as u64 - place.address) / page_bytes() as u64;
        let pages: BTreeSet<u64> = addresses.iter().map(page).collect();
        assert_eq!(pages.len(), n, "{what}: a page twice");
        assert!(pages.iter().all(|page| *page < slice_pages * n_slices), "{what}: behind the end");
        for (at, address) in addresses.iter().enumerate().filter(|_| per_slice.is_some()) {
            assert_eq!(page(address) / slice_pages, (at / per_slice.unwrap()) as u64, "{what}");
        }
    };
    check(1, 1, 1, Some(1));
    check(100, 1, 100, Some(100));
    check(1 << 20, 1, 256, Some(256));
    check(1 << 20, 2, 256, Some(128));
    check(1 << 20, 3, 258, Some(86));
    check(1000, 100, 800, Some(8));
    check(5, 100, 500, Some(5));
    check(100, 1000, 4000, Some(4));
    check(2, 4096, 4096, Some(1));
    check(2, 4097, 256, None);
}

/// Pages on node 2 from the fourth on, and the last one on a node that nobody knows.
fn made_up(_: u32, addresses: &[usize], status: &mut [i32]) -> Result<(), Errno> {
    let last = addresses.len() - 1;
    for (at, status) in status.iter_mut().enumerate() {
        *status = match at {
            0..3 => 0,
            _ if at == last => -libc::ENOENT,
            _ => 2,
        };
    }
    Ok(())
}

fn nodes() -> Vec<NodeId> {
    vec![NodeId(0), NodeId(2)]
}

/// Of memory that processes share, each knows what it has used.
#[test]
fn a_page_is_known_to_whoever_used_it() {
    fn ask(pid: u32, _: &[usize], status: &mut [i32]) -> Result<(), Errno> {
        for (at, status) in status.iter_mut().enumerate() {
            let node = if pid == 7 { 0 } else { 2 };
            *status = if at % 4 < pid as usize % 4 { node } else { -libc::ENOENT };
        }
        Ok(())
    }
    let check = |pids: &[u32], by_node: [u32; 2], absent: u32| {
        let mut residence = Residence::asking(nodes(), ask, Root::default());
        let Reading::Value(pages) = residence.pages(pids, &place(2, 4), &[]) else { panic!() };
        assert_eq!((&pages.by_node[..], pages.absent), (&by_node[..], absent), "{pids:?}");
    };
    check(&[5], [0, 2], 6);
    check(&[7], [6, 0], 2);
    check(&[5, 7], [4, 2], 2);
    check(&[7, 5], [6, 0], 2);
}

#[test]
fn pages_by_the_node_of_their_task() {
    let check = |homes: &[Option<usize>], own: Option<[[u32; 2]; 2]>| {
        let mut residence = Residence::asking(nodes(), made_up, Root::default());
        let pages = residence.pages(&[0], &place(2, 4), homes);
        let own = own.map(|own| own.map(Vec::from).into());
        let by_node = vec![3, 4];
        let expected = Pages { by_node, absent: 1, method: Method::Sample, own };
        assert_eq!(pages, Reading::Value(expected), "{homes:?}");
        assert_eq!(residence.refused(), None);
    };
    check(&[], None);
    check(&[None; 4], Some([[0, 0], [0, 0]]));
    check(&[Some(0), Some(0), Some(0), Some(0)], Some([[3, 4], [0, 0]]));
    check(&[Some(0), Some(0), Some(1), Some(1)], Some([[3, 1], [0, 3]]));
    check(&[Some(1), Some(0), None, Some(0)], Some([[1, 2], [2, 0]]));
}

fn refused<const ERRNO: i32>(_: u32, _: &[usize], _: &mut [i32]) -> Result<(), Errno> {
    Err(Errno(ERRNO))
}

/// What is said of a region of 16 pages at 7f0000000000, with this numa_maps.
fn told(ask: Ask, text: Option<&str>) -> Result<(Vec<u32>, u32), (State, String)> {
    let dir = tempfile::tempdir().unwrap();
    if let Some(text) = text {
        fs::create_dir_all(dir.path().join("proc/42")).unwrap();
        fs::write(dir.path().join("proc/42/numa_maps"), text).unwrap();
    }
    let mut residence = Residence::asking(nodes(), ask, Root::new(dir.path()));
    let slice_bytes = 4 * page_bytes() as u64;
    let place = Place { address: 0x7f00_0000_0000, slice_bytes, n_slices: 4, seed: 0 };
    let reading = residence.pages(&[42], &place, &[Some(0); 4]);
    let state = residence.refused().map(|it| it.state);
    match reading {
        Reading::Value(pages) => {
            assert_eq!((pages.method, &pages.own), (Method::NumaMaps, &None));
            assert!(state.is_some());
            Ok((pages.by_node, pages.absent))
        }
        Reading::Absent(it) => Err((it.state, it.reason)),
    }
}

#[test]
fn numa_maps_where_move_pages_is_refused() {
    if page_bytes() as u64 != PAGE {
        return;
    }
    let check = |text: &str, expected: Result<(Vec<u32>, u32), &str>| {
        for ask in [refused::<{ libc::EPERM }> as Ask, refused::<{ libc::ENOSYS }>] {
            let got = told(ask, Some(text)).map_err(|(_, reason)| reason);
            match &expected {
                Ok(expected) => assert_eq!(got.as_ref(), Ok(expected), "{text}"),
                Err(expected) => assert!(got.unwrap_err().ends_with(expected), "{text}"),
            }
        }
    };
    let line = "7f0000000000 default anon=12 dirty=12 N0=2 N2=10 kernelpagesize_kB=4\n";
    let next = "7f0000010000 default anon=9 dirty=9 N0=9 kernelpagesize_kB=4\n";
    check(line, Ok((vec![2, 10], 4)));
    check(&format!("{line}{next}"), Ok((vec![2, 10], 4)));
    check("7f0000000000 default\n", Ok((vec![0, 0], 16)));
    let slices = "7f0000000000 bind:0 anon=4 N0=4 kernelpagesize_kB=4\n\
                  7f0000004000 bind:2 anon=12 N2=12 kernelpagesize_kB=4\n";
    check(slices, Ok((vec![4, 12], 0)));
    // Of a mapping that is the region's and its neighbours' there is no telling.
    let together = "numa_maps tells of it together with its neighbours";
    check("7efffffff000 default anon=4 N0=4 kernelpagesize_kB=4\n", Err(together));
    check("7f0000000000 default anon=17 N0=17 kernelpagesize_kB=4\n", Err(together));
    check("", Err("/proc/self/numa_maps is empty"));
}

#[test]
fn both_reasons_where_neither_tells() {
    let check = |ask: Ask, expected: (State, &str)| {
        let (state, reason) = told(ask, None).unwrap_err();
        assert_eq!((state, reason.as_str()), expected);
    };
    let none = |errno: i32| format!("move_pages: {}; there is no /proc/42/numa_maps", Errno(errno));
    check(refused::<{ libc::EPERM }>, (State::NoPermission, &none(libc::EPERM)));
    check(refused::<{ libc::ENOSYS }>, (State::Absent, &none(libc::ENOSYS)));
    // That is no refusal: the process is gone.
    let gone = format!("move_pages: {}", Errno(libc::ESRCH));
    check(refused::<{ libc::ESRCH }>, (State::Absent, &gone));
}

/// Neighbours that the kernel could make one mapping of; and both ways see the same.
#[test]
fn of_our_own_memory_both_ways_agree() {
    let areas = [Region::private(1 << 20).unwrap(), Region::private(1 << 20).unwrap()];
    areas[1].not_dumped();
    let page = page_bytes();
    for (at, area) in areas.iter().enumerate() {
        let _ = area.huge_pages(false);
        for n in 0..=100 * at + 50 {
            let word = &area.slice::<std::sync::atomic::AtomicU64>(n * page, 1)[0];
            word.store(1, std::sync::atomic::Ordering::Relaxed);
        }
        let slice_bytes = area.bytes() as u64;
        let place = Place { address: area.address() as u64, slice_bytes, n_slices: 1, seed: 0 };
        let of = |ask| {
            let all = (0..64).map(NodeId).collect();
            Residence::asking(all, ask, Root::default()).pages(&[0], &place, &[])
        };
        let (sample, all) = (of(nodes_of), of(refused::<{ libc::EPERM }>));
        let (Reading::Value(sample), Reading::Value(all)) = (&sample, &all) else {
            eprintln!("NOT TESTED: {} {}", sample.reason(), all.reason());
            return;
        };
        assert_eq!((sample.method, all.method), (Method::Sample, Method::NumaMaps));
        // There are fewer pages than would be asked for at most.
        assert_eq!((&sample.by_node, sample.absent), (&all.by_node, all.absent), "region {at}");
    }
}
