//! Processes of an instance: which teams, regions and channels are in them, and what may not be.

use super::*;
use crate::plan::{Space, show};

/// A client and a server with channels of this kind between them, and what else the profile has.
fn pair(kind: &str, more: &str) -> String {
    format!(
        "about = 'x'\n{more}\n[process.client]\n[process.server]\n\
         [channel.ask]\nkind = '{kind}'\n[channel.reply]\nkind = '{kind}'\n\
         [team.client]\nsize = 1\nprocess = 'client'\nsteps = [ {{ send = 'ask' }}, \
         {{ receive = 'reply' }} ]\n\
         [team.server]\nsize = 1\nprocess = 'server'\nsteps = [ {{ receive = 'ask' }}, \
         {{ send = 'reply' }} ]\n"
    )
}

/// Two processes and teams `a` and `b` with these keys; `b` has these steps.
fn two(a: &str, b: &str, steps: &str) -> String {
    format!(
        "[process.one]\n[process.two]\n\
         [team.a]\nsize = 1\n{a}\nsteps = [ {{ spin = '1us' }} ]\n\
         [team.b]\nsize = 1\n{b}\nsteps = [ {steps} ]\n"
    )
}

const SPIN: &str = "{ spin = '1us' }";

fn check(text: &str, expected: &[&str]) {
    let text = format!("about = 'x'\n{text}");
    match Plan::new(&profile(&text), &host(TWO_NODES), &Overrides::default()) {
        Ok(_) => assert_eq!(expected, &[] as &[&str], "of {text}"),
        Err(error) => assert_eq!(faults(error), expected, "of {text}"),
    }
}

#[test]
fn of_who_is_where() {
    let (one, two_) = ("process = 'one'", "process = 'two'");
    check(&two(one, two_, SPIN), &[]);
    check(
        &two(one, "", SPIN),
        &["team `b` is in no process; give it a `process`; known are one, two"],
    );
    check(&two(one, "process = 'twoo'", SPIN), &["unknown process `twoo`; did you mean `two`?"]);
    check(
        "[team.a]\nsize = 1\nprocess = 'db'\nsteps = [ { spin = '1us' } ]",
        &["unknown process `db`; add `[process.db]`"],
    );
    check(
        &two(one, &format!("{two_}\nas = 'processes'"), SPIN),
        &["team `b` is threads of a process, and processes itself; leave out `process`, or `as`: \
           to be threads of a process is the default"],
    );
    // A word that a parameter stands for.
    let param = "[param]\nplace = { default = 'one', choices = [ 'one', 'two' ], about = 'p' }\n";
    check(&format!("{param}{}", two("process = 'place'", two_, SPIN)), &[]);
}

#[test]
fn of_what_is_only_within_a_process() {
    let spawned = "process = 'one'\nstart = 'spawned'";
    check(
        &two(spawned, "process = 'two'", "{ spawn = 'a' }"),
        &["team `a` is in another process than who spawns it; a task can only start threads of \
           its own process"],
    );
    check(&two(spawned, "process = 'one'", "{ spawn = 'a' }, { join = 'a' }"), &[]);
    let spawner =
        "[team.main]\nsize = 1\nprocess = 'one'\nsteps = [ { spawn = 'a' }, { join = 'a' } ]";
    check(
        &(two(spawned, "process = 'two'", "{ join = 'a' }") + spawner),
        &["team `a` has another address space than who joins it; make the team that joins it \
           threads of its process"],
    );
    let touched = |shared: &str| {
        format!(
            "[memory.area]\nbytes = 1\nfirst_touch = 'a'\nshared = '{shared}'\n{}",
            two("process = 'one'", "process = 'two'", "{ sweep = 'area' }")
        )
    };
    check(
        &touched("process"),
        &["team `a`, which touches region `area` first, is in another process than team `b`, \
           which uses it; add `shared = \"instance\"`, or let its owner touch it"],
    );
    check(&touched("instance"), &[]);
    check(&touched("all"), &[]);
}

#[test]
fn channels_that_cannot_are_refused_between_them() {
    let refused = |kind: &str| {
        let message = format!(
            "`{kind}` does not work between processes, and team `server` is in another than team \
             `client`; kinds that do: "
        );
        let text = pair(kind, "");
        let error = Plan::new(&profile(&text), &host(TWO_NODES), &Overrides::default());
        let told = faults(error.unwrap_err());
        assert!(told.iter().any(|told| told.starts_with(&message)), "{told:?}");
    };
    ["queue", "condvar"].into_iter().for_each(refused);
    for kind in ["futex", "pipe", "socketpair", "tcp", "eventfd"] {
        let plan = planned(&pair(kind, ""), &host(TWO_NODES));
        assert!(plan.channels.iter().all(|channel| channel.across_processes), "{kind}");
    }
    // Within one it may be anything, whatever others there are.
    let text = pair("queue", "").replace("process = 'server'", "process = 'client'");
    let plan = planned(&text, &host(TWO_NODES));
    assert!(plan.channels.iter().all(|channel| !channel.across_processes));
    assert_eq!(plan.notes, ["no team is in process `server`, so it is left out"]);
    assert_eq!(plan.n_processes(), 1);
}

/// `instance process copies: teams` of each.
fn spaces(text: &str) -> Vec<String> {
    let plan = planned(&format!("about = 'x'\n{text}"), &host(TWO_NODES));
    let spaces = plan.spaces();
    assert_eq!(spaces.len(), plan.n_spaces());
    for (at, space) in spaces.iter().enumerate() {
        assert_eq!(space.number, at);
        for copy in space.copies.clone() {
            assert_eq!(plan.instance(copy), space.instance);
            assert_eq!(plan.is_first_in_space(copy), copy == space.copies.start);
            assert!(space.teams.iter().all(|team| plan.space_of(copy, *team) == at));
        }
    }
    let show = |Space { instance, process, copies, teams, .. }| {
        format!("{instance} {process} {copies:?}: {teams:?}")
    };
    spaces.into_iter().map(show).collect()
}

#[test]
fn every_task_is_in_one_address_space() {
    let teams = |a: &str, b: &str| {
        format!(
            "[team.a]\nsize = 2\n{a}\nsteps = [ {SPIN} ]\n\
             [team.b]\nsize = 1\n{b}\nsteps = [ {SPIN} ]"
        )
    };
    let threads = teams("", "");
    let mixed = teams("as = 'processes'", "");
    let check = |text: &str, expected: &[&str]| assert_eq!(spaces(text), expected, "of {text}");
    check(&threads, &["0 0 0..1: [0, 1]"]);
    check(&format!("copies = 3\n{threads}"), &["0 0 0..3: [0, 1]"]);
    check(&format!("copies = 2\n{mixed}"), &["0 0 0..1: [0, 1]", "0 0 1..2: [0, 1]"]);
    let both = "copies = 2\ninstances = 2\n";
    check(&format!("{both}{threads}"), &["0 0 0..2: [0, 1]", "1 0 2..4: [0, 1]"]);
    check(&format!("{both}{mixed}"), &["0 0 0..2: [0, 1]", "1 0 2..4: [0, 1]"]);
    let tables = "[process.p]\n[process.q]\n[process.nobody]\n";
    let apart = tables.to_owned() + &teams("process = 'q'", "process = 'p'");
    check(&apart, &["0 0 0..1: [1]", "0 1 0..1: [0]"]);
    check(
        &format!("{both}{apart}"),
        &["0 0 0..2: [1]", "0 1 0..2: [0]", "1 0 2..4: [1]", "1 1 2..4: [0]"],
    );
}

/// A region of 1 MiB that is shared so; the client sweeps it, and the server if it does too.
fn with_memory(shared: &str, server_too: bool) -> String {
    let area = format!("instances = 3\n[memory.area]\nbytes = '1 MiB'\nshared = '{shared}'");
    let text = pair("pipe", &area);
    let sweep = "steps = [ { sweep = 'area' }, ";
    match server_too {
        true => text.replace("steps = [ ", sweep),
        false => text.replacen("steps = [ ", sweep, 1),
    }
}

#[test]
fn regions_are_in_the_processes_that_use_them() {
    let check = |shared: &str, server_too, in_instance: u64, in_all: u64| {
        let plan = planned(&with_memory(shared, server_too), &host(TWO_NODES));
        assert_eq!(plan.n_mappings(0), in_instance, "{shared}");
        assert_eq!(plan.bytes_in_instance(0), in_instance << 20, "{shared}");
        let without = planned(&pair("pipe", "instances = 3"), &host(TWO_NODES));
        // The rest of the difference is a word for each address.
        let more = plan.needs.memory_bytes - without.needs.memory_bytes;
        assert_eq!(more >> 20, in_all, "{shared}");
        let has = [0, 1].map(|process| plan.has(process, 0));
        assert_eq!(has, [true, server_too]);
    };
    check("process", true, 2, 6);
    check("process", false, 1, 3);
    check("instance", true, 1, 3);
    check("instance", false, 1, 3);
    check("all", true, 1, 1);
}

#[test]
fn the_first_that_sees_a_region_touches_it() {
    let check = |shared: &str, expected: [bool; 2]| {
        let plan = planned(&with_memory(shared, true), &host(TWO_NODES));
        assert_eq!([0, 1].map(|team| plan.is_toucher(0, team)), expected, "{shared}");
        let slices = |team| plan.touches(0, team, 0);
        let expected = expected.map(|touches| if touches { vec![0] } else { vec![] });
        assert_eq!([0, 1].map(slices), expected, "{shared}");
    };
    check("process", [true, true]);
    check("instance", [true, false]);
    check("all", [true, false]);
}

#[test]
fn needs_are_those_of_the_largest() {
    // Each pipe has two descriptors; those of all copies of an instance are open at once.
    let needs = |more: &str| planned(&pair("pipe", more), &host(TWO_NODES)).needs;
    let one = needs("");
    assert_eq!(needs("copies = 5").open_files - one.open_files, 4 * 2 * 2);
    assert_eq!(needs("instances = 5").open_files, one.open_files);
    // Stack and guard of each thread of a process.
    assert_eq!(needs("copies = 5").mappings - one.mappings, 4 * 2);
    assert_eq!(needs("instances = 5").mappings, one.mappings);
    assert_eq!(needs("instances = 5").tasks, 10);
}

#[test]
fn the_plan_tells_of_them() {
    let text = with_memory("process", true)
        .replace("[process.server]\n", "[process.server]\nabout = 'keeps the rows'\n");
    let plan = planned(&text, &host(TWO_NODES));
    let shown = show(&plan);
    for line in [
        "  process  3 instances, each 2 address spaces\n    client (client)\n    \
         server (server): keeps the rows\n",
        "  area: 1.00 MiB, first touched by its owner, in client and in server\n",
    ] {
        assert!(shown.contains(line), "`{line}` is not in\n{shown}");
    }
    let names = [(0, 0), (2, 1)].map(|(copy, team)| plan.process_name(copy, team));
    let expected = ["process `client` of instance 0", "process `server` of instance 2"];
    assert_eq!(names, expected.map(|it| Some(it.to_owned())));
}

/// A cgroup is of an instance, which there then is.
#[test]
fn an_instance_of_processes_may_have_a_cgroup() {
    let plan = planned(&pair("pipe", ""), &host(TWO_NODES));
    assert!(plan.own_processes && plan.has_processes());
    let text = pair("pipe", "cgroup = { weight = 20 }");
    match Plan::new(&profile(&text), &host(TWO_NODES), &Overrides::default()) {
        Ok(plan) => assert_eq!(plan.cgroups.len(), 1),
        // The made-up host has no cgroups, and says so.
        Err(PlanError::Host(refusals)) => assert_eq!(refusals.len(), 1),
        Err(PlanError::Faults(faults)) => panic!("{faults}"),
    }
}
