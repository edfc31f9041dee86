//! Sleeps at once, so that every round wakes all but the last.
//!
//! Must not know: `spins`.

use super::super::waiting::{Patience, Then};
use super::central::Central;
use super::{Barrier, Form, Opening};

pub(super) fn open<'a>(opening: &Opening<'a>) -> Barrier<'a> {
    let patience = Patience { spins: 0, then: Then::Sleep };
    Barrier(Form::Central(Central::new(opening, patience)))
}
