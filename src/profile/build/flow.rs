//! Building the steps that decide about others, and amounts that vary.
//!
//! Must not know: how any of it is decided.

use crate::profile::{Action, Arm, Expr, Flow, Spread, Step, Word};

impl Step {
    /// Of this share of the team: `fixed`, `rotating` or `random` members.
    pub fn active(
        share: impl Into<Expr>,
        choose: &str,
        steps: impl IntoIterator<Item = Step>,
    ) -> Step {
        let (share, choose) = (share.into(), Word::from(choose));
        let steps = steps.into_iter().collect();
        Action::Flow(Box::new(Flow::Active { share, choose, steps })).into()
    }

    /// One of the arms, `random` or from a `deck`.
    pub fn choose(deal: &str, arms: impl IntoIterator<Item = Arm>) -> Step {
        let (arms, deal) = (arms.into_iter().collect(), Word::from(deal));
        Action::Flow(Box::new(Flow::Choose { arms, deal })).into()
    }

    /// At equal distances of time until the run ends.
    pub fn every(period: impl Into<Expr>, steps: impl IntoIterator<Item = Step>) -> Step {
        let (period, steps) = (period.into(), steps.into_iter().collect());
        Action::Flow(Box::new(Flow::Every { period, offset: None, count: None, steps })).into()
    }

    /// So often a second: `poisson`, `constant` or `burst`; `closed` is no oftener.
    pub fn arrive(
        rate: impl Into<Expr>,
        pattern: &str,
        steps: impl IntoIterator<Item = Step>,
    ) -> Step {
        let (rate, pattern, burst, awake) = (rate.into(), Word::from(pattern), None, None);
        let steps = steps.into_iter().collect();
        Action::Flow(Box::new(Flow::Arrive { rate, pattern, burst, awake, steps })).into()
    }

    pub fn arm(weight: impl Into<Expr>, steps: impl IntoIterator<Item = Step>) -> Arm {
        Arm { weight: weight.into(), steps: steps.into_iter().collect() }
    }

    /// The same with the time since the request arrived (`arrive`).
    pub fn measure_from_arrival(name: &str, steps: impl IntoIterator<Item = Step>) -> Step {
        let steps = steps.into_iter().collect();
        Action::Measure { name: Word::from(name), from: Some(Word::from("arrival")), steps }.into()
    }

    /// Lets the amount of such a step vary: `lognormal`, `exponential`, `uniform`.
    pub fn spread(mut self, of: &str, cv: impl Into<Expr>) -> Step {
        if let Action::Act { spread, .. } = &mut self.action {
            *spread = Some(Spread { of: Word::from(of), cv: Some(cv.into()) });
        }
        self
    }
}
