//! Where the kernel puts pages: policies of memory and of threads, and asking where pages are.
//!
//! Must not know: what memory is for. Any of these calls may be refused: a kernel without NUMA has
//! none of them (ENOSYS), and containers often forbid them (EPERM).

use super::{Errno, raw};
use crate::base::NodeId;

/// A memory policy (set_mempolicy(2)).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Policy {
    /// None of its own: that of the thread which touches a page first, normally its node.
    Default,
    /// Only these nodes.
    Bind(Vec<NodeId>),
    /// This node while it has room.
    Preferred(NodeId),
    /// Page by page over these nodes in turn.
    Interleave(Vec<NodeId>),
}

const WORD_BITS: u32 = libc::c_ulong::BITS;

/// A set of nodes as the kernel takes it, with the policy's mode.
struct Mask {
    mode: libc::c_int,
    words: Vec<libc::c_ulong>,
}

impl Mask {
    fn of(policy: &Policy) -> Mask {
        let (mode, nodes) = match policy {
            // The kernel refuses a set of nodes with this mode (mm/mempolicy.c, mpol_new, v6.12).
            Policy::Default => return Mask { mode: libc::MPOL_DEFAULT, words: Vec::new() },
            Policy::Bind(nodes) => (libc::MPOL_BIND, nodes.as_slice()),
            Policy::Preferred(node) => (libc::MPOL_PREFERRED, std::slice::from_ref(node)),
            Policy::Interleave(nodes) => (libc::MPOL_INTERLEAVE, nodes.as_slice()),
        };
        let largest = nodes.iter().max().map_or(0, |node| node.0);
        let mut words = vec![0; (largest / WORD_BITS + 1) as usize];
        for NodeId(node) in nodes {
            words[(node / WORD_BITS) as usize] |= 1 << (node % WORD_BITS);
        }
        Mask { mode, words }
    }

    /// Mode, address and length, in the order of the calls.
    fn arguments(&self) -> [usize; 3] {
        match self.words.len() {
            0 => [self.mode as usize, 0, 0],
            // The kernel takes one bit less than it is told (mm/mempolicy.c, get_nodes, v6.12).
            len => [self.mode as usize, self.words.as_ptr() as usize, len * WORD_BITS as usize + 1],
        }
    }
}

/// mbind(2) without flags: pages that are there already stay. The address is that of a page of a
/// mapping that the caller owns; a range outside is refused (EFAULT).
pub(super) fn mbind(address: usize, bytes: usize, policy: &Policy) -> Result<(), Errno> {
    let mask = Mask::of(policy);
    let [mode, nodes, bits] = mask.arguments();
    let args = [address, bytes, mode, nodes, bits, 0];
    // SAFETY: policies do not change memory's content; the mask outlives the call.
    Errno::check_raw(unsafe { raw::syscall(libc::SYS_mbind, args) }).map(|_| ())
}

/// Runs `act` while this thread has a policy for the pages that it touches first
/// (set_mempolicy(2)), and then puts back what it had. Memory with a policy of its own is not
/// affected.
///
/// # Errors
///
/// EINVAL for a node that is not there, has no memory, or is not allowed by the cpuset; ENOSYS or
/// EPERM where there is no such call. `act` has not run then.
pub fn with_thread_policy<R>(policy: &Policy, act: impl FnOnce() -> R) -> Result<R, Errno> {
    /// Put back also when `act` panics.
    struct PutBack(Mask);
    impl Drop for PutBack {
        fn drop(&mut self) {
            // Fails only if the cpuset has lost all nodes of the old policy meanwhile, and then it
            // is better to have none than the one for `act`.
            if set_thread(&self.0).is_err() {
                let _ = set_thread(&Mask::of(&Policy::Default));
            }
        }
    }
    let before = PutBack(thread_policy()?);
    set_thread(&Mask::of(policy))?;
    let result = act();
    drop(before);
    Ok(result)
}

fn set_thread(mask: &Mask) -> Result<(), Errno> {
    let [mode, nodes, bits] = mask.arguments();
    // SAFETY: the mask outlives the call.
    let result = unsafe { raw::syscall(libc::SYS_set_mempolicy, [mode, nodes, bits, 0, 0, 0]) };
    Errno::check_raw(result).map(|_| ())
}

/// The policy of this thread, its flags in the mode, as set_mempolicy takes it again.
fn thread_policy() -> Result<Mask, Errno> {
    // The most nodes that a kernel can have: with less room the call is refused (get_mempolicy(2)).
    const MAX_NODES: usize = 1024;
    let mut mode: libc::c_int = 0;
    let mut words = vec![0 as libc::c_ulong; MAX_NODES / WORD_BITS as usize];
    let args = [(&raw mut mode) as usize, words.as_mut_ptr() as usize, MAX_NODES + 1, 0, 0, 0];
    // SAFETY: the kernel writes an int and 1024 bits, for which there is room.
    Errno::check_raw(unsafe { raw::syscall(libc::SYS_get_mempolicy, args) })?;
    if words.iter().all(|&word| word == 0) {
        words.clear();
    }
    Ok(Mask { mode, words })
}

/// Asks for the node of each page that holds one of `addresses` in the address space of `pid` (0:
/// the caller's), by move_pages(2) without nodes to move to, which moves nothing. It takes that
/// process's mmap lock for reading, 16 pages at a time (mm/migrate.c, do_pages_stat, v6.12).
///
/// Each status is a node's number or a negative errno (do_pages_stat_array, v6.12):
/// - `-ENOENT`: no page here in this process's page table: never touched, swapped out, or just
///   being migrated. A page of shared memory counts only where the process asked has touched it;
/// - `-EFAULT`: not mapped, or the zero page, which is what reading untouched private memory gives.
///
/// # Errors
///
/// ESRCH: no such process. EPERM: not ours to look at (ptrace(2)'s rules), or forbidden here.
/// ENOSYS: a kernel without NUMA. EINVAL: the process has no memory any more, or `status` has
/// another length than `addresses`.
pub fn nodes_of(pid: u32, addresses: &[usize], status: &mut [i32]) -> Result<(), Errno> {
    if addresses.len() != status.len() {
        return Err(Errno(libc::EINVAL));
    }
    let (count, pages) = (addresses.len(), addresses.as_ptr() as usize);
    let args = [pid as usize, count, pages, 0, status.as_mut_ptr() as usize, 0];
    // SAFETY: the kernel reads as many addresses as it writes statuses, and follows none of them.
    Errno::check_raw(unsafe { raw::syscall(libc::SYS_move_pages, args) }).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::Region;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    /// Whether the calls can be made here at all.
    fn refused_here(errno: Errno) -> bool {
        let refused = matches!(errno, Errno(libc::ENOSYS | libc::EPERM));
        if refused {
            eprintln!("NOT TESTED: memory policies are refused here: {errno}");
        }
        refused
    }

    #[test]
    fn masks_hold_their_nodes() {
        let check = |policy: Policy, mode: libc::c_int, words: &[libc::c_ulong]| {
            let mask = Mask::of(&policy);
            assert_eq!((mask.mode, mask.words.as_slice()), (mode, words), "{policy:?}");
        };
        let top = 1 << (WORD_BITS - 1);
        check(Policy::Default, libc::MPOL_DEFAULT, &[]);
        check(Policy::Bind(vec![NodeId(2), NodeId(0)]), libc::MPOL_BIND, &[5]);
        check(Policy::Preferred(NodeId(WORD_BITS)), libc::MPOL_PREFERRED, &[0, 1]);
        check(Policy::Interleave(vec![NodeId(WORD_BITS - 1)]), libc::MPOL_INTERLEAVE, &[top]);
        check(Policy::Bind(vec![]), libc::MPOL_BIND, &[0]);
    }

    #[test]
    fn a_node_that_is_not_there_is_refused() {
        let region = Region::private(1 << 20).unwrap();
        let (here, gone) = (NodeId(0), NodeId(1000));
        let all = region.bytes();
        let check = |policy: Policy, expected: Result<(), Errno>| {
            let got = region.set_policy(0, all, &policy);
            if got.is_err_and(refused_here) {
                return;
            }
            assert_eq!(got, expected, "mbind {policy:?}");
            let got = with_thread_policy(&policy, || ());
            assert_eq!(got, expected, "set_mempolicy {policy:?}");
        };
        check(Policy::Default, Ok(()));
        check(Policy::Bind(vec![here]), Ok(()));
        check(Policy::Preferred(here), Ok(()));
        check(Policy::Interleave(vec![here]), Ok(()));
        check(Policy::Bind(vec![gone]), Err(Errno(libc::EINVAL)));
        check(Policy::Bind(vec![]), Err(Errno(libc::EINVAL)));
        check(Policy::Preferred(gone), Err(Errno(libc::EINVAL)));
        check(Policy::Interleave(vec![gone]), Err(Errno(libc::EINVAL)));
    }

    #[test]
    fn the_policy_of_the_thread_is_put_back() {
        let own = Policy::Preferred(NodeId(0));
        let shape = |mask: Mask| (mask.mode, mask.words);
        let before = match thread_policy() {
            Ok(mask) => shape(mask),
            Err(errno) => return assert!(refused_here(errno), "{errno}"),
        };
        let inside = with_thread_policy(&own, || {
            let outer = shape(thread_policy().unwrap());
            let bind = Policy::Bind(vec![NodeId(0)]);
            let inner = with_thread_policy(&bind, || thread_policy().unwrap().mode);
            let panicked = std::panic::catch_unwind(|| {
                with_thread_policy(&Policy::Bind(vec![NodeId(0)]), || panic!("on purpose"))
            });
            assert!(panicked.is_err());
            assert_eq!(shape(thread_policy().unwrap()), outer);
            (outer.0, inner.unwrap())
        });
        assert_eq!(inside.unwrap(), (libc::MPOL_PREFERRED, libc::MPOL_BIND));
        assert_eq!(shape(thread_policy().unwrap()), before);
    }

    #[test]
    fn pages_have_a_node_once_they_are_touched() {
        let page = crate::sys::shared::page_bytes();
        for region in [Region::private(4 * page).unwrap(), Region::shared(4 * page).unwrap()] {
            let _ = region.huge_pages(false);
            region.slice::<AtomicU64>(page, 1)[0].store(1, Relaxed);
            let first = [region.address()];
            let addresses = [region.address(), region.address() + page + 8];
            let mut status = [77; 2];
            match nodes_of(0, &addresses, &mut status) {
                Err(errno) => return assert!(refused_here(errno), "{errno}"),
                Ok(()) => assert_eq!(status[0], -libc::ENOENT),
            }
            assert!(status[1] >= 0, "{status:?}");
            let me = std::process::id();
            assert_eq!(nodes_of(me, &addresses[1..], &mut status[..1]), Ok(()));
            assert_eq!(status[0], status[1]);
            assert_eq!(nodes_of(0, &first, &mut status), Err(Errno(libc::EINVAL)));
        }
        let nobody = libc::pid_t::MAX as u32;
        assert_eq!(nodes_of(nobody, &[0], &mut [0]), Err(Errno(libc::ESRCH)));
    }

    #[test]
    fn calls_that_are_refused_say_so() {
        use crate::sys::seccomp::refusing;
        let bind = Policy::Bind(vec![NodeId(0)]);
        for errno in [libc::EPERM, libc::ENOSYS] {
            let refused = Err(Errno(errno));
            let calls = [libc::SYS_mbind, libc::SYS_move_pages];
            refusing(&calls, errno, || {
                let region = Region::private(1 << 20).unwrap();
                assert_eq!(region.set_policy(0, region.bytes(), &bind), refused);
                assert_eq!(nodes_of(0, &[region.address()], &mut [0]), refused);
            });
            for call in [libc::SYS_get_mempolicy, libc::SYS_set_mempolicy] {
                refusing(&[call], errno, || {
                    let mut has_run = false;
                    let got = with_thread_policy(&bind, || has_run = true);
                    assert_eq!((got, has_run), (refused, false));
                });
            }
        }
    }
}
