//! Desks: who serves whom, and what is filled for them.
//!
//! Must not know: how they are made.

use super::*;
use crate::plan::{Usage, show};

/// A desk `d` with a server, three tasks that ask, and these slices of a region `p`.
fn text(slices: &str, serve: &str, more: &str) -> String {
    format!(
        "about = 'x'\nduration = '1s'\n[desk.d]\n[memory.p]\nbytes = '10 KiB'\n{slices}\n\
         [team.s]\nsize = 2\nsteps = [ {{ {serve} }} ]\n\
         [team.a]\nsize = 3\nsteps = [ {{ ask = 'd' }} {more} ]\n"
    )
}

#[test]
fn each_who_asks_has_a_slice() {
    let check = |slices: &str, serve: &str, more: &str, expected: &[&str]| {
        let text = text(slices, serve, more);
        match Plan::new(&profile(&text), &host("core:2 pu:1"), &Overrides::default()) {
            Ok(_) => assert_eq!(expected, &[] as &[&str], "of {text}"),
            Err(error) => assert_eq!(faults(error), expected, "of {text}"),
        }
    };
    let fill = "serve = 'd', fill = 'p'";
    check("count = 3", fill, "", &[]);
    check("count = 3", "serve = 'd', fill = 'p', bytes = 100", ", { sweep = 'p[me]' }", &[]);
    check(
        "count = 5",
        fill,
        "",
        &["`p` has 5 slices, and 3 tasks ask at desk `d`; give each a slice: its `count` is the \
           number of these tasks"],
    );
    check(
        "count = 3",
        "serve = 'd', fill = 'p[me]'",
        "",
        &["who serves fills the slice of each task that it wakes; write `p`"],
    );
    check(
        "count = 3",
        fill,
        ", { chase = 'p[me]', count = 1 }",
        &["zeros would write over the way that `chase` goes in `p`; use another region"],
    );
    check(
        "count = 3",
        fill,
        ", { sweep = 'p[me]', halo = '10%', bytes = 100 }",
        &["`halo` is of the next slice, and `bytes` ends in this one; leave out one of them"],
    );
}

#[test]
fn processes_share_what_is_filled() {
    let text = |shared: &str| {
        let text = text(&format!("count = 3\nshared = '{shared}'"), "serve = 'd', fill = 'p'", "");
        text.replace("size = 3", "size = 3\nas = 'processes'")
    };
    let process = "each process has its own `p`, and desk `d` is theirs; add `shared = \
                   \"instance\"` to the region";
    let plan =
        |shared| Plan::new(&profile(&text(shared)), &host("core:2 pu:1"), &Overrides::default());
    assert_eq!(faults(plan("process").expect_err("own regions")), [process]);
    assert!(plan("all").is_ok());
}

#[test]
fn what_is_filled_is_used_by_who_serves() {
    let fill = "serve = 'd', fill = 'p', bytes = '100 B'";
    let text = text("count = 3", fill, ", { sweep = 'p[me]', access = 'zero', bytes = '100 B' }");
    let plan = planned(&text, &host("core:2 pu:1"));
    // No slice is of its asker alone, and who serves touches them in turn.
    assert_eq!(plan.usages(), [Usage::Slices(vec![None; 3])]);
    let touched: Vec<Vec<u32>> = (0..2).map(|me| plan.touches(0, 0, me)).collect();
    assert_eq!(touched, [vec![0, 2], vec![1]]);
    let shown = show(&plan);
    for line in ["serve d, fills p, 100B of a slice", "sweep p[me], zero, 100B"] {
        assert!(shown.contains(line), "{line} in {shown}");
    }
}

#[test]
fn what_has_no_bytes_is_not_filled() {
    let text = text("count = 4", "serve = 'd', fill = 'p', bytes = 0", "").replace("10 KiB", "0 B");
    let plan = planned(&text, &host("core:2 pu:1"));
    assert!(plan.memory.is_empty() && !show(&plan).contains("fills"));
}
