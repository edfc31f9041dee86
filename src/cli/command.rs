//! The command line as clap sees it: subcommands, flags, help.
//!
//! Must not know: what a flag does. The flags of a profile's own parameters are added by
//! `param.rs`, once it is known which profile is meant.

use crate::cli::exit;
use crate::output;
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, Command, ValueHint, value_parser};
use clap_complete::Shell;

/// The heading of the flags that every profile has.
const RUN_HEADING: &str = "Run";
const OUTPUT_HEADING: &str = "Output";

/// The front door.
pub fn schedload() -> Command {
    schedload_with(Vec::new())
}

/// The front door for a profile whose parameters have these flags.
pub fn schedload_with(flags: Vec<Arg>) -> Command {
    Command::new("schedload")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Synthetic multithreaded workloads for Linux scheduler and NUMA work")
        .after_help(exit::HELP)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(run(flags.clone()))
        .subcommand(list())
        .subcommand(show())
        .subcommand(plan(flags))
        .subcommand(host())
        .subcommand(report())
        .subcommand(completions())
}

/// A program of one profile, such as `schedload-pingpong`; a value of the parameter `word` may also
/// be its first argument.
pub fn standalone(program: String, about: String, flags: Vec<Arg>, word: Option<&str>) -> Command {
    let command = match word {
        None => Command::new(program.clone()).after_help(exit::HELP),
        Some(word) => {
            let first = word.to_uppercase();
            Command::new(program.clone())
                .override_usage(format!("{program} [{first}] [OPTIONS]"))
                .after_help(format!("{first} stands for `--{word} {first}`.\n\n{}", exit::HELP))
        }
    };
    command
        .version(env!("CARGO_PKG_VERSION"))
        .about(about)
        .args(flags)
        .args(plan_args())
        .args(run_args())
}

fn run(flags: Vec<Arg>) -> Command {
    Command::new("run")
        .override_usage("schedload run PROFILE [PARAMETERS OF THE PROFILE] [OPTIONS]")
        .about("Run a profile and report what the scheduler did with it")
        .after_help(format!(
            "PROFILE comes before the parameters that are its own; `schedload run PROFILE --help` \
             lists them.\n\n{}",
            exit::HELP
        ))
        .arg(profile())
        .args(flags)
        .args(plan_args())
        .args(run_args())
}

fn list() -> Command {
    let topics = ["profiles", "channels", "sync", "work", "metrics", "formats"];
    Command::new("list")
        .about("List the profiles, or the kinds of things that profiles and reports are made of")
        .arg(
            Arg::new("topic")
                .value_name("TOPIC")
                .help("What to list")
                .value_parser(PossibleValuesParser::new(topics))
                .default_value("profiles"),
        )
}

fn show() -> Command {
    Command::new("show").about("Print the file of a profile as it is").arg(profile()).arg(
        Arg::new("params")
            .long("params")
            .action(ArgAction::SetTrue)
            .help("Print its parameters instead: name, default, range, what it is"),
    )
}

fn plan(flags: Vec<Arg>) -> Command {
    Command::new("plan")
        .override_usage("schedload plan PROFILE [PARAMETERS OF THE PROFILE] [OPTIONS]")
        .about("Show what a profile comes to on this machine, or on another, and run nothing")
        .arg(profile())
        .args(flags)
        .args(plan_args())
        .arg(Arg::new("topology").long("topology").value_name("XML|SYNTHETIC").help(
            "Plan for this machine instead: an hwloc XML file (lstopo --of xml FILE) or a \
                     synthetic description, as in 'pack:2 [numa] l3:2 core:4 pu:2'",
        ))
        .arg(json_switch("Print the plan as JSON"))
}

fn host() -> Command {
    Command::new("host")
        .about("Show what this machine is, what it allows, and what can be measured on it")
        .arg(json_switch("Print it as JSON"))
}

fn report() -> Command {
    Command::new("report")
        .about("Print stored reports again, perhaps in another format")
        .arg(
            Arg::new("files")
                .value_name("FILE")
                .required(true)
                .action(ArgAction::Append)
                .num_args(1..)
                .value_hint(ValueHint::FilePath)
                .help("Stored reports (`schedload run --json FILE`); - for stdin"),
        )
        .args([format(), out(), width()])
}

fn completions() -> Command {
    Command::new("completions").about("Print a completion script for a shell").arg(
        Arg::new("shell")
            .value_name("SHELL")
            .required(true)
            .value_parser(value_parser!(Shell))
            .help("Whose script"),
    )
}

fn profile() -> Arg {
    // In capitals, as no parameter can be called.
    Arg::new("PROFILE")
        .value_name("PROFILE")
        .required(true)
        .value_hint(ValueHint::FilePath)
        .help("Name of a built-in profile (`schedload list`), or path of a file")
}

/// What, beside the profile's own parameters, decides a plan.
fn plan_args() -> [Arg; 4] {
    let arg = |name: &'static str| Arg::new(name).long(name).help_heading(RUN_HEADING);
    [
        arg("duration").value_name("TIME").help("Length of the measured window, as in 10s"),
        arg("warmup").value_name("TIME").help("Time before the window opens, as in 1s"),
        arg("seed")
            .value_name("N")
            .value_parser(value_parser!(u64))
            .help("Seed of all that is random"),
        arg("allow-single-node")
            .action(ArgAction::SetTrue)
            .help("Run a profile about NUMA nodes on a machine without: a smoke test"),
    ]
}

fn run_args() -> [Arg; 8] {
    let repeat = Arg::new("repeat")
        .long("repeat")
        .value_name("N")
        .value_parser(value_parser!(u32).range(1..=1000))
        .default_value("1")
        .help_heading(RUN_HEADING)
        .help("Run this often; every run is kept in the report (1 to 1000)");
    let sweep = Arg::new("sweep")
        .long("sweep")
        .value_name("NAME=V1,A..B,..")
        .help_heading(RUN_HEADING)
        .help(
            "Run for each value of a parameter in turn; values are expressions, as in \
             groups=1,cpus/2,cpus, and ranges: 1..cpus, 1..64:4 (steps of 4), 1..64*2 \
             (doubling). groups=topology is 1, 2, the CPUs of an LLC and of a node, 1/4, 1/3, \
             1/2, 2/3, all and twice the CPUs, and around imb_numa_nr, the kernel's limit of \
             imbalance between nodes. Text has one line for each, JSON is one document",
        );
    let json = Arg::new("json").long("json").value_name("FILE").help_heading(OUTPUT_HEADING).help(
        "Store the report as JSON, rewritten as a whole after every run; - prints it to \
             stdout, and nothing else",
    );
    let quiet = Arg::new("quiet")
        .long("quiet")
        .short('q')
        .action(ArgAction::SetTrue)
        .help_heading(OUTPUT_HEADING)
        .help("No progress, and no report but into the files asked for");
    let plot = Arg::new("plot")
        .long("plot")
        .value_name("FILE.svg")
        .value_hint(ValueHint::FilePath)
        .help_heading(OUTPUT_HEADING)
        .help("Draw where tasks and pages were over time, for profiles with memory");
    [repeat, sweep, json, format(), out(), width(), plot, quiet]
}

fn format() -> Arg {
    Arg::new("format")
        .long("format")
        .value_name("NAME")
        .value_parser(PossibleValuesParser::new(output::FORMATS.iter().map(|row| row.name)))
        .default_value("text")
        .help_heading(OUTPUT_HEADING)
        .help("Form of the report")
}

fn out() -> Arg {
    Arg::new("out")
        .long("out")
        .value_name("FILE")
        .value_hint(ValueHint::FilePath)
        .help_heading(OUTPUT_HEADING)
        .help("Write the report to this file instead of stdout")
}

fn width() -> Arg {
    Arg::new("width")
        .long("width")
        .value_name("COLUMNS")
        .value_parser(value_parser!(u16).range(80..=1000))
        .help_heading(OUTPUT_HEADING)
        .help("Width of the text (80 to 1000); by default 100, on a terminal its own up to 120")
}

fn json_switch(about: &'static str) -> Arg {
    Arg::new("json").long("json").action(ArgAction::SetTrue).help(about)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::keys::FLAGS;
    use std::collections::BTreeSet;

    #[test]
    fn parameters_can_take_no_flag_of_the_command_line() {
        let all = [run(Vec::new()), plan(Vec::new())];
        let flags = all.iter().flat_map(Command::get_arguments);
        let flags = flags.filter_map(|arg| Some((arg.get_long()?, arg.get_short())));
        // These are clap's own.
        let own = [("help", Some('h')), ("version", Some('V'))];
        let taken: BTreeSet<_> = flags.chain(own).collect();
        assert_eq!(taken, FLAGS.iter().copied().collect(), "profile::keys::FLAGS");
    }
}
