//! Why a machine could not be described.
//!
//! Must not know: exit codes, how a message is printed.

use std::path::PathBuf;

/// What went wrong, on what, and what would help.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    #[error("hwloc could not read the topology of this machine: {reason}")]
    Hwloc { reason: String },

    #[error(
        "hwloc describes another machine than this one: unset HWLOC_XMLFILE, HWLOC_SYNTHETIC and \
         HWLOC_FSROOT; a made-up machine can be planned for, not run on"
    )]
    OtherMachine,

    #[error(
        "hwloc can not read {part} of the made-up machine `{text}`; write its levels from the \
         outermost to `pu`, such as `pack:2 [numa] l3:2 core:4 pu:2`"
    )]
    Synthetic { text: String, part: String },

    #[error("the made-up machine `{text}` has {n_cpus} CPUs; at most {most} can be told apart")]
    TooLarge { text: String, n_cpus: u64, most: u64 },

    #[error(
        "{} is not a machine that hwloc can read: {reason}; `lstopo --of xml FILE` writes one",
        path.display()
    )]
    Xml { path: PathBuf, reason: String },

    #[error("{machine} has no CPU that is online")]
    NoCpu { machine: String },

    #[error(
        "none of the CPUs that this process may use ({allowed}) is online ({online}); start it \
         with another mask (taskset, cpuset)"
    )]
    NoneAllowed { allowed: String, online: String },
}
