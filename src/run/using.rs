//! Steps on memory, resolved for one task: which lines, in which way.
//!
//! Must not know: who else uses them, what is recorded.

use super::areas::Areas;
use super::claims::{self, Place};
use crate::base::Random;
use crate::plan::{self, Plan, Slice};
use crate::record::memory::Moved;
use crate::step::memory::stream::{Arrays, Kernel};
use crate::step::memory::{self, Access, Between, Span, stream};

/// One step on memory.
pub(super) struct Using<'a> {
    way: Way<'a>,
    /// Which of a task's sums its bytes belong to.
    pub moved: Moved,
    pub place: Place,
    /// Whether this task writes what the step needs to find there.
    pub prepares: bool,
}

enum Way<'a> {
    Sweep {
        span: Span<'a>,
        access: Access,
    },
    Touch {
        span: Span<'a>,
        access: Access,
        pick: memory::Pick,
        count: u64,
    },
    Chase {
        span: Span<'a>,
        count: u64,
        at: u64,
    },
    Multiply {
        span: Span<'a>,
        count: u64,
    },
    /// `at` is the line from which to go on.
    Allocate {
        span: Span<'a>,
        bytes: u64,
        at: usize,
    },
    Stream {
        kernel: &'static Kernel,
        arrays: Arrays<'a>,
    },
}

impl<'a> Using<'a> {
    /// `None` only for what a plan does not have: a region or a verb that is not there.
    pub(super) fn new(it: &plan::Use, plan: &Plan, me: u32, areas: &'a Areas) -> Option<Using<'a>> {
        let place = |slice: &Slice, halo| {
            let number = slice.number(me).map(|number| number as u32);
            areas.span(plan, slice.region as usize, number, halo)
        };
        let span = place(&it.at, it.halo)?.part(it.part);
        let count = it.count.of(me);
        let access = memory::find(&it.access).map_or(Access::Read, |row| row.access);
        let way = match it.verb.as_str() {
            "sweep" => Way::Sweep { span, access },
            "touch" => {
                let pick = memory::Pick::of(span, it.skew.unwrap_or(0.0))?;
                Way::Touch { span, access, pick, count }
            }
            "chase" => Way::Chase { span, count, at: 0 },
            "multiply" => Way::Multiply { span, count },
            "allocate" => Way::Allocate { span, bytes: count, at: 0 },
            verb => {
                let kernel = stream::find(verb)?;
                let other = |place_of: &Option<Slice>| match place_of {
                    Some(other) => place(other, 0.0),
                    None => Some(span),
                };
                let (from, and) = (other(&it.from)?, other(&it.and)?);
                // What a kernel does not use may be any of the others.
                let arrays = match verb {
                    "copy" => Arrays { c: span, a: from, b: from },
                    "scale" => Arrays { b: span, c: from, a: from },
                    "add" => Arrays { c: span, a: from, b: and },
                    _ => Arrays { a: span, b: from, c: and },
                };
                Way::Stream { kernel, arrays }
            }
        };
        let moved = Moved::of_verb(&it.verb);
        Some(Using { way, moved, place: claims::place(&it.at, me), prepares: false })
    }

    pub(super) fn is_chase(&self) -> bool {
        matches!(self.way, Way::Chase { .. })
    }

    /// What has to be written into the memory before it can be used so, if it is for this task to
    /// write; after the pages were first touched.
    pub(super) fn prepare(&self, random: &mut Random, between: &mut Between<'_>) {
        match &self.way {
            _ if !self.prepares => {}
            Way::Chase { span, .. } => {
                memory::prepare_chase(*span, random, between);
            }
            Way::Stream { arrays, .. } => {
                stream::fill(arrays, between);
            }
            Way::Sweep { .. } | Way::Touch { .. } | Way::Multiply { .. } | Way::Allocate { .. } => {
            }
        }
    }

    /// Does the step; `between` is told of every piece.
    #[inline]
    pub(super) fn perform(&mut self, random: &mut Random, between: &mut Between<'_>) {
        match &mut self.way {
            Way::Sweep { span, access } => {
                memory::sweep(*span, *access, between);
            }
            Way::Touch { span, access, pick, count } => {
                memory::touch(*span, *count, *access, pick, random, between);
            }
            Way::Multiply { span, count } => {
                memory::multiply(*span, *count, between);
            }
            Way::Chase { span, count, at } => *at = memory::chase(*span, *count, *at, between),
            Way::Allocate { span, bytes, at } => {
                *at = memory::allocate(*span, *bytes, *at, between);
            }
            Way::Stream { kernel, arrays } => {
                memory::stream(kernel, arrays, between);
            }
        }
    }
}
