//! Who is active, and what is dealt, without anybody who does it.

use super::*;

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
