//! The command line and the output lines of rt-tests' hackbench, so that schedload can stand in
//! for it: parameters of the `hackbench` profile in, three lines out.
//!
//! Must not know: how the run is made, what else the program prints.

use crate::compat::getopt::{self, Added, GetoptError, Row, Value};

/// A command line of hackbench, with the few options that schedload adds to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    pub form: Form,
    pub transport: Transport,
    pub groups: u64,
    /// Senders in a group, and as many receivers.
    pub fds: u64,
    pub loops: u64,
    pub bytes: u64,
    /// Once all workers exist, the one who waits for them becomes SCHED_FIFO 1.
    pub fifo: Fifo,
    /// What was given of schedload's own options.
    pub added: Added,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Processes,
    Threads,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    SocketPair,
    Pipe,
    Tcp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fifo {
    AsInherited,
    Coordinator,
}

/// What the command line asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    Run(Options),
    Help,
}

/// Why a command line was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UsageError {
    #[error(transparent)]
    Getopt(#[from] GetoptError),
    #[error("options --pipe and --inet exclude each other; leave one out")]
    TwoTransports,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    Fds,
    Fifo,
    Groups,
    Help,
    Inet,
    Loops,
    Pipe,
    Bytes,
    Threads,
    Processes,
    /// For the caller.
    Added,
}

const OPTIONS: getopt::Options<Meaning> = getopt::Options {
    original: &[
        Row::valued("fds", 'f', Meaning::Fds, "senders, and receivers, in a group [20]"),
        Row::switch("fifo", 'F', Meaning::Fifo, "make the starting task SCHED_FIFO once all exist"),
        Row::valued("groups", 'g', Meaning::Groups, "independent groups [10]"),
        Row::switch("help", 'h', Meaning::Help, "print this"),
        Row::switch("inet", 'i', Meaning::Inet, "loopback TCP instead of socket pairs"),
        Row::valued("loops", 'l', Meaning::Loops, "messages from a sender to each receiver [100]"),
        Row::switch("pipe", 'p', Meaning::Pipe, "pipes instead of socket pairs"),
        Row::valued("datasize", 's', Meaning::Bytes, "bytes in a message [100]"),
        Row::switch("threads", 'T', Meaning::Threads, "workers are threads of one process"),
        Row::switch("processes", 'P', Meaning::Processes, "workers are processes (the default)"),
    ],
    added: &[
        Row::long(
            "report",
            Value::None,
            Meaning::Added,
            "print schedload's report after the lines",
        ),
        Row::long(
            "json",
            Value::Needed,
            Meaning::Added,
            "write the report as JSON to this file, or -",
        ),
        Row::long("duration", Value::Needed, Meaning::Added, "end after this time, as in 10s"),
        Row::long("warmup", Value::Needed, Meaning::Added, "start measuring after this time"),
        Row::long("seed", Value::Needed, Meaning::Added, "seed of all that is random"),
        Row::long("quiet", Value::None, Meaning::Added, "no progress on a terminal"),
    ],
};

impl Default for Options {
    /// What hackbench does without any option.
    fn default() -> Options {
        Options {
            form: Form::Processes,
            transport: Transport::SocketPair,
            groups: 10,
            fds: 20,
            loops: 100,
            bytes: 100,
            fifo: Fifo::AsInherited,
            added: Added::default(),
        }
    }
}

/// Reads the arguments after the program's name.
pub fn parse(args: &[String]) -> Result<Request, UsageError> {
    let mut options = Options::default();
    let mut pipe = false;
    let mut inet = false;
    for given in OPTIONS.split(args)? {
        match given.row.meaning {
            Meaning::Help => return Ok(Request::Help),
            Meaning::Fifo => options.fifo = Fifo::Coordinator,
            Meaning::Pipe => pipe = true,
            Meaning::Inet => inet = true,
            Meaning::Threads => options.form = Form::Threads,
            Meaning::Processes => options.form = Form::Processes,
            Meaning::Fds => options.fds = given.number()?,
            Meaning::Groups => options.groups = given.number()?,
            Meaning::Loops => options.loops = given.number()?,
            Meaning::Bytes => options.bytes = given.number()?,
            Meaning::Added => options.added.push(given),
        }
    }
    options.transport = match (pipe, inet) {
        (true, true) => return Err(UsageError::TwoTransports),
        (true, false) => Transport::Pipe,
        (false, true) => Transport::Tcp,
        (false, false) => Transport::SocketPair,
    };
    Ok(Request::Run(options))
}

impl Options {
    /// The parameters of the `hackbench` profile that do the same.
    pub fn params(&self) -> Vec<(String, String)> {
        let kind = match self.transport {
            Transport::SocketPair => "socketpair",
            Transport::Pipe => "pipe",
            Transport::Tcp => "tcp",
        };
        let form = match self.form {
            Form::Processes => "processes",
            Form::Threads => "threads",
        };
        let pairs = [
            ("groups", self.groups.to_string()),
            ("fds", self.fds.to_string()),
            ("loops", self.loops.to_string()),
            ("bytes", self.bytes.to_string()),
            ("kind", kind.to_string()),
            ("as", form.to_string()),
        ];
        pairs.map(|(name, value)| (name.to_string(), value)).into()
    }

    /// The two lines that come before the run.
    pub fn banner(&self) -> String {
        let mode = match self.form {
            Form::Processes => "process",
            Form::Threads => "threaded",
        };
        let per_group = 2 * u128::from(self.fds);
        format!(
            "Running in {mode} mode with {} groups using {per_group} file descriptors each \
             (== {} tasks)\nEach sender will pass {} messages of {} bytes\n",
            self.groups,
            u128::from(self.groups) * per_group,
            self.loops,
            self.bytes,
        )
    }
}

/// The line that comes after a run that went through: seconds, its milliseconds cut off.
pub fn time_line(elapsed_ns: u64) -> String {
    let ms = elapsed_ns / 1_000_000;
    format!("Time: {}.{:03}\n", ms / 1000, ms % 1000)
}

/// What `--help` prints.
pub fn help() -> String {
    let intro = "Stands in for hackbench of rt-tests: groups of senders that each write to every\n\
                 receiver of their group, and the time it takes.\n\n\
                 Usage: schedload-hackbench [option ...]\n\n";
    let note = "The last of --threads and --processes counts. Only a run that went through has a\n\
                Time line.";
    intro.to_owned() + &OPTIONS.help("hackbench", note)
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
            Ok(Request::Run(options)) => options,
            other => panic!("{line:?} gave {other:?}"),
        }
    }

    #[test]
    fn reads_options_as_getopt_long_does() {
        let default = Options::default;
        let check = |line: &str, expected: Options| assert_eq!(options(line), expected, "{line}");
        check("", default());
        check("--", default());
        let ten = Options { groups: 3, ..default() };
        check("-g 3", ten.clone());
        check("-g3", ten.clone());
        check("--groups 3", ten.clone());
        check("--groups=3", ten.clone());
        check("--gr=3", ten);
        let (form, transport) = (Form::Threads, Transport::Pipe);
        let threads = Options { form, transport, ..default() };
        check("-T -p", threads.clone());
        check("-pT", threads.clone());
        check("-P --pipe --threads", threads.clone());
        check("-Tpl100", threads);
        check("-T -P", default());
        check("-T --process", default());
        check("-T --processes", default());
        let transport = Transport::Tcp;
        check("-i", Options { transport, ..default() });
        let fifo = Fifo::Coordinator;
        check("-F", Options { fifo, ..default() });
        check("--datasize 9000000 -f 1", Options { bytes: 9_000_000, fds: 1, ..default() });
        check("-g 1 -g 2", Options { groups: 2, ..default() });
    }

    #[test]
    fn refuses_what_hackbench_lets_pass() {
        let check = |line: &str, expected: &str| {
            let error = parsed(line).expect_err(line);
            assert_eq!(error.to_string(), expected, "for {line}");
        };
        let number = "is not a whole number from 1 to 1000000000000";
        check("-g 1x", &format!("`1x` of option `-g` {number}"));
        check("--loops=0", &format!("`0` of option `--loops` {number}"));
        check("-s -5", &format!("`-5` of option `-s` {number}"));
        check("-s +5", &format!("`+5` of option `-s` {number}"));
        check("-f 1000000000001", &format!("`1000000000001` of option `-f` {number}"));
        check(
            "-f 99999999999999999999",
            &format!("`99999999999999999999` of option `-f` {number}"),
        );
        check("--fds=", &format!("`` of option `--fds` {number}"));
        check("-g", "option `-g` needs a value");
        check("--groups", "option `--groups` needs a value");
        check("--pipe=1", "option `--pipe` takes no value, but was given `1`");
        check("-p -i", "options --pipe and --inet exclude each other; leave one out");
        check("--f 3", "option `--f` could be --fds or --fifo; write it out");
        check("--rep", "unknown option `--rep`; see --help");
        check("--gruops 3", "unknown option `--gruops`; did you mean `--groups`?");
        check("-x", "unknown option `-x`; see --help");
        let operand = "everything is set by options; see --help";
        check("50 process 1000", &format!("unexpected operand `50`: {operand}"));
        check("-g 1 - ", &format!("unexpected operand `-`: {operand}"));
        check("-- -g", &format!("unexpected operand `-g`: {operand}"));
    }

    #[test]
    fn help_wins_over_what_follows() {
        assert_eq!(parsed("-h"), Ok(Request::Help));
        assert_eq!(parsed("-T --help -g 1"), Ok(Request::Help));
        assert!(OPTIONS.original.iter().all(|row| help().contains(row.long)));
    }

    #[test]
    fn added_options_are_handed_on() {
        let added = options("--report --json a --json - --duration=2s").added;
        assert!(added.has("report") && !added.has("quiet"));
        assert_eq!(added.value("json"), Some("-"));
        assert_eq!(added.value("duration"), Some("2s"));
        assert_eq!(added.value("seed"), None);
    }

    #[test]
    fn lines_are_hackbenchs() {
        let check = |line: &str, expected: &str| assert_eq!(options(line).banner(), expected);
        check(
            "",
            "Running in process mode with 10 groups using 40 file descriptors each \
             (== 400 tasks)\nEach sender will pass 100 messages of 100 bytes\n",
        );
        check(
            "-T -g 1 -f 2 -l 3 -s 4",
            "Running in threaded mode with 1 groups using 4 file descriptors each \
             (== 4 tasks)\nEach sender will pass 3 messages of 4 bytes\n",
        );
        let check = |ns, expected: &str| assert_eq!(time_line(ns), expected);
        check(0, "Time: 0.000\n");
        check(999_999, "Time: 0.000\n");
        check(890_999_999, "Time: 0.890\n");
        check(61_002_000_000, "Time: 61.002\n");
    }
}
