//! Plans of whole profiles on made-up machines: what they hold, and what stands against them.

mod desk;
mod faults;
mod flow_faults;
mod memory_faults;
mod plans;
mod processes;
mod property;
mod refusals;
mod sync;

use super::{Overrides, Plan, PlanError};
use crate::host::{Host, Topology};
use crate::profile::{Profile, Source};

/// Two nodes with two LLCs of two cores each, two threads a core: 16 CPUs.
const TWO_NODES: &str = "pack:2 [numa] l3:2 core:2 pu:2";

fn host(machine: &str) -> Host {
    Host::made_up(Topology::from_synthetic(machine).unwrap(), "made up")
}

fn profile(text: &str) -> Profile {
    let source = Source { path: "test.toml".to_owned(), text: text.to_owned() };
    Profile::parse("test", source).unwrap_or_else(|faults| panic!("{faults}"))
}

fn overrides(params: &[(&str, &str)]) -> Overrides {
    let params = params.iter();
    Overrides {
        params: params.map(|(name, value)| (name.to_string(), value.to_string())).collect(),
        ..Overrides::default()
    }
}

fn planned(text: &str, host: &Host) -> Plan {
    Plan::new(&profile(text), host, &Overrides::default()).unwrap_or_else(|why| panic!("{why}"))
}

/// The messages of all faults, with their help.
fn faults(error: PlanError) -> Vec<String> {
    match error {
        PlanError::Faults(faults) => faults
            .list
            .into_iter()
            .map(|fault| match fault.help {
                Some(help) => format!("{}; {help}", fault.message),
                None => fault.message,
            })
            .collect(),
        PlanError::Host(refusals) => panic!("refused: {refusals:?}"),
    }
}
