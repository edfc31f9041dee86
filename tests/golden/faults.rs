//! Every bad profile under `faults/` with all that is said of it.
//!
//! A new one is a `.toml` file there; its text comes with UPDATE_GOLDEN=1. Must not know: how
//! faults are found.

use crate::{Golden, compare, files, no_leftovers};
use schedload::host::{Host, Topology};
use schedload::plan::{Overrides, Plan};
use schedload::profile::catalogue::load_file;
use std::path::Path;

/// What a user is told of the file: by the reader, or else when it is planned on two nodes.
fn told(path: &Path, host: &Host) -> String {
    let profile = match load_file(path) {
        Ok(profile) => profile,
        Err(error) => return format!("{error}\n"),
    };
    match Plan::new(&profile, host, &Overrides::default()) {
        Err(error) => format!("{error}\n"),
        Ok(_) => panic!("nothing is wrong with {}", path.display()),
    }
}

#[test]
fn of_bad_profiles() {
    let machine = "pack:2 [numa] l3:2 core:4 pu:2";
    let topology = Topology::from_synthetic(machine).unwrap();
    let host = Host::made_up(topology, machine);
    let golden = |path: &std::path::PathBuf| Golden {
        path: path.with_extension("txt"),
        text: told(path, &host),
    };
    let all: Vec<Golden> = files("faults", "toml").iter().map(golden).collect();
    assert!(all.len() >= 20, "the profiles were not found");
    no_leftovers("faults", "txt", &all);
    compare(&all);
}
