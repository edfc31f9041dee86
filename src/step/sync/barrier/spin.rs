//! Never sleeps, as MPI's ranks that poll: always runnable. Where tasks outnumber their CPUs it
//! yields after a while, since those who spin would keep out who has to come for whole slices.
//!
//! Must not know: sleeping.

use super::super::waiting::{Patience, Then};
use super::central::Central;
use super::{Barrier, Form, Opening};

pub(super) fn open<'a>(opening: &Opening<'a>) -> Barrier<'a> {
    let then = if opening.crowded { Then::Yield } else { Then::Spin };
    let patience = Patience { spins: opening.spins, then };
    Barrier(Form::Central(Central::new(opening, patience)))
}
