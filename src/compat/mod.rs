//! Other tools' command lines turned into parameters of profiles, and their lines of output.
//!
//! Must not know: the engine. From facts about those tools; none of their text or code is here.

pub mod getopt;
pub mod hackbench;
pub mod schbench;
pub mod schbench_lines;
