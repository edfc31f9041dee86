//! The values of a sweep: lists, ranges, and the sizes at which a machine's behaviour changes.
//!
//! Must not know: what the values are for; the plan of each point finds what is wrong with it.

use crate::base::Unit;
use crate::cli::error::Error;
use crate::host::{Host, Topology};
use crate::profile::Expr;
use std::collections::BTreeSet;

/// More points than this are a slip of the pen.
const POINTS_MAX: usize = 1000;

/// The values of one item of a list: `4`, `1..cpus`, `1..64:4`, `1..64*2`, `topology`.
pub fn values(item: &str, host: &Host) -> Result<Vec<String>, Error> {
    match item.split_once("..") {
        _ if item == "topology" => Ok(topology(host).into_iter().map(|n| n.to_string()).collect()),
        Some((first, rest)) => range(item, first, rest, host),
        None => Ok(vec![item.to_string()]),
    }
}

/// Numbers of tasks at which something changes: one, two, what fills an LLC, a node, shares of the
/// machine, and around the imbalance that the load balancer lets nodes have.
fn topology(host: &Host) -> BTreeSet<u32> {
    let facts = host.topology.facts(&host.allowed);
    let imbalance = Topology::imb_numa_nr(&host.topology);
    let cpus = facts.cpus;
    let all = [
        1,
        2,
        facts.cpus_per_llc,
        facts.cpus_per_node,
        cpus / 4,
        cpus / 3,
        cpus / 2,
        cpus * 2 / 3,
        cpus,
        cpus * 2,
        imbalance - 1,
        imbalance,
        imbalance + 1,
    ];
    all.into_iter().filter(|n| *n > 0).collect()
}

/// How a range goes on.
enum Step {
    By(f64),
    Times(f64),
}

fn range(item: &str, first: &str, rest: &str, host: &Host) -> Result<Vec<String>, Error> {
    let refuse = |why: String| Err(Error::Usage(format!("--sweep: `{item}` {why}; {HELP}")));
    let (last, step) = match (outside_brackets(rest, ':'), outside_brackets(rest, '*')) {
        (Some(at), _) => (&rest[..at], Some((':', &rest[at + 1..]))),
        (None, Some(at)) => (&rest[..at], Some(('*', &rest[at + 1..]))),
        (None, None) => (rest, None),
    };
    let number = |text: &str| number(item, text, host);
    let ((first, unit), (last, _)) = (number(first)?, number(last)?);
    // Tasks and the like are whole.
    let whole = |value: f64| if unit == Unit::Count { value.floor() } else { value };
    let (first, last) = (whole(first), whole(last));
    let step = match step {
        None => Step::By(1.0),
        Some((':', by)) => Step::By(number(by)?.0),
        Some((_, factor)) => Step::Times(number(factor)?.0),
    };
    let goes_on = match step {
        Step::By(by) => by > 0.0,
        Step::Times(factor) => factor > 1.0 && first > 0.0,
    };
    if first > last {
        return refuse(format!("has no points: it would begin at {first} and end at {last}"));
    }
    if !goes_on {
        return refuse("would never end".to_owned());
    }
    let next = |at: &f64| match step {
        Step::By(by) => Some(at + by),
        Step::Times(factor) => Some(whole(at * factor).max(at + 1.0)),
    };
    let points = std::iter::successors(Some(first), next).take_while(|at| *at <= last);
    let points: Vec<f64> = points.take(POINTS_MAX + 1).collect();
    if points.len() > POINTS_MAX {
        return refuse(format!("has more than {POINTS_MAX} points"));
    }
    Ok(points.into_iter().map(|at| Expr::number(at, unit).text).collect())
}

const HELP: &str = "a range is written as 1..cpus, 1..64:4 (steps of 4) or 1..64*2 (doubling)";

/// The place of the last such character outside of brackets.
fn outside_brackets(text: &str, wanted: char) -> Option<usize> {
    let mut depth = 0_i32;
    let mut found = None;
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ if c == wanted && depth == 0 => found = Some(at),
            _ => {}
        }
    }
    found
}

/// A number over the machine's facts, and what it counts.
fn number(item: &str, text: &str, host: &Host) -> Result<(f64, Unit), Error> {
    let facts = host.topology.facts(&host.allowed);
    let refuse = |why: String| Error::Usage(format!("--sweep: `{item}`: {why}; {HELP}"));
    let expr = Expr::parse(text.trim(), 0).map_err(|fault| refuse(fault.message))?;
    let value = expr.eval(&|name| facts.get(name)).map_err(|error| refuse(error.to_string()))?;
    let unit = expr.unit(&|_| Some(Unit::Count)).map_err(|error| refuse(error.to_string()))?;
    Ok((value, unit.unwrap_or(Unit::Count)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(machine: &str) -> Host {
        Host::made_up(Topology::from_synthetic(machine).unwrap(), "made up")
    }

    /// Two nodes with two LLCs of two cores each, two threads a core: 16 CPUs.
    const TWO_NODES: &str = "pack:2 [numa] l3:2 core:2 pu:2";

    #[test]
    fn items_become_points() {
        let check = |item: &str, expected: &str| {
            assert_eq!(values(item, &host(TWO_NODES)).unwrap().join(" "), expected, "{item}");
        };
        check("4", "4");
        check("min(2, cpus)", "min(2, cpus)");
        check("1..4", "1 2 3 4");
        check("3..3", "3");
        check("1..cpus_per_llc", "1 2 3 4");
        check("1..10:4", "1 5 9");
        check("1..cpus*2", "1 2 4 8 16");
        check("1..(cpus*2):8", "1 9 17 25");
        check("2..20*1.5", "2 3 4 6 9 13 19");
        check("1KiB..16KiB*4", "1KiB 4KiB 16KiB");
        check("1ms..3ms:1ms", "1ms 2ms 3ms");
        check("cpus / 4..6", "4 5 6");
    }

    #[test]
    fn the_sizes_of_a_machine() {
        let check = |machine: &str, expected: &str| {
            let points = values("topology", &host(machine)).unwrap();
            assert_eq!(points.join(" "), expected, "{machine}");
        };
        check("core:1 pu:1", "1 2");
        check("core:2 pu:1", "1 2 4");
        // Two LLCs a node.
        check(TWO_NODES, "1 2 3 4 5 8 10 16 32");
        // One LLC of 40: an eighth is 5.
        check("pack:2 [numa] l3:1 core:20 pu:2", "1 2 4 5 6 20 26 40 53 80 160");
        // Eight LLCs of 16.
        check("pack:1 [numa] l3:8 core:8 pu:2", "1 2 7 8 9 16 32 42 64 85 128 256");
    }

    #[test]
    fn what_is_no_range_is_refused() {
        let check = |item: &str, expected: &str| {
            let error = values(item, &host(TWO_NODES)).unwrap_err().to_string();
            assert!(error.contains(expected), "{item}: {error}");
        };
        check("4..1", "has no points: it would begin at 4 and end at 1");
        check("1..4:0", "would never end");
        check("1..4*1", "would never end");
        check("0..4*2", "would never end");
        check("1..2000", "has more than 1000 points");
        check("1..", "`1..`");
        check("1..cpsu", "unknown name `cpsu`");
        check("1..2..3", "a range is written as");
    }
}
