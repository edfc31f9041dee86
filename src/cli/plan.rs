//! `schedload plan`: what a profile comes to, on this machine or on one that is made up.
//!
//! Must not know: how a plan is made or shown.

use crate::cli::document;
use crate::cli::error::Error;
use crate::cli::exit::Exit;
use crate::cli::run::overrides;
use crate::cli::sink;
use crate::host::{Host, Topology};
use crate::plan::{self, Plan};
use crate::profile::Profile;
use clap::ArgMatches;

pub fn plan(matches: &ArgMatches, profile: &Profile) -> Result<Exit, Error> {
    let host = match matches.get_one::<String>("topology") {
        Some(topology) => made_up(topology)?,
        None => Host::read()?,
    };
    let plan = Plan::new(profile, &host, &overrides(matches, profile))?;
    let text = match matches.get_flag("json") {
        true => document::json("plan", &plan)?,
        false => plan::show(&plan),
    };
    sink::stdout(&text)?;
    Ok(Exit::Done)
}

/// A machine from an hwloc XML file, or from a synthetic description.
fn made_up(topology: &str) -> Result<Host, Error> {
    let file = topology.ends_with(".xml") || topology.contains('/');
    let made_up = match file {
        true => Topology::from_xml(topology),
        false => Topology::from_synthetic(topology),
    };
    let label = match file {
        true => topology.to_string(),
        false => format!("synthetic {topology}"),
    };
    Ok(Host::made_up(made_up.map_err(Error::Topology)?, label))
}
