//! What a guest has instead of a disk: busybox, the programs of this build, and their libraries.
//!
//! Must not know: shapes and checks.

use crate::cpio::Archive;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The programs that are tested, with their names in the guest's `/bin`.
const PROGRAMS: &[(&str, &str)] = &[
    ("schedload", env!("CARGO_BIN_EXE_schedload")),
    ("schedload-hackbench", env!("CARGO_BIN_EXE_schedload-hackbench")),
    ("schedload-pingpong", env!("CARGO_BIN_EXE_schedload-pingpong")),
];

/// Mount points, and where programs write.
const DIRECTORIES: &[&str] = &["dev", "proc", "sys", "tmp"];

/// Writes the guest's first file system to a file in `dir`; or says what there is not.
pub fn write(dir: &Path) -> Result<PathBuf, String> {
    let busybox = on_path("busybox").ok_or("there is no busybox")?;
    let this = std::env::current_exe().unwrap();
    let mut programs = vec![("busybox", busybox), ("ring", this)];
    programs.extend(PROGRAMS.iter().map(|(name, path)| (*name, PathBuf::from(path))));
    let mut archive = Archive::default();
    for directory in DIRECTORIES {
        archive.directory(directory);
    }
    archive.program("init", include_bytes!("guest/init.sh"));
    let mut libraries = BTreeSet::new();
    for (name, path) in &programs {
        archive.program(&format!("bin/{name}"), &stripped(path, dir));
        libraries.extend(libraries_of(path));
    }
    for library in libraries {
        let content = fs::read(&library).unwrap_or_else(|error| panic!("{library}: {error}"));
        archive.program(library.trim_start_matches('/'), &content);
    }
    let path = dir.join("initramfs");
    fs::write(&path, archive.finish()).unwrap();
    Ok(path)
}

/// The file of a program that PATH finds.
pub fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(name)).find(|file| file.is_file())
}

/// A program without its debugging information, of which a debug build has five times as much as
/// code; as it is where there is no strip.
fn stripped(path: &Path, dir: &Path) -> Vec<u8> {
    let draft = dir.join("stripped");
    let status = Command::new("strip").arg("-o").arg(&draft).arg(path).output();
    let from = match status {
        Ok(output) if output.status.success() => &draft,
        _ => path,
    };
    let content = fs::read(from).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
    let _ = fs::remove_file(&draft);
    content
}

fn libraries_of(path: &Path) -> Vec<String> {
    let output = Command::new("ldd").arg(path).output().unwrap();
    // A static program is none to ldd, which then fails.
    libraries_in(&String::from_utf8_lossy(&output.stdout))
}

/// The files in what ldd prints.
fn libraries_in(ldd: &str) -> Vec<String> {
    let path_of = |line: &str| {
        let (what, _address) = line.trim().rsplit_once(" (0x")?;
        let path = what.split_once(" => ").map_or(what, |(_, path)| path);
        path.starts_with('/').then(|| path.to_owned())
    };
    ldd.lines().filter_map(path_of).collect()
}

#[test]
fn libraries_that_ldd_lists() {
    let check = |ldd: &str, expected: &[&str]| assert_eq!(libraries_in(ldd), expected, "{ldd}");
    check("\tlinux-vdso.so.1 (0x00007ffd)\n", &[]);
    check("\tnot a dynamic executable\n", &[]);
    check("\tstatically linked\n", &[]);
    check("\tlibm.so.6 => /lib/libm.so.6 (0x00007f)\n", &["/lib/libm.so.6"]);
    check("\t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n", &["/lib64/ld-linux-x86-64.so.2"]);
}
