//! Who is active, and what is dealt, without anybody who does it.

use super::*;
use crate::plan::Amount;

fn active(choose: Choice, (size, n): (u32, u32), seed: u64, rounds: u64) -> Vec<Vec<u32>> {
    let lot = |me| Lot { me, size, n, choose, seed, round: 0 };
    let mut lots: Vec<Lot> = (0..size).map(lot).collect();
    let round = |_| {
        let members =
            (0..).zip(lots.iter_mut()).filter_map(|(me, lot)| lot.is_active().then_some(me));
        members.collect()
    };
    (0..rounds).map(round).collect()
}

#[test]
fn who_is_active_round_by_round() {
    let check = |choose, of, expected: &[&[u32]]| {
        assert_eq!(active(choose, of, 1, expected.len() as u64), expected, "{choose:?} {of:?}");
    };
    check(Choice::Fixed, (4, 2), &[&[0, 1], &[0, 1]]);
    check(Choice::Rotating, (4, 2), &[&[0, 1], &[2, 3], &[0, 1]]);
    check(Choice::Rotating, (4, 3), &[&[0, 1, 2], &[0, 1, 3], &[0, 2, 3], &[1, 2, 3]]);
    check(Choice::Rotating, (1, 1), &[&[0], &[0]]);
    check(Choice::Random, (3, 3), &[&[0, 1, 2], &[0, 1, 2]]);
}

#[test]
fn a_drawn_set_has_its_size_and_everybody_is_in_some() {
    for of @ (size, n) in [(1, 1), (7, 1), (7, 3), (64, 48), (300, 100)] {
        let rounds = active(Choice::Random, of, 3, 400);
        let mut turns = vec![0; size as usize];
        for members in &rounds {
            assert_eq!(members.len(), n as usize, "{of:?}");
            members.iter().for_each(|me| turns[*me as usize] += 1);
        }
        // Expected are 400 n / size with a standard deviation of at most 10.
        let expected = 400.0 * f64::from(n) / f64::from(size);
        let far = turns.iter().find(|turns| (f64::from(**turns) - expected).abs() > 60.0);
        assert_eq!(far, None, "{of:?}: {turns:?}");
        assert_eq!(rounds, active(Choice::Random, of, 3, 400), "the same by the same seed");
        let others = active(Choice::Random, of, 4, 400);
        assert_eq!(rounds != others, n < size, "{of:?} with another seed");
    }
}

/// So often each arm of these weights comes in `n` draws.
fn dealt(deal: Deal, weights: &[f64], n: u32) -> Vec<u32> {
    let arm = |weight: &f64| Op::Flow(Box::new(Flow::Arm { weight: *weight }));
    let ops: Vec<Op> = weights.iter().map(arm).collect();
    let arms: Vec<u32> = (0..ops.len() as u32).collect();
    let mut dealer = Dealer::new(deal, &arms, &ops);
    let mut random = Random::new(1, 1);
    let mut counts = vec![0; weights.len()];
    (0..n).for_each(|_| counts[dealer.next(&mut random)] += 1);
    counts
}

#[test]
fn a_deck_deals_each_card_once() {
    let check = |weights: &[f64], n, expected: &[u32]| {
        assert_eq!(dealt(Deal::Deck, weights, n), expected, "{weights:?}");
    };
    check(&[1.0], 3, &[3]);
    check(&[10.0, 1.0, 22.0], 33, &[10, 1, 22]);
    check(&[10.0, 1.0, 22.0], 330, &[100, 10, 220]);
    check(&[999.0, 1.0], 2_000, &[1_998, 2]);
}

#[test]
fn dice_have_their_weights() {
    assert_eq!(dealt(Deal::Random, &[5.0], 9), [9]);
    let counts = dealt(Deal::Random, &[0.5, 1.5, 6.0], 80_000);
    for (count, expected) in counts.iter().zip([5_000, 15_000, 60_000]) {
        // Standard deviations are 68, 110 and 122.
        assert!(u32::abs_diff(*count, expected) < 800, "{counts:?}");
    }
}

#[test]
fn a_deck_is_shuffled() {
    let ops: Vec<Op> = (0..52).map(|_| Op::Flow(Box::new(Flow::Arm { weight: 1.0 }))).collect();
    let arms: Vec<u32> = (0..52).collect();
    let mut dealer = Dealer::new(Deal::Deck, &arms, &ops);
    let mut random = Random::new(1, 1);
    let mut deck = || -> Vec<usize> { (0..52).map(|_| dealer.next(&mut random)).collect() };
    let (first, second) = (deck(), deck());
    assert_ne!(first, second);
    assert!(!first.is_sorted());
}

/// The times of a member's rounds (ns since the block began at 1000), each begun so long after its
/// time, and how many rounds were left out.
fn rounds(flow: &Flow, (me, size): (u32, u32), late_ns: u64, n: usize) -> (Vec<u64>, u64) {
    let mut pacer = Pacer::new(flow, me, size);
    let mut random = Random::new(1, me.into());
    let (mut times, mut missed) = (Vec::new(), 0);
    let mut goes_on = pacer.begin(1_000, &mut random);
    while goes_on && times.len() < n {
        times.push(pacer.due_ns() - 1_000);
        let next = pacer.next(pacer.due_ns() + late_ns, &mut random);
        goes_on = next.is_some();
        missed += next.unwrap_or(0);
    }
    (times, missed)
}

fn every(offset_ns: u64, count: Option<u64>) -> Flow {
    let (period, offset) = (Amount::Fixed(100), Amount::Fixed(offset_ns));
    Flow::Every { period, offset, count: count.map(Amount::Fixed), end: 0 }
}

#[test]
fn periods_are_kept_or_left_out() {
    let check = |flow: &Flow, late_ns, expected: &[u64], missed| {
        let found = rounds(flow, (0, 1), late_ns, 4);
        assert_eq!(found, (expected.to_vec(), missed), "{flow:?}, {late_ns} ns late");
    };
    check(&every(0, None), 0, &[0, 100, 200, 300], 0);
    check(&every(30, None), 0, &[30, 130, 230, 330], 0);
    check(&every(0, Some(2)), 0, &[0, 100], 0);
    check(&every(0, Some(0)), 0, &[], 0);
    check(&every(0, None), 99, &[0, 100, 200, 300], 0);
    // What took exactly the period has missed one.
    check(&every(0, None), 100, &[0, 200, 400, 600], 4);
    check(&every(0, Some(3)), 250, &[0, 300, 600], 4);
}

fn arrive(rate: u64, pattern: Pattern, burst: u32) -> Flow {
    Flow::Arrive { rate, pattern, burst, awake_ns: 0, end: 0 }
}

#[test]
fn arrivals_do_not_wait_for_each_other() {
    let check = |flow: &Flow, who, expected: &[u64]| {
        for late_ns in [0, 10_000_000_000] {
            let found = rounds(flow, who, late_ns, expected.len());
            assert_eq!(found, (expected.to_vec(), 0), "{flow:?}, {late_ns} ns late");
        }
    };
    let ms = |ms: &[u64]| -> Vec<u64> { ms.iter().map(|ms| ms * 1_000_000).collect() };
    check(&arrive(1_000, Pattern::Constant, 1), (0, 1), &ms(&[1, 2, 3]));
    // Of four members each has a quarter, between those of the others.
    check(&arrive(1_000, Pattern::Constant, 1), (0, 4), &ms(&[1, 5, 9]));
    check(&arrive(1_000, Pattern::Constant, 1), (3, 4), &ms(&[4, 8, 12]));
    check(&arrive(1_000, Pattern::Burst, 2), (0, 1), &ms(&[2, 2, 4, 4, 6]));
    // Who waits for answers asks no sooner for having waited: the distance is from its end.
    let (soon, _) = rounds(&arrive(1_000, Pattern::Closed, 1), (0, 1), 0, 9);
    let (late, _) = rounds(&arrive(1_000, Pattern::Closed, 1), (0, 1), 10_000_000_000, 9);
    assert_eq!(soon[0], late[0]);
    assert!(late.windows(2).all(|pair| pair[1] - pair[0] >= 10_000_000_000), "{late:?}");
    // 1300 years: later than any clock, and not soon.
    let (never, _) = rounds(&arrive(1, Pattern::Burst, u32::MAX), (9, 10), 0, 1);
    assert_eq!(never, [u64::MAX - 1_000]);
    // A third of a nanosecond does not add up.
    let (times, _) = rounds(&arrive(3_000_000, Pattern::Constant, 1), (0, 1), 0, 3_000_000);
    assert!(times.last().unwrap().abs_diff(1_000_000_000) <= 1);
}

#[test]
fn poisson_arrivals_have_their_rate_and_are_memoryless() {
    const N: usize = 100_000;
    let (times, _) = rounds(&arrive(1_000_000, Pattern::Poisson, 1), (0, 1), 0, N);
    let last = *times.last().unwrap() as f64;
    // 100 ms, with a standard deviation of 0.3.
    assert!((last - 1e8).abs() < 2e6, "{last}");
    let long = times.windows(2).filter(|pair| pair[1] - pair[0] > 2_000).count();
    // exp(-2) of them.
    assert!(long.abs_diff(13_534) < 700, "{long} of {N}");
    let (same, _) = rounds(&arrive(1_000_000, Pattern::Poisson, 1), (0, 1), 999, N);
    assert_eq!(times, same);
}
