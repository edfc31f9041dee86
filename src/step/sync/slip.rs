//! The place of a note in shared memory.
//!
//! A note is two words that are written and read one by one, so a third tells whether they belong
//! together, and to which round. Must not know: what a note says.

use super::Note;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// The words of a note and what tells that they are one.
pub(super) type Slip = [AtomicU64; 3];

/// Never zero for words that are, as in memory that nobody has written.
fn check([first, second]: Note, round: u32) -> u64 {
    first ^ second.rotate_left(32) ^ (u64::from(round) << 32) ^ 0x5ced_10ad_0a0b_0c0d
}

/// To be called before the wake.
#[inline]
pub(super) fn put(slip: &Slip, note: Note, round: u32) {
    slip[0].store(note[0], Relaxed);
    slip[1].store(note[1], Relaxed);
    // Pairs with the Acquire in `take`.
    slip[2].store(check(note, round), Release);
}

/// The note of this round; `None` if there is none, or no whole one.
#[inline]
pub(super) fn take(slip: &Slip, round: u32) -> Option<Note> {
    let found = slip[2].load(Acquire);
    let note = [slip[0].load(Relaxed), slip[1].load(Relaxed)];
    (found == check(note, round)).then_some(note)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_note_of_its_round_is_one() {
        let slip = Slip::default();
        for round in [0, 1, u32::MAX] {
            assert_eq!(take(&slip, round), None, "nobody wrote any");
        }
        put(&slip, [7, 1500], 3);
        assert_eq!(take(&slip, 3), Some([7, 1500]));
        assert_eq!(take(&slip, 2), None);
        slip[1].store(1501, Relaxed);
        assert_eq!(take(&slip, 3), None);
    }
}
