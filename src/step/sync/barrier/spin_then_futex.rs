//! Spins for a while, then sleeps: what libgomp's threads do between parallel regions.
//!
//! Must not know: why it spins as long as it does.

use super::super::waiting::{Patience, Then};
use super::central::Central;
use super::{Barrier, Form, Opening};

pub(super) fn open<'a>(opening: &Opening<'a>) -> Barrier<'a> {
    let patience = Patience { spins: opening.spins, then: Then::Sleep };
    Barrier(Form::Central(Central::new(opening, patience)))
}
