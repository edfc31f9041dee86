//! When a waker called, and from which CPU: in the message if it has room, else in a ring beside
//! the channel.
//!
//! A ring has an entry for each message that could be waited for: message number p is stamped only
//! if its entry is free, that is, if the one of message p - n before it (n entries, at least as
//! many as the channel has wakees) was read. Otherwise p was posted to a channel that held n
//! messages, or whose wakees were about to leave with some of them, so no wakee was waiting for it,
//! and it will be found ready whatever its stamp. Hence the ring never loses the stamp of a message
//! that somebody waited for, however long the wakee's run delay. With several wakees one exception
//! is left: that one is interrupted right between its claim of a message and its reading of the
//! stamp.
//!
//! A ring also tells how many messages there were at most, as far as it has entries. Whoever takes
//! one could compare the two counts, but that of the posted would then leave its waker's cache for
//! each message, and be fetched back between the next one's stamp and its wake, in the midst of
//! what is measured. It looks at one entry instead, that of the message with which there would be
//! more than ever. Must not know: channels.

use super::memory::Phase;
use crate::sys::Shared;
use crate::sys::word::Word;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

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

    /// As two words, for a place of somebody else's.
    #[inline(always)]
    pub fn words(self) -> [u64; 2] {
        [self.ticks, self.cpu.into()]
    }

    #[inline(always)]
    pub fn of_words([ticks, cpu]: [u64; 2]) -> Stamp {
        Stamp { ticks, cpu: cpu as u32, origin: 0 }
    }

    /// What tells a stamp from the middle of a message: messages of several wakers can be mixed on
    /// a stream where the kernel does not write them in one piece.
    #[inline(always)]
    fn check(self) -> u32 {
        (self.ticks ^ (self.ticks >> 32)) as u32 ^ self.cpu ^ 0x5ced_10ad
    }

    /// What stands beside the ticks of message `number` in a ring: the CPU, and a check of all
    /// three and the origin.
    #[inline(always)]
    fn rest(self, number: u64) -> u64 {
        let origin = (self.origin ^ (self.origin >> 32)) as u32;
        u64::from(self.check() ^ number as u32 ^ origin.rotate_left(16)) << 32 | u64::from(self.cpu)
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

/// Number of posted and of taken messages, each on its own cache line; beside the latter how many
/// there were at most, by [`Phase`].
const HEADER_BYTES: usize = 128;
const TAKEN: usize = 8;
const MOST: usize = 9;
const ENTRY_BYTES: usize = 32;

/// Bytes of shared memory for a ring of this many entries (a power of two).
pub fn ring_bytes(entries: usize) -> usize {
    HEADER_BYTES + (entries * ENTRY_BYTES).next_multiple_of(64)
}

/// Why it is not known how many messages there were at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unknown {
    /// There were so many or more, in the window or before, and the ring has no more entries.
    NoRoom(u64),
    /// There were some, and none was taken in the window.
    NoneTaken,
}

/// The stamps beside one instance of a channel.
#[derive(Debug)]
pub struct Ring<'a, W = AtomicU64> {
    header: &'a [W],
    /// Number of the message plus one (0: free), ticks, [`Stamp::rest`], origin.
    entries: &'a [[W; 4]],
}

impl<'a> Ring<'a> {
    /// The ring of `entries`, a power of two, at an offset of zeroed shared memory.
    pub fn at(shared: &'a Shared, offset: usize, entries: usize) -> Ring<'a> {
        Ring {
            header: shared.slice(offset, HEADER_BYTES / 8),
            entries: shared.slice(offset + HEADER_BYTES, entries),
        }
    }
}

impl<W: Word<u64>> Ring<'_, W> {
    /// To be called right before the wake that posts the message.
    #[inline]
    pub fn post(&self, stamp: Stamp) {
        let number = self.header[0].fetch_add(1, Relaxed);
        let [tag, ticks, rest, origin] = self.entry(number);
        // Pairs with the Release in `take`: what stood here was read.
        if tag.load(Acquire) == 0 {
            ticks.store(stamp.ticks, Relaxed);
            rest.store(stamp.rest(number), Relaxed);
            origin.store(stamp.origin, Relaxed);
            // Pairs with the Acquire in `take`.
            tag.store(number + 1, Release);
        }
    }

    /// To be called once for each wait that returned; `None` if the message has no stamp.
    #[inline]
    pub fn take(&self, phase: Phase) -> Option<Stamp> {
        // AcqRel: who claims a message knows what those before it knew, which is that this one is
        // posted, though the one it waited for may have been claimed by another.
        let number = self.header[TAKEN].fetch_add(1, AcqRel);
        self.keep_most(number, phase);
        let [tag, ticks, rest, origin] = self.entry(number);
        let found = tag.load(Acquire);
        if found == 0 || found > number + 1 {
            return None;
        }
        let (ticks, rest) = (ticks.load(Relaxed), rest.load(Relaxed));
        let origin = origin.load(Relaxed);
        // Also of a message before this one, whose stamp came too late for it.
        tag.store(0, Release);
        let stamp = Stamp { ticks, cpu: rest as u32, origin };
        // Two wakers write here at once if one is interrupted in `post` while others send n
        // messages.
        (found == number + 1 && rest == stamp.rest(number)).then_some(stamp)
    }

    /// Counts the messages if they are more than ever in this phase; `number` is the first of them.
    #[inline(always)]
    fn keep_most(&self, number: u64, phase: Phase) {
        let kept = &self.header[MOST + phase as usize];
        let most = kept.load(Relaxed);
        if self.is_there(number, most) {
            self.raise(kept, most, number);
        }
    }

    #[cold]
    fn raise(&self, kept: &W, mut known: u64, number: u64) {
        let mut most = known + 1;
        while self.is_there(number, most) {
            most += 1;
        }
        while known < most {
            match kept.compare_exchange_weak(known, most, Relaxed, Relaxed) {
                Ok(_) => break,
                Err(other) => known = other,
            }
        }
    }

    /// Whether the message is posted that comes so many behind `number`, and the ring can tell.
    #[inline(always)]
    fn is_there(&self, number: u64, behind: u64) -> bool {
        let [tag, ..] = self.entry(number + behind);
        behind < self.entries.len() as u64 && tag.load(Relaxed) > number + behind
    }

    /// The most messages that there were in the window when one of them was taken.
    ///
    /// # Errors
    ///
    /// Why that is not known.
    pub fn most(&self) -> Result<u64, Unknown> {
        let room = self.entries.len() as u64;
        let most = |phase: Phase| self.header[MOST + phase as usize].load(Relaxed);
        let in_window = most(Phase::Window);
        match in_window.max(most(Phase::Warmup)) >= room {
            // Of messages behind so many, not all are stamped, also later.
            true => Err(Unknown::NoRoom(room)),
            false if in_window == 0 && self.header[0].load(Relaxed) > 0 => Err(Unknown::NoneTaken),
            false => Ok(in_window),
        }
    }

    #[inline(always)]
    fn entry(&self, number: u64) -> &[W; 4] {
        &self.entries[number as usize & (self.entries.len() - 1)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::model::model;
    use loom::sync::Arc;
    use loom::thread::{spawn, yield_now};

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
                let stamp = ring.take(Phase::Window);
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
        check(1, "++-+--", &[Some(1), None, Some(3)]);
        check(2, "++-+--", &[Some(1), Some(2), Some(3)]);
    }

    #[test]
    fn tells_how_many_messages_there_were() {
        // As above; the window begins at `|`.
        let check = |entries, acts: &str, expected: Result<u64, Unknown>| {
            let shared = Shared::create(ring_bytes(entries)).unwrap();
            let ring = Ring::at(&shared, 0, entries);
            let mut phase = Phase::Warmup;
            for act in acts.chars() {
                match act {
                    '+' => ring.post(Stamp { ticks: 1, cpu: 0, origin: 0 }),
                    '-' => drop(ring.take(phase)),
                    _ => phase = Phase::Window,
                }
            }
            assert_eq!(ring.most(), expected, "{entries} entries, {acts}");
        };
        check(4, "|", Ok(0));
        check(4, "|+", Err(Unknown::NoneTaken));
        check(4, "+-|+", Err(Unknown::NoneTaken));
        check(4, "|+-+-", Ok(1));
        check(4, "|+++-+---", Ok(3));
        check(4, "|+-++-+-++-+---", Ok(3));
        // What there was before the window and was taken before it does not count.
        check(4, "+++---|+-++--", Ok(2));
        check(4, "+++--|-", Ok(1));
        // Four or more, then and later.
        check(4, "|++++----+-", Err(Unknown::NoRoom(4)));
        check(4, "|+++++++-------", Err(Unknown::NoRoom(4)));
        check(4, "++++++------|+-", Err(Unknown::NoRoom(4)));
        check(1, "|+-+-", Err(Unknown::NoRoom(1)));
    }

    /// A ring of loom's words and, in place of a channel, the number of its messages.
    struct Model {
        header: [loom::sync::atomic::AtomicU64; HEADER_BYTES / 8],
        entries: Vec<[loom::sync::atomic::AtomicU64; 4]>,
        sent: loom::sync::atomic::AtomicU64,
    }

    impl Model {
        fn new(entries: usize) -> Arc<Model> {
            let entries = (0..entries).map(|_| Default::default()).collect();
            Arc::new(Model { header: Default::default(), entries, sent: Default::default() })
        }

        fn ring(&self) -> Ring<'_, loom::sync::atomic::AtomicU64> {
            Ring { header: &self.header, entries: &self.entries }
        }

        fn send(&self, ticks: u64) {
            self.ring().post(Stamp { ticks, cpu: ticks as u32, origin: ticks });
            self.sent.fetch_add(1, Release);
        }

        /// Takes a message once there are more than `before`.
        fn receive(&self, before: u64) -> Option<u64> {
            while self.sent.load(Acquire) <= before {
                yield_now();
            }
            self.ring().take(Phase::Window).map(|Stamp { ticks, cpu, origin }| {
                assert_eq!([ticks; 2], [u64::from(cpu), origin], "halves of two stamps");
                ticks
            })
        }
    }

    #[test]
    fn a_stamp_that_is_waited_for_is_kept_while_the_next_is_posted() {
        model(3, || {
            let ring = Model::new(1);
            let wakers = ring.clone();
            let waker = spawn(move || (1..=2).for_each(|ticks| wakers.send(ticks)));
            assert_eq!(ring.receive(0), Some(1));
            assert!([None, Some(2)].contains(&ring.receive(1)));
            waker.join().unwrap();
        });
    }

    #[test]
    fn stamps_of_two_wakers_are_found_whole_and_once() {
        model(3, || {
            let ring = Model::new(1);
            let other = ring.clone();
            let waker = spawn(move || other.send(1));
            ring.send(2);
            let found = [ring.receive(0), ring.receive(1)];
            assert!(found == [None; 2] || found[0] != found[1], "{found:?}");
            waker.join().unwrap();
        });
    }

    #[test]
    fn stamps_are_found_by_two_wakees() {
        model(2, || {
            let ring = Model::new(2);
            let other = ring.clone();
            let wakee = spawn(move || other.receive(0));
            (1..=2).for_each(|ticks| ring.send(ticks));
            let mut found = [ring.receive(1), wakee.join().unwrap()];
            found.sort();
            assert_eq!(found, [Some(1), Some(2)]);
            assert!([Ok(1), Err(Unknown::NoRoom(2))].contains(&ring.ring().most()));
        });
    }
}
