//! When a waker called, and from which CPU: in the message if it has room, else in a ring beside
//! the channel.
//!
//! A ring holds the stamps of messages that are the next to be taken: message number p is stamped
//! only if its entry is free, that is, if message p - n (n entries, at least as many as the channel
//! has wakees) was taken. Otherwise p was posted to a channel that held n messages already, so no
//! wakee was waiting for it, and it will be found ready whatever its stamp. Hence the ring never
//! loses the stamp of a message that somebody waited for, however long the wakee's run delay. Must
//! not know: channels.

use crate::sys::Shared;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU64, fence};

/// A waker's last act before its call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    pub ticks: u64,
    pub cpu: u32,
    /// When the request arrived that the message belongs to (ticks); 0 if it belongs to none.
    pub origin: u64,
}

/// Bytes of a message that a stamp takes; smaller messages use a ring.
pub const BYTES: usize = 16;

/// The same of one with its origin, which only runs that measure from arrivals have.
pub const LONG_BYTES: usize = 24;

impl Stamp {
    /// Writes it into the start of a message of at least [`BYTES`].
    #[inline(always)]
    pub fn write(self, message: &mut [u8]) {
        message[..8].copy_from_slice(&self.ticks.to_ne_bytes());
        message[8..12].copy_from_slice(&self.cpu.to_ne_bytes());
        message[12..16].copy_from_slice(&self.check().to_ne_bytes());
    }

    /// The same with the origin, into a message of at least [`LONG_BYTES`].
    #[inline(always)]
    pub fn write_long(self, message: &mut [u8]) {
        self.write(message);
        message[16..24].copy_from_slice(&self.origin.to_ne_bytes());
    }

    /// What tells a stamp from the middle of a message: messages of several wakers can be mixed on
    /// a stream where the kernel does not write them in one piece.
    #[inline(always)]
    fn check(self) -> u32 {
        (self.ticks ^ (self.ticks >> 32)) as u32 ^ self.cpu ^ 0x5ced_10ad
    }

    /// Reads what [`Stamp::write`] wrote; `None` if there is no stamp, or not a whole one.
    #[inline(always)]
    pub fn read(message: &[u8]) -> Option<Stamp> {
        let ticks = u64::from_ne_bytes(message[..8].try_into().ok()?);
        let cpu = u32::from_ne_bytes(message[8..12].try_into().ok()?);
        let check = u32::from_ne_bytes(message[12..16].try_into().ok()?);
        let stamp = Stamp { ticks, cpu, origin: 0 };
        (check == stamp.check()).then_some(stamp)
    }

    /// Reads what [`Stamp::write_long`] wrote.
    #[inline(always)]
    pub fn read_long(message: &[u8]) -> Option<Stamp> {
        let origin = u64::from_ne_bytes(message[16..24].try_into().ok()?);
        Stamp::read(message).map(|stamp| Stamp { origin, ..stamp })
    }
}

/// Number of posted and of taken messages, each on its own cache line.
const HEADER_BYTES: usize = 128;
const TAKEN: usize = 8;
const ENTRY_BYTES: usize = 32;

/// Bytes of shared memory for a ring of this many entries (a power of two).
pub fn ring_bytes(entries: usize) -> usize {
    HEADER_BYTES + (entries * ENTRY_BYTES).next_multiple_of(64)
}

/// The stamps beside one instance of a channel.
#[derive(Debug, Clone, Copy)]
pub struct Ring<'a> {
    header: &'a [AtomicU64],
    /// Number of the message plus one, ticks, CPU, origin.
    entries: &'a [[AtomicU64; 4]],
}

impl<'a> Ring<'a> {
    /// The ring of `entries`, a power of two, at an offset of zeroed shared memory.
    pub fn at(shared: &'a Shared, offset: usize, entries: usize) -> Ring<'a> {
        Ring {
            header: shared.slice(offset, HEADER_BYTES / 8),
            entries: shared.slice(offset + HEADER_BYTES, entries),
        }
    }

    /// To be called right before the wake that posts the message.
    #[inline]
    pub fn post(&self, stamp: Stamp) {
        let number = self.header[0].fetch_add(1, Relaxed);
        let [tag, ticks, cpu, origin] = &self.entries[number as usize & (self.entries.len() - 1)];
        // The entry's last message, n before this one, was taken.
        let taken = self.header[TAKEN].load(Acquire);
        if number < taken + self.entries.len() as u64 {
            // No tag while the entry changes; pairs with the second look in `take`.
            tag.store(0, Relaxed);
            fence(Release);
            ticks.store(stamp.ticks, Relaxed);
            cpu.store(u64::from(stamp.cpu), Relaxed);
            origin.store(stamp.origin, Relaxed);
            // Pairs with the Acquire in `take`.
            tag.store(number + 1, Release);
        }
    }

    /// To be called once for each wait that returned; `None` if the message has no stamp.
    #[inline]
    pub fn take(&self) -> Option<Stamp> {
        let number = self.header[TAKEN].fetch_add(1, Release);
        let [tag, ticks, cpu, origin] = &self.entries[number as usize & (self.entries.len() - 1)];
        if tag.load(Acquire) != number + 1 {
            return None;
        }
        let stamp = Stamp {
            ticks: ticks.load(Relaxed),
            cpu: cpu.load(Relaxed) as u32,
            origin: origin.load(Relaxed),
        };
        fence(Acquire);
        (tag.load(Relaxed) == number + 1).then_some(stamp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_carries_its_stamp() {
        let mut message = [b'-'; 100];
        let stamp = Stamp { ticks: 7, cpu: 1500, origin: 5 };
        stamp.write_long(&mut message);
        assert_eq!(Stamp::read_long(&message), Some(stamp));
        assert_eq!(Stamp::read(&message), Some(Stamp { origin: 0, ..stamp }));
        message[16] = b'-';
        stamp.write(&mut message);
        assert_eq!(message[16], b'-', "a short stamp leaves the rest");
        assert_eq!(Stamp::read(&message[1..]), None);
        assert_eq!(Stamp::read(&[b'-'; 16]), None);
        assert_eq!(Stamp::read(&[0; 16]), None);
    }

    /// Posts (`+`) and takes (`-`) in this order; the stamps that are found, by number posted.
    fn taken(entries: usize, acts: &str) -> Vec<Option<u64>> {
        let shared = Shared::create(ring_bytes(entries)).unwrap();
        let ring = Ring::at(&shared, 0, entries);
        let mut posted = 0;
        let mut found = Vec::new();
        for act in acts.chars() {
            if act == '+' {
                posted += 1;
                ring.post(Stamp { ticks: posted, cpu: 0, origin: posted });
            } else {
                let stamp = ring.take();
                assert!(stamp.is_none_or(|stamp| stamp.origin == stamp.ticks));
                found.push(stamp.map(|stamp| stamp.ticks));
            }
        }
        found
    }

    #[test]
    fn stamps_what_can_be_waited_for() {
        let check = |entries, acts, expected: &[Option<u64>]| {
            assert_eq!(taken(entries, acts), expected, "{entries} entries, {acts}");
        };
        check(1, "+-+-", &[Some(1), Some(2)]);
        // The second and third were posted to a channel that was not empty.
        check(1, "+++---+-", &[Some(1), None, None, Some(4)]);
        check(2, "+++---+-", &[Some(1), Some(2), None, Some(4)]);
        // One posted while an unstamped one is still there.
        check(1, "++-+--", &[Some(1), None, None]);
        check(2, "++-+--", &[Some(1), Some(2), Some(3)]);
    }
}
