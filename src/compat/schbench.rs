//! The command line of schbench, so that schedload can stand in for it: parameters of the profile
//! `schbench` in. Its lines of output are in `schbench_lines.rs`.
//!
//! Must not know: how the run is made, what is printed.

use crate::base::{CpuId, CpuList};
use crate::compat::getopt::{self, Added, GetoptError, Given, Row, Value};
use crate::compat::schbench_lines as lines;

/// A command line of schbench, with the few options that schedload adds to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    pub messages: u64,
    /// Workers of each message thread; `None`: all CPUs shared out.
    pub threads: Option<u64>,
    pub runtime_s: u64,
    pub warmup_s: u64,
    pub interval_s: u64,
    /// Between two times that the interval's numbers begin anew; `None`: never.
    pub zero_s: Option<u64>,
    pub footprint_kib: u64,
    pub operations: u64,
    pub sleep_us: u64,
    pub calibrate: Calibrate,
    pub locking: Locking,
    /// Requests that arrive in a second, of all message threads; 0: workers ask.
    pub rps: u64,
    /// Percent of the CPUs' time that they are to be busy, for which a rate is looked for.
    pub auto_rps: Option<u64>,
    /// Bytes that are written at a wake, in place of requests; 0: requests.
    pub pipe_bytes: u64,
    /// Percent of footprint and operations that are a worker's own.
    pub split: Option<u64>,
    pub message_cpus: Pins,
    pub worker_cpus: Pins,
    /// Where its JSON goes; `-` is stdout.
    pub json: Option<String>,
    pub jobname: Option<String>,
    /// What was given of schedload's own options.
    pub added: Added,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Calibrate {
    No,
    /// The sleep is not in a request, and there is no lock.
    Yes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Locking {
    PerCpu,
    None,
}

/// What `-r 0` stands for, to be ended by a signal: about as long as a plan can be (104 days).
const FOREVER_S: u64 = 9_000_000;

/// Where threads may run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pins {
    Anywhere,
    /// Each message thread on a CPU of its own, workers on the others.
    Auto,
    Cpus(CpuList),
}

/// What a wakeup latency is counted from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stamps {
    /// When the message thread took the list that the worker was on.
    OfBatches,
    /// The worker's own wake.
    OfWakes,
}

/// What the command line asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    Run(Box<Options>),
    Help,
}

/// Why a command line was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UsageError {
    #[error(transparent)]
    Getopt(#[from] GetoptError),
    #[error("`{value}` of option `{option}` is not a percentage from 0 to 100")]
    Percent { option: String, value: String },
    #[error("`{value}` of option `{option}` is neither `auto` nor a list of CPUs such as 0-3,8")]
    Cpus { option: String, value: String },
}

/// The most bytes that pass at a wake.
const PIPE_MAX: u64 = 1 << 20;

/// The rate at which the search for one begins.
const FIRST_RPS: u64 = 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    Messages,
    Threads,
    Runtime,
    Warmup,
    Interval,
    Zero,
    Footprint,
    Operations,
    Sleep,
    Calibrate,
    NoLocking,
    Rps,
    AutoRps,
    Pipe,
    Split,
    MessageCpus,
    WorkerCpus,
    Json,
    Jobname,
    Help,
    /// For the caller.
    Added,
}

const OPTIONS: getopt::Options<Meaning> = getopt::Options {
    original: &[
        Row::valued("message-threads", 'm', Meaning::Messages, "threads that wake workers [1]"),
        Row::valued("threads", 't', Meaning::Threads, "workers of each [CPUs / message threads]"),
        Row::valued("runtime", 'r', Meaning::Runtime, "seconds, 0: until a signal [30]"),
        Row::valued("cache_footprint", 'F', Meaning::Footprint, "KiB of matrices [256]"),
        Row::valued("operations", 'n', Meaning::Operations, "multiplications in a request [5]"),
        Row::valued("sleep_usec", 's', Meaning::Sleep, "sleep in a request, in us [100]"),
        Row::valued("warmuptime", 'w', Meaning::Warmup, "seconds before, not measured [0]"),
        Row::valued("intervaltime", 'i', Meaning::Interval, "seconds between two reports [10]"),
        Row::valued("zerotime", 'z', Meaning::Zero, "seconds after which these begin anew"),
        Row::switch("calibrate", 'C', Meaning::Calibrate, "no lock, no sleep in requests"),
        Row::switch("no-locking", 'L', Meaning::NoLocking, "multiply without lock"),
        Row::valued("rps", 'R', Meaning::Rps, "requests a second as an open loop [0: workers ask]"),
        Row::valued(
            "auto-rps",
            'A',
            Meaning::AutoRps,
            "find the rate at which CPUs are so busy, in %",
        ),
        Row::valued(
            "pipe",
            'p',
            Meaning::Pipe,
            "bytes to write at each wake, in place of requests",
        ),
        Row::valued(
            "message-cpus",
            'M',
            Meaning::MessageCpus,
            "CPUs for message threads, each on one, or auto",
        ),
        Row::valued(
            "worker-cpus",
            'W',
            Meaning::WorkerCpus,
            "CPUs for workers, or auto: those that are left",
        ),
        Row::valued("json", 'j', Meaning::Json, "write schbench's JSON to this file, or -"),
        Row::valued("jobname", 'J', Meaning::Jobname, "a name that is put in there"),
        Row::long("split", Value::Needed, Meaning::Split, "percent of the matrices not shared"),
        Row::long("help", Value::None, Meaning::Help, "print this"),
    ],
    added: &[
        Row::long("report", Value::None, Meaning::Added, "print schedload's report to stdout"),
        Row::long("report-json", Value::Needed, Meaning::Added, "write it as JSON to this file"),
        Row::long("seed", Value::Needed, Meaning::Added, "seed of all that is random"),
        Row::long("quiet", Value::None, Meaning::Added, "no progress on a terminal"),
    ],
};

impl Default for Options {
    /// What schbench does without any option.
    fn default() -> Options {
        Options {
            messages: 1,
            threads: None,
            runtime_s: 30,
            warmup_s: 0,
            interval_s: 10,
            zero_s: None,
            footprint_kib: 256,
            operations: 5,
            sleep_us: 100,
            calibrate: Calibrate::No,
            locking: Locking::PerCpu,
            rps: 0,
            auto_rps: None,
            pipe_bytes: 0,
            split: None,
            message_cpus: Pins::Anywhere,
            worker_cpus: Pins::Anywhere,
            json: None,
            jobname: None,
            added: Added::default(),
        }
    }
}

/// Reads the arguments after the program's name.
pub fn parse(args: &[String]) -> Result<Request, UsageError> {
    let mut options = Options::default();
    for given in OPTIONS.split(args)? {
        match given.row.meaning {
            Meaning::Help => return Ok(Request::Help),
            Meaning::Messages => options.messages = given.number()?,
            Meaning::Threads => options.threads = Some(given.number()?),
            Meaning::Runtime => {
                options.runtime_s =
                    Some(given.number_from(0)?).filter(|s| *s > 0).unwrap_or(FOREVER_S);
            }
            Meaning::Warmup => options.warmup_s = given.number_from(0)?,
            Meaning::Interval => options.interval_s = given.number()?,
            Meaning::Zero => options.zero_s = Some(given.number_from(0)?).filter(|s| *s > 0),
            Meaning::Footprint => options.footprint_kib = given.number_from(0)?,
            Meaning::Operations => options.operations = given.number_from(0)?,
            Meaning::Sleep => options.sleep_us = given.number_from(0)?,
            Meaning::Calibrate => options.calibrate = Calibrate::Yes,
            Meaning::NoLocking => options.locking = Locking::None,
            Meaning::Rps => options.rps = given.number_from(0)?,
            Meaning::AutoRps => options.auto_rps = Some(percent(&given)?).filter(|it| *it > 0),
            Meaning::Pipe => options.pipe_bytes = given.number_from(0)?,
            Meaning::Split => options.split = Some(percent(&given)?),
            Meaning::MessageCpus => options.message_cpus = pins(given.option, given.value)?,
            Meaning::WorkerCpus => options.worker_cpus = pins(given.option, given.value)?,
            Meaning::Json => options.json = given.value,
            Meaning::Jobname => options.jobname = given.value,
            Meaning::Added => options.added.push(given),
        }
    }
    if options.auto_rps.is_some() && options.rps == 0 {
        options.rps = FIRST_RPS;
    }
    // Either word is for both.
    if options.message_cpus == Pins::Auto || options.worker_cpus == Pins::Auto {
        (options.message_cpus, options.worker_cpus) = (Pins::Auto, Pins::Auto);
    }
    Ok(Request::Run(Box::new(options)))
}

fn percent(given: &Given<Meaning>) -> Result<u64, UsageError> {
    let value = given.value.clone().unwrap_or_default();
    let number = value.parse().ok().filter(|number| *number <= 100);
    number.ok_or_else(|| UsageError::Percent { option: given.option.clone(), value })
}

fn pins(option: String, value: Option<String>) -> Result<Pins, UsageError> {
    let value = value.unwrap_or_default();
    if value == "auto" {
        return Ok(Pins::Auto);
    }
    match value.parse::<CpuList>() {
        Ok(cpus) if !cpus.is_empty() => Ok(Pins::Cpus(cpus)),
        _ => Err(UsageError::Cpus { option, value }),
    }
}

impl Options {
    /// Workers of each message thread on so many CPUs.
    pub fn threads(&self, cpus: u64) -> u64 {
        self.threads.unwrap_or(cpus.div_ceil(self.messages))
    }

    /// Bytes that pass at a wake.
    pub fn pipe(&self) -> u64 {
        self.pipe_bytes.min(PIPE_MAX)
    }

    /// Which stamps wakeup latencies are told by.
    pub fn stamps(&self) -> Stamps {
        match (self.rps, self.pipe_bytes) {
            (0, 0) => Stamps::OfBatches,
            _ => Stamps::OfWakes,
        }
    }

    /// Lines about what was not said, or will not be done, on these CPUs; but for the first they
    /// are schbench's.
    pub fn remarks(&self, allowed: &CpuList) -> Vec<String> {
        let mut remarks = Vec::new();
        if self.pipe_bytes > PIPE_MAX {
            let asked = self.pipe_bytes;
            remarks.push(format!("warning: --pipe {asked} is too large, {PIPE_MAX} bytes pass\n"));
        }
        if self.message_cpus == Pins::Auto {
            remarks.push("auto pinning message and worker threads\n".to_string());
        }
        if self.threads.is_none() {
            let threads = self.threads(allowed.len() as u64);
            remarks.push(format!("setting worker threads to {threads}\n"));
        }
        remarks.extend(self.split.map(|own| lines::split(self.footprint_kib, own)));
        let pins: Vec<CpuId> = match &self.message_cpus {
            Pins::Anywhere => Vec::new(),
            Pins::Auto => allowed.iter().take(self.messages as usize).collect(),
            Pins::Cpus(cpus) => cpus.iter().collect(),
        };
        let pinned = (0..self.messages).zip(pins.iter().cycle());
        remarks.extend(pinned.map(|(n, cpu)| lines::pinned(n, *cpu)));
        remarks
    }

    /// The parameters of the `schbench` profile that do the same on these CPUs.
    pub fn params(&self, allowed: &CpuList) -> Vec<(String, String)> {
        let [message_on, worker_on] = self.places(allowed);
        let message_spread = if message_on == "any" { "none" } else { "cpu" };
        let locked = (self.locking, self.calibrate) == (Locking::PerCpu, Calibrate::No);
        let pairs = [
            ("messages", self.messages.to_string()),
            ("threads", self.threads(allowed.len() as u64).to_string()),
            ("footprint", format!("{} KiB", self.footprint_kib)),
            ("operations", self.operations.to_string()),
            ("private", format!("{}%", self.split.unwrap_or(100))),
            ("sleep", format!("{}us", self.sleep_us)),
            // The kernel's, as the original has it.
            ("timer_slack", "50us".to_string()),
            ("locking", u8::from(locked).to_string()),
            ("calibrate", u8::from(self.calibrate == Calibrate::Yes).to_string()),
            ("pipe", format!("{} B", self.pipe())),
            ("rps", self.rps.to_string()),
            ("message_on", message_on),
            ("message_spread", message_spread.to_string()),
            ("worker_on", worker_on),
        ];
        pairs.map(|(name, value)| (name.to_string(), value)).into()
    }

    /// Where message threads and workers may run, as a profile says it.
    fn places(&self, allowed: &CpuList) -> [String; 2] {
        let of = |pins: &Pins, auto: CpuList| match pins {
            Pins::Auto if !auto.is_empty() => format!("cpus:{auto}"),
            Pins::Anywhere | Pins::Auto => "any".to_string(),
            Pins::Cpus(cpus) => format!("cpus:{cpus}"),
        };
        let first = allowed.iter().take(self.messages as usize).collect::<CpuList>();
        let rest = allowed.without(&first);
        [of(&self.message_cpus, first), of(&self.worker_cpus, rest)]
    }
}

/// What `--help` prints.
pub fn help() -> String {
    let intro = "Stands in for schbench: workers that ask a message thread for each request, and\n\
                 how long their wakeups and requests take.\n\n\
                 Usage: schedload-schbench [option ...]\n\n";
    let note = "Its lines go to stderr. With --rps requests arrive at times of their own, and\n\
                wakeups are those of workers that slept. --auto-rps looks for a rate, from that\n\
                of --rps or 10 on, in runs of a second; the run that is measured has that rate\n\
                from its begin to its end: one that followed the kernel under test would give\n\
                two kernels different work. With --pipe nothing is printed on the way. SIGINT\n\
                ends a run, and what was measured until then is printed.";
    intro.to_owned() + &OPTIONS.help("schbench", note)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Request, UsageError> {
        let args: Vec<String> = line.split_whitespace().map(str::to_string).collect();
        parse(&args)
    }

    fn options(line: &str) -> Options {
        match parsed(line) {
            Ok(Request::Run(options)) => *options,
            other => panic!("{line:?} gave {other:?}"),
        }
    }

    #[test]
    fn reads_options_as_schbench_does() {
        let default = Options::default;
        let check = |line: &str, expected: Options| assert_eq!(options(line), expected, "{line}");
        check("", default());
        check("-m 2 -t16", Options { messages: 2, threads: Some(16), ..default() });
        check("--message-threads=2 --thr 16", options("-m 2 -t 16"));
        // The original takes this and does nothing.
        check("--cache_footprint 1 -r 60", Options { footprint_kib: 1, ..options("-r 60") });
        check("-n 0 -s 0", Options { operations: 0, sleep_us: 0, ..default() });
        check("-z 0", default());
        check("-r 0", Options { runtime_s: FOREVER_S, ..default() });
        check("-p 0 -A 0", default());
        check("-A 50", Options { auto_rps: Some(50), rps: 10, ..default() });
        check("-A 50 -R 700", Options { auto_rps: Some(50), rps: 700, ..default() });
        check("-L -M auto", Options { locking: Locking::None, ..options("-W auto") });
        check("-j - -J name", options("--jobname name --json -"));
    }

    #[test]
    fn refuses_what_schbench_lets_pass() {
        let check = |line: &str, expected: &str| {
            let error = parsed(line).expect_err(line).to_string();
            assert!(error.starts_with(expected), "for {line}: {error}");
        };
        check("-m 0", "`0` of option `-m` is not a whole number from 1 to");
        check("-n 1x", "`1x` of option `-n` is not a whole number from 0 to");
        check("--split 101", "`101` of option `--split` is not a percentage");
        check("-M 3-x", "`3-x` of option `-M` is neither `auto` nor a list");
        check("-M=", "`=` of option `-M` is neither `auto` nor a list");
        check("--message-cpus=", "`` of option `--message-cpus` is neither `auto` nor a list");
        check("-A 101", "`101` of option `-A` is not a percentage");
        check("-p 1x", "`1x` of option `-p` is not a whole number from 0 to");
        check("foo", "unexpected operand `foo`");
        assert_eq!(parsed("--help -m 0"), Ok(Request::Help));
    }

    #[test]
    fn says_what_was_not_said() {
        let check = |line: &str, expected: &[&str]| {
            let remarks = options(line).remarks(&"0-4".parse().unwrap());
            assert_eq!(remarks, expected, "{line}");
        };
        check("-t 2", &[]);
        check("-m 2", &["setting worker threads to 3\n"]);
        let large = "warning: --pipe 1048577 is too large, 1048576 bytes pass\n";
        check("-t 1 -p 1048577", &[large]);
        check("-t 1 -p 1048576", &[]);
        let pinned = "Pinning to message thread index 0 cpu 0\n";
        check("-t 1 -M auto", &["auto pinning message and worker threads\n", pinned]);
        let both = [pinned, "Pinning to message thread index 1 cpu 2\n"];
        check("-t 1 -m 2 -M 0,2", &both);
    }

    #[test]
    fn stamps_are_of_batches_where_there_are_any() {
        let check = |line: &str, expected| assert_eq!(options(line).stamps(), expected, "{line}");
        check("", Stamps::OfBatches);
        check("-R 10", Stamps::OfWakes);
        check("-A 10", Stamps::OfWakes);
        check("-p 10", Stamps::OfWakes);
    }

    #[test]
    fn parameters_do_what_the_options_say() {
        let check = |line: &str, name: &str, expected: &str| {
            let params = options(line).params(&"0-4".parse().unwrap());
            let found = params.iter().find(|(param, _)| param == name);
            assert_eq!(found.map(|(_, value)| value.as_str()), Some(expected), "{line}");
        };
        check("", "threads", "5");
        check("-m 2", "threads", "3");
        check("-m 2 -t 7", "threads", "7");
        check("", "locking", "1");
        check("-C", "locking", "0");
        check("-L", "locking", "0");
        check("--split 25", "private", "25%");
        check("", "message_on", "any");
        check("", "message_spread", "none");
        check("-p 100", "pipe", "100 B");
        check("-p 2000000", "pipe", "1048576 B");
        check("-M 1-2", "message_on", "cpus:1-2");
        check("-M 1-2", "message_spread", "cpu");
        check("-m 2 -M auto", "message_on", "cpus:0-1");
        check("-m 2 -M auto", "message_spread", "cpu");
        check("-m 2 -M auto", "worker_on", "cpus:2-4");
        check("-m 9 -M auto", "worker_on", "any");
    }
}
