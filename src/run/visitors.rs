//! Tasks as sync objects see them: what they note, and what they write before they wake others.
//!
//! Must not know: how objects wait.

use super::areas::Areas;
use crate::plan::{Fill, Plan};
use crate::record::memory::{Moved, Phase};
use crate::record::recorder::Recorder;
use crate::step::memory::{self, Access, Span};
use crate::step::sync::{Note, Visitor};

/// The task at an object.
pub(super) struct Here<'r, 'a>(pub &'r mut Recorder<'a>);

impl Visitor for Here<'_, '_> {
    #[inline(always)]
    fn note(&mut self) -> Note {
        self.0.stamp().words()
    }

    #[inline(always)]
    fn over(&self) -> bool {
        // The stall watch sees that nothing has come of it.
        self.0.spins();
        self.0.phase() == Phase::After
    }
}

/// The task at a desk, writing for each that it lets go.
pub(super) struct Filler<'h, 'r, 'a> {
    pub here: &'h mut Here<'r, 'a>,
    pub filling: Filling<'h>,
}

impl Visitor for Filler<'_, '_, '_> {
    #[inline]
    fn lets_go(&mut self, member: u32) {
        self.filling.write(member, self.here.0);
    }

    #[inline(always)]
    fn note(&mut self) -> Note {
        self.here.note()
    }

    #[inline(always)]
    fn over(&self) -> bool {
        self.here.over()
    }
}

/// The slices of those that ask, by their numbers as members of the desk.
#[derive(Clone, Copy)]
pub(super) struct Filling<'a> {
    /// Of the first slice.
    part: Span<'a>,
    slice_bytes: usize,
    /// Members that serve, who have no slices: the first and how many.
    servers: (u32, u32),
}

impl<'a> Filling<'a> {
    /// `None` only for what a plan does not have: a region that is not mapped here.
    pub(super) fn new(
        fill: Fill,
        plan: &Plan,
        servers: (u32, u32),
        areas: &'a Areas,
    ) -> Option<Filling<'a>> {
        let region = fill.region as usize;
        let part = areas.span(plan, region, Some(0), 0.0)?.part(fill.part);
        let slice_bytes = plan.memory[region].slice_bytes as usize;
        Some(Filling { part, slice_bytes, servers })
    }

    /// Writes what belongs to a member.
    fn write(&self, member: u32, recorder: &mut Recorder<'_>) {
        if recorder.phase() == Phase::After {
            // Others are still to be woken, and soon.
            return;
        }
        let (first, n) = self.servers;
        let slice = if member < first { member } else { member - n } as usize;
        let span = Span { offset: self.part.offset + slice * self.slice_bytes, ..self.part };
        let mut since = recorder.pieces_begin();
        memory::sweep(span, Access::Zero, &mut |bytes| {
            recorder.piece(Moved::Accesses, bytes, &mut since)
        });
    }
}
