//! A fixed number of values on cache lines that nothing else uses.
//!
//! Two tasks whose data share a line would slow each other down on different CPUs, and the pattern
//! under study with them. Must not know: what is stored.

use std::ops::{Deref, DerefMut};

/// Bytes of a cache line, and of the neighbour that Intel's and AMD's prefetchers fetch with it.
const LINE_BYTES: usize = 128;

/// A slice on lines of its own.
#[derive(Debug)]
pub struct Aligned<T> {
    /// With room before and after.
    items: Vec<T>,
    first: usize,
    len: usize,
}

impl<T: Copy> Aligned<T> {
    /// `len` times `value`.
    pub fn new(value: T, len: usize) -> Aligned<T> {
        let line = LINE_BYTES.div_ceil(size_of::<T>().max(1));
        let items = vec![value; line + len.next_multiple_of(line)];
        let first = items.as_ptr().align_offset(LINE_BYTES).min(line);
        Aligned { items, first, len }
    }
}

impl<T> Deref for Aligned<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        &self.items[self.first..self.first + self.len]
    }
}

impl<T> DerefMut for Aligned<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.items[self.first..self.first + self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn begins_and_ends_on_lines_of_its_own() {
        for len in [0, 1, 15, 16, 17, 1000] {
            let numbers = Aligned::new(7u64, len);
            assert_eq!(numbers.len(), len);
            assert!(numbers.iter().all(|&n| n == 7));
            assert_eq!(numbers.as_ptr() as usize % LINE_BYTES, 0, "{len}");
            let end = (numbers.first + len).next_multiple_of(LINE_BYTES / 8);
            assert!(end <= numbers.items.len(), "{len}");
        }
        assert_eq!(Aligned::new(b'-', 100).as_ptr() as usize % LINE_BYTES, 0);
    }
}
