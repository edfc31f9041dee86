//! Sync objects: who comes to them, how they wait here, and what stands against them.
//!
//! Must not know: how they are made.

use super::*;
use crate::plan::{SyncSort, show};

fn check(text: &str, expected: &[&str]) {
    let text = format!("about = 'x'\n{text}");
    match Plan::new(&profile(&text), &host("core:2 pu:1"), &Overrides::default()) {
        Ok(_) => assert_eq!(expected, &[] as &[&str], "of {text}"),
        Err(error) => assert_eq!(faults(error), expected, "of {text}"),
    }
}

/// A barrier `b`, a lock `l` of 2, a commit `c`, a safepoint `s`; then teams.
fn with_objects(teams: &str) -> String {
    format!(
        "[barrier.b]\n[lock.l]\ncount = 2\n[lock.m]\n[commit.c]\nflush = '1us'\n[safepoint.s]\n\
         {teams}"
    )
}

fn team(name: &str, keys: &str, steps: &str) -> String {
    format!("[team.{name}]\n{keys}\nsteps = [ {steps} ]\n")
}

#[test]
fn who_comes_to_a_barrier() {
    let check = |text: &str, parties: u32, members: u32| {
        let plan = planned(&format!("about = 'x'\n{text}"), &host("core:16 pu:1"));
        let SyncSort::Barrier { parties: found, .. } = plan.syncs[0].sort else {
            panic!("no barrier");
        };
        assert_eq!((found, plan.syncs[0].members), (parties, members), "of {text}");
    };
    let b = "{ barrier = 'b' }";
    let all = |more: &str| {
        let a = team("a", "size = 3", &format!("{b}, {b}"));
        format!("copies = 2\n[barrier.b]\n{more}\n{a}{}", team("z", "size = 2", b))
    };
    check(&format!("duration = '1s'\n{}", all("")), 5, 5);
    check(&format!("duration = '1s'\n{}", all("parties = 2")), 2, 5);
    // Who leaves it out does not come.
    let some = team("a", "size = 3", "{ repeat = 'min(me, 1)', steps = [ { barrier = 'b' } ] }");
    check(&format!("[barrier.b]\n{some}"), 2, 3);
}

#[test]
fn spinning_is_capped_where_tasks_outnumber_cpus() {
    let check = |size: u32, keys: &str, team_keys: &str, expected: (u32, bool)| {
        let text = format!(
            "about = 'x'\n[barrier.b]\n{keys}\n{}",
            team("a", &format!("size = {size}\n{team_keys}"), "{ barrier = 'b' }")
        );
        let plan = planned(&text, &host("core:4 pu:1"));
        let SyncSort::Barrier { spins, crowded, .. } = plan.syncs[0].sort else {
            panic!("no barrier");
        };
        assert_eq!((spins, crowded), expected, "of {text}");
        let noted = plan.notes.iter().any(|note| note.contains("rounds of spinning"));
        assert_eq!(noted, crowded && !keys.contains("'futex'"), "{:?}", plan.notes);
    };
    check(4, "", "", (300_000, false));
    check(5, "", "", (1_000, true));
    check(5, "spins = 7", "", (7, true));
    check(3, "", "on = 'cpus:0-1'", (1_000, true));
    check(5, "kind = 'spin'", "", (1_000, true));
    check(5, "kind = 'futex'", "", (300_000, true));
}

#[test]
fn of_barriers() {
    let pair = |a: &str, b: &str| {
        let text = format!("{}{}", team("a", "size = 2", a), team("z", "size = 1", b));
        format!("[barrier.b]\n{text}")
    };
    let times = |n: &str| format!("{{ repeat = '{n}', steps = [ {{ barrier = 'b' }} ] }}");
    check(&pair(&times("3"), &times("3")), &[]);
    check(
        &pair(&times("3"), &times("2")),
        &["the run would never end: each a comes to `b` 3 times, z 0 only 2; let all members \
             come equally often, or give a duration"],
    );
    check(
        &pair(&times("me + 1"), &times("1")),
        &["the run would never end: a 1 comes to `b` 2 times, a 0 only 1; let all members come \
             equally often, or give a duration"],
    );
    let text = pair(&times("3"), &times("2"));
    check(&format!("duration = '1s'\n{text}"), &[]);
    check(
        "[barrier.b]\nparties = 3\n[team.a]\nsize = 2\nsteps = [ { barrier = 'b' } ]",
        &["barrier `b` wants 3 parties, and only 2 come to it; ask for fewer parties"],
    );
    let three = |times: &str| {
        let steps = format!("{{ repeat = '{times}', steps = [ {{ barrier = 'b' }} ] }}");
        format!("[barrier.b]\nparties = 2\n{}", team("a", "size = 3", &steps))
    };
    check(&three("2"), &[]);
    check(
        &three("3"),
        &["the run would never end: tasks come to `b` 9 times in all, one 3 times, and 2 make a \
             round; leave out `parties`, or give a duration"],
    );
    check(
        &three("1 + 2 * max(me - 1, 0)"),
        &["the run would never end: tasks come to `b` 5 times in all, one 3 times, and 2 make a \
             round; leave out `parties`, or give a duration"],
    );
    check(
        "[barrier.b]\nkind = 'neighbour'\nparties = 2\n[team.a]\nsize = 3\n\
         steps = [ { barrier = 'b' } ]",
        &["`neighbour` wants all members of its teams: 3 of 3 come to `b`, and 2 make a round; \
             leave out `parties`, and let every member come to it"],
    );
    check(
        "[barrier.b]\nkind = 'spinn'\n[team.a]\nsize = 2\nsteps = [ { barrier = 'b' } ]",
        &["unknown kind of barrier `spinn`; did you mean `spin`?"],
    );
}

#[test]
fn of_locks() {
    let locks = |steps: &str| with_objects(&team("a", "size = 2", steps));
    let inside = |outer: &str, inner: &str| {
        format!(
            "{{ lock = '{outer}', steps = [ {{ lock = '{inner}', steps = [ {{ spin = '1us' }} ] }} \
             ] }}"
        )
    };
    check(&locks(&inside("l[me]", "m")), &[]);
    check(
        &locks(&inside("l[0]", "l[1]")),
        &["a lock of `l` is taken by who has one; two tasks could each wait for the other's: use \
             a table for each level"],
    );
    let two = format!("{}, {}", inside("l[any]", "m"), inside("m", "l[next]"));
    check(
        &locks(&two),
        &[
            "`m` is taken inside `l` here, and elsewhere the other way round; two tasks could \
             each wait for the other's: take them in one order",
            "`l` is taken inside `m` here, and elsewhere the other way round; two tasks could \
             each wait for the other's: take them in one order",
        ],
    );
    let one = |which: &str, more: &str| {
        locks(&format!("{{ lock = '{which}', {more}steps = [ {{ spin = '1us' }} ] }}"))
    };
    check(
        &one("l[me + 1]", ""),
        &["`me + 1` for member 1 gives 2, and the lock of `l` (count 2) must be at most 1"],
    );
    check(
        &one("l[*]", ""),
        &["a task takes one lock of a table at a time; write `l[any]`, `l[me]` or `l[next]`"],
    );
    check(
        &one("l[me]", "skew = 1, "),
        &["`skew` is of a lock at random; write `l[any]`, or leave it out"],
    );
    check(
        &locks("{ lock = 'm', steps = [ { forever = [ { spin = '1us' } ] } ] }"),
        &["this `lock` never ends: put it inside `forever`"],
    );
    check(
        "[lock.l]\nkind = 'mutex'\n[team.a]\nsize = 2\nas = 'processes'\n\
         steps = [ { lock = 'l', steps = [ { spin = '1us' } ] } ]",
        &["`mutex` does not work between processes, and the members of team `a` are processes; \
             kinds that do: futex, per_cpu"],
    );
}

#[test]
fn of_safepoints() {
    let collects = team("a", "size = 1", "{ collect = 's' }");
    let helps = |keys: &str, steps: &str| team("h", &format!("size = 1\n{keys}"), steps);
    let pause = "{ pause = 's', steps = [ { spin = '1us' } ] }";
    let forever = format!("{{ forever = [ {pause} ] }}");
    let with = |help: &str| with_objects(&format!("{collects}{help}"));
    check(&with(&helps("background = true", &forever)), &[]);
    check(
        &with(&helps("background = true", pause)),
        &["team `h` may end before the last pause; put `pause` inside `forever`, in a team with \
             `background = true`"],
    );
    check(&format!("duration = '1s'\n{}", with(&helps("", pause))), &[]);
    check(
        &with_objects(&helps("background = true", &forever)),
        &[
            "team `h` waits for a pause of `s`, which nobody asks for; add a step `collect`",
            "all teams are in the background: the run would end as it begins; give a duration: \
             `--duration 10s`, or `duration = \"10s\"` in the profile",
        ],
    );
    check(
        &with(&helps("background = true", &format!("{{ safepoint = 's' }}, {forever}"))),
        &["team `h` would help in pauses that it parks in; let another team help"],
    );
}

#[test]
fn names_are_of_all_sorts() {
    let text = "about = 'x'\n[barrier.x]\n[lock.x]\n[team.a]\nsize = 1\nsteps = [ \
                { barrier = 'y' }, { commit = 'x' } ]";
    let source = Source { path: String::new(), text: text.to_owned() };
    let faults = Profile::parse("test", source).unwrap_err();
    let messages: Vec<&str> = faults.list.iter().map(|fault| fault.message.as_str()).collect();
    let expected = ["`x` is a barrier already", "unknown barrier `y`", "unknown commit `x`"];
    assert_eq!(messages, expected);
}

#[test]
fn a_plan_shows_them() {
    let teams = [
        team(
            "a",
            "size = 3",
            "{ barrier = 'b' }, { lock = 'l[any]', skew = 0.9, steps = [ { commit = 'c' } ] }, \
             { lock = 'm', steps = [ { spin = '1us' } ] }, { collect = 's' }, { safepoint = 's' }",
        ),
        team(
            "h",
            "size = 2\nbackground = true",
            "{ forever = [ { pause = 's', steps = [ { spin = '5us' } ] } ] }",
        ),
    ];
    let text = format!("about = 'x'\n{}", with_objects(&teams.concat()));
    let shown = show(&planned(&text, &host("core:2 pu:1")));
    let from = shown.find("sync objects").unwrap();
    let until = shown.find("\nneeds").unwrap();
    insta::assert_snapshot!(&shown[from..until]);
    let notes = shown.find("\nnotes").unwrap();
    insta::assert_snapshot!(&shown[notes..]);
}
