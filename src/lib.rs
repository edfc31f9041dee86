//! schedload: synthetic multithreaded workloads for Linux scheduler and NUMA work.
//!
//! A [`Profile`] says which threads exist, who wakes whom and what they touch; a [`Host`] says
//! what machine this is; [`Plan::new`] checks one against the other; [`run`] makes real threads
//! of it and returns a [`Recording`]; [`Report::judge`] turns that into numbers with their doubts.
//!
//! The modules are listed from the lowest floor up: each may use only those above it here.

pub mod base;

pub mod host;
pub mod profile;
pub mod sys;

pub mod metric;
pub mod record;
pub mod step;

pub mod plan;

pub mod run;

pub mod report;

pub mod compat;
pub mod output;

#[cfg(feature = "cli")]
pub mod cli;

pub use host::Host;
pub use plan::Plan;
pub use profile::Profile;
pub use record::Recording;
pub use report::Report;
