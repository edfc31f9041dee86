//! Where tasks and pages were over time, drawn: a line of blocks for each node.
//!
//! Readable without colour. A cell is as high as the share of the instance's tasks, or of the
//! region's pages. Must not know: what is good or bad about a place.

use super::layout::{NONE, lines, wrapped};
use crate::base::unit;
use crate::report::{InstanceTimeline, RegionTimeline, Run, Timeline};
use std::collections::BTreeSet;

/// Longer names are cut.
const NAME: usize = 12;
/// ` 100 % →   0 %` at the right.
const NOTE: usize = 16;
/// More lines than this nobody reads; the JSON document has all.
const MOST_ROWS: usize = 64;
const HEIGHTS: [&str; 8] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
const NOTHING: &str = "·";
const UNKNOWN: &str = "?";

/// One line: what, where, and how much of it at each look (0 to 1).
struct Row {
    what: String,
    place: String,
    shares: Vec<Option<f64>>,
    /// How the first and the last known are printed: of tasks, of looks that saw any.
    note: String,
}

/// `None` for a run without looks.
pub(super) fn section(run: &Run, width: usize) -> Option<String> {
    let timeline = run.timeline.as_ref().filter(|it| !it.at_s.is_empty())?;
    let groups: Vec<(u32, Vec<Row>, Vec<String>)> =
        timeline.instances.iter().map(|it| (it.instance, rows(it), unknown(it))).collect();
    let longest = |of: fn(&Row) -> &str| {
        let rows = groups.iter().flat_map(|(_, rows, _)| rows);
        rows.map(|row| of(row).chars().count()).max().unwrap_or(0)
    };
    let (what, place) = (longest(|row| &row.what), longest(|row| &row.place));
    let left = what + place + 3;
    let n = width.saturating_sub(2 + left + NOTE).min(most_columns(timeline));
    let mut text = wrapped("", &title(timeline, n), width);
    let mut drawn = 0;
    for (instance, rows, unknown) in &groups {
        if drawn > 0 && drawn + rows.len() > MOST_ROWS {
            text += &wrapped("  ", "the other instances are in the JSON document", width);
            break;
        }
        drawn += rows.len();
        if groups.len() > 1 {
            text += &format!("  instance {instance}\n");
        }
        for row in rows {
            let cells = drawn_cells(&timeline.at_s, &row.shares, n);
            let line = format!("{:what$} {:place$}  {cells}  {}", row.what, row.place, row.note);
            text += &lines(&line);
        }
        text += &unknown.iter().map(|line| wrapped("  ", line, width)).collect::<String>();
    }
    text += &lines(&format!("{:left$}{}", "", axis(timeline, n)));
    text += &mark(run, timeline, left, n);
    text += &empty(timeline, width);
    Some(text)
}

/// Fewer columns than looks lose some; more than a few for each look show nothing more.
fn most_columns(timeline: &Timeline) -> usize {
    if timeline.at_s.len() == 1 { 1 } else { 120 }
}

fn title(timeline: &Timeline, n: usize) -> String {
    format!(
        "tasks and pages by node over time{}: {} looks, one each {}; a column is {}, █ all of the \
         instance's tasks or of the region's pages, {NOTHING} none, {UNKNOWN} not known",
        methods(timeline),
        timeline.at_s.len(),
        unit::time(timeline.interval_s * 1e9).to_owned() + &longest(timeline),
        unit::time(span(timeline) / n.max(1) as f64 * 1e9)
    )
}

/// ` (2.25 s at the longest)`, where looks were put off: what happened between two is not known any
/// better.
fn longest(timeline: &Timeline) -> String {
    let gaps = timeline.at_s.windows(2).map(|pair| pair[1] - pair[0]);
    let longest = gaps.fold(0.0, f64::max);
    match longest > timeline.interval_s * 1.5 {
        true => format!(" ({} at the longest)", unit::time(longest * 1e9)),
        false => String::new(),
    }
}

/// ` (move_pages sample)`; reports of older versions do not tell.
fn methods(timeline: &Timeline) -> String {
    let regions = timeline.instances.iter().flat_map(|it| &it.regions);
    let names: BTreeSet<&str> = regions.filter_map(|it| it.method.as_deref()).collect();
    match names.is_empty() {
        true => String::new(),
        false => format!(" ({})", names.into_iter().collect::<Vec<_>>().join(", ")),
    }
}

fn span(timeline: &Timeline) -> f64 {
    match (timeline.at_s.first(), timeline.at_s.last()) {
        (Some(first), Some(last)) => last - first,
        _ => 0.0,
    }
}

fn rows(instance: &InstanceTimeline) -> Vec<Row> {
    let n = (0..).take(instance.tasks.first().map_or(0, |node| node.tasks.len()));
    let total =
        |at: usize| instance.tasks.iter().filter_map(|node| *node.tasks.get(at)?).sum::<u32>();
    let most = f64::from(n.map(total).max().unwrap_or(0)).max(1.0);
    let used = |counts: &[Option<u32>]| counts.iter().flatten().any(|n| *n > 0);
    // Before they begin and when all have left there are none anywhere, which is no news.
    let at_all =
        |(at, n): (usize, &Option<u32>)| Some(n.as_ref().filter(|_| total(at) > 0)?.to_string());
    let mut rows = Vec::new();
    for node in instance.tasks.iter().filter(|node| used(&node.tasks)) {
        rows.push(Row {
            what: first_of("tasks", rows.is_empty()),
            place: format!("node {}", node.node),
            shares: node.tasks.iter().map(|n| Some(f64::from((*n)?) / most)).collect(),
            note: ends(&node.tasks.iter().enumerate().map(at_all).collect::<Vec<_>>()),
        });
    }
    for region in &instance.regions {
        let places = region.pages.iter().map(|it| (format!("node {}", it.node), &it.pages));
        let places = places.chain([("not seen".to_owned(), &region.absent)]);
        let mut is_first = true;
        for (place, counts) in places.filter(|(_, counts)| used(counts)) {
            let shares: Vec<Option<f64>> =
                counts.iter().enumerate().map(|(at, n)| share(region, at, *n)).collect();
            let percent = |share: &Option<f64>| Some(format!("{:.0} %", (*share)? * 100.0));
            rows.push(Row {
                what: first_of(&region.region, is_first),
                place,
                note: ends(&shares.iter().map(percent).collect::<Vec<_>>()),
                shares,
            });
            is_first = false;
        }
    }
    rows
}

/// The name of a group stands in its first line only.
fn first_of(name: &str, is_first: bool) -> String {
    let cut: String = name.chars().take(NAME).collect();
    if is_first { cut } else { String::new() }
}

fn share(region: &RegionTimeline, at: usize, n: Option<u32>) -> Option<f64> {
    let nodes = region.pages.iter().filter_map(|node| *node.pages.get(at)?);
    let total = nodes.sum::<u32>() + region.absent.get(at).copied().flatten()?;
    (total > 0).then_some(f64::from(n?) / f64::from(total))
}

/// `2 → 0`: the first known and the last.
fn ends(printed: &[Option<String>]) -> String {
    let mut known = printed.iter().flatten();
    let first = known.next().map_or(NONE, String::as_str);
    let last = known.next_back().map_or(first, String::as_str);
    format!("{first:>5} → {last}")
}

/// Regions of which no look told.
fn unknown(instance: &InstanceTimeline) -> Vec<String> {
    let known = |region: &&RegionTimeline| region.absent.iter().any(Option::is_some);
    let regions = instance.regions.iter().filter(|region| !known(region));
    regions
        .map(|region| {
            let reason = region.reason.as_deref().unwrap_or("nobody looked");
            format!("{} not known: {reason}", region.region)
        })
        .collect()
}

/// The mean of the looks that fall into each of `n` columns of equal time; where there are fewer
/// looks than columns, the last look holds until the next.
fn columns(at_s: &[f64], values: &[Option<f64>], n: usize) -> Vec<Option<f64>> {
    let (Some(begin), Some(end)) = (at_s.first(), at_s.last()) else {
        return Vec::new();
    };
    let column = |at: f64| {
        let part = (at - begin) / (end - begin);
        // The last look is at the very end of the last column.
        if part.is_nan() { 0 } else { ((part * n as f64) as usize).min(n.saturating_sub(1)) }
    };
    let mut held = None;
    let mut looks = at_s.iter().zip(values).peekable();
    (0..n)
        .map(|at| {
            let mut here = Vec::new();
            while let Some((_, value)) = looks.next_if(|(time, _)| column(**time) == at) {
                here.push(*value);
            }
            let known: Vec<f64> = here.iter().copied().flatten().collect();
            let Some(last) = here.last() else { return held };
            held = *last;
            let mean = known.iter().sum::<f64>() / known.len() as f64;
            (!known.is_empty()).then_some(mean)
        })
        .collect()
}

/// What is above 0 is never invisible, and only all of it is a full block.
fn drawn_cells(at_s: &[f64], shares: &[Option<f64>], n: usize) -> String {
    let cell = |share: Option<f64>| match share {
        None => UNKNOWN,
        Some(share) if share <= 0.0 => NOTHING,
        Some(share) => {
            HEIGHTS[((share * 7.0).ceil() as usize).min(8) - 1 + usize::from(share >= 1.0)]
        }
    };
    columns(at_s, shares, n).into_iter().map(cell).collect()
}

/// `0 s         5.9 s         11.8 s` below the columns.
fn axis(timeline: &Timeline, n: usize) -> String {
    let time = |s: f64| if s == 0.0 { "0 s".to_owned() } else { unit::time(s * 1e9) };
    let begin = timeline.at_s.first().copied().unwrap_or(0.0);
    let (first, last) = (time(begin), time(begin + span(timeline)));
    let half = time(begin + span(timeline) / 2.0);
    let length = |text: &str| text.chars().count();
    let (from, to) = (n / 2, n.saturating_sub(length(&last)));
    match from > length(&first) && to > from + length(&half) {
        true => format!("{first:from$}{half:rest$}{last}", rest = to - from),
        false => format!("{first} to {last}"),
    }
}

/// Where the worker of a trial began.
fn mark(run: &Run, timeline: &Timeline, left: usize, n: usize) -> String {
    let begun = run.trial.as_ref().and_then(|trial| Some((trial.begun_s?, &trial.team)));
    let (Some((at, team)), Some(begin)) = (begun, timeline.at_s.first()) else {
        return String::new();
    };
    let part = ((at - begin) / span(timeline)).clamp(0.0, 1.0);
    let at = if part.is_nan() { 0 } else { (part * n.saturating_sub(1) as f64) as usize };
    let words = format!("{team} began");
    let line = match at > n / 2 {
        true => format!("{words:>at$} ^", at = at.saturating_sub(1)),
        false => format!("{:at$}^ {words}", ""),
    };
    lines(&format!("{:left$}{line}", ""))
}

/// Nodes that no line is about.
fn empty(timeline: &Timeline, width: usize) -> String {
    let used = |counts: &[Option<u32>]| counts.iter().flatten().any(|n| *n > 0);
    let mut nodes: Vec<(u32, bool)> = Vec::new();
    for instance in &timeline.instances {
        let tasks = instance.tasks.iter().map(|it| (it.node, used(&it.tasks)));
        let regions = instance.regions.iter().flat_map(|region| &region.pages);
        for (node, used) in tasks.chain(regions.map(|it| (it.node, used(&it.pages)))) {
            match nodes.iter_mut().find(|(known, _)| *known == node) {
                Some((_, any)) => *any |= used,
                None => nodes.push((node, used)),
            }
        }
    }
    let empty: Vec<String> =
        nodes.iter().filter(|(_, used)| !used).map(|(node, _)| node.to_string()).collect();
    match empty.is_empty() {
        true => String::new(),
        false => {
            let text = format!("nothing was ever seen on node {}", empty.join(", "));
            wrapped("  ", &text, width)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_of_equal_time() {
        let check = |at_s: &[f64], values: &[Option<f64>], n, expected: &[Option<f64>]| {
            assert_eq!(columns(at_s, values, n), expected, "{at_s:?} {n}");
        };
        let all = |values: &[f64]| values.iter().map(|value| Some(*value)).collect::<Vec<_>>();
        check(&[], &[], 4, &[]);
        check(&[1.0], &all(&[0.5]), 1, &all(&[0.5]));
        check(&[0.0, 4.0], &all(&[0.0, 1.0]), 4, &all(&[0.0, 0.0, 0.0, 1.0]));
        check(&[0.0, 1.0, 2.0, 3.0, 4.0], &all(&[0.0, 1.0, 0.5, 0.5, 0.8]), 2, &all(&[0.5, 0.6]));
        // One look that told stands for those beside it that did not.
        check(&[0.0, 1.0, 2.0], &[Some(1.0), None, None], 2, &[Some(1.0), None]);
        check(
            &[0.0, 1.0, 4.0],
            &[Some(1.0), None, Some(0.0)],
            4,
            &[Some(1.0), None, None, Some(0.0)],
        );
    }

    #[test]
    fn cells_tell_none_some_and_all() {
        let check = |share: Option<f64>, expected: &str| {
            assert_eq!(drawn_cells(&[0.0], &[share], 1), expected, "{share:?}");
        };
        check(None, "?");
        check(Some(0.0), "·");
        check(Some(0.001), "▁");
        check(Some(0.5), "▄");
        check(Some(0.999), "▇");
        check(Some(1.0), "█");
    }
}
