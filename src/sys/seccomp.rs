//! Tests only: system calls that the kernel refuses to a thread and to what it starts.
//!
//! Compiled into this crate's tests and, by its path, into those of the programs; hence it uses
//! nothing of the crate. Must not know: what it is tested with.

use std::io::Error;

/// Runs `act` in a thread to which the kernel refuses these calls with this error, and so to
/// whatever is started from it (seccomp(2), SECCOMP_RET_ERRNO). `None`: it takes no filters here.
pub fn refusing<R: Send>(
    calls: &[libc::c_long],
    errno: i32,
    act: impl FnOnce() -> R + Send,
) -> Option<R> {
    std::thread::scope(|scope| {
        let filtered = scope.spawn(|| match install(calls, errno) {
            Ok(()) => Some(act()),
            Err(error) => {
                eprintln!("NOT TESTED: calls that are refused: prctl: {error}");
                None
            }
        });
        filtered.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Native calls only: the tests make no others.
fn install(calls: &[libc::c_long], errno: i32) -> Result<(), Error> {
    const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const JUMP_IF_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    let line = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    // The number of the call is the first word of struct seccomp_data.
    let mut program = vec![line(LOAD, 0, 0, 0)];
    for &call in calls {
        program.push(line(JUMP_IF_EQUAL, 0, 1, call as u32));
        program.push(line(RETURN, 0, 0, libc::SECCOMP_RET_ERRNO | errno as u32));
    }
    program.push(line(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW));
    let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: numbers only.
    let result = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    if result != 0 {
        return Err(Error::last_os_error());
    }
    // SAFETY: the kernel copies the program, which outlives the call.
    let result = unsafe {
        libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter, 0, 0)
    };
    if result != 0 { Err(Error::last_os_error()) } else { Ok(()) }
}
