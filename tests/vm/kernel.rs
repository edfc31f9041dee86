//! A kernel to boot: one that the user names, or the distribution's, taken out of its package.
//!
//! Nothing is installed, and a kernel once taken stays below `target`. Must not know: what is run
//! on it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Names the kernel's file, to try another version.
pub const VARIABLE: &str = "SCHEDLOAD_VM_KERNEL";

/// What depends on the newest kernel: on Debian, on Ubuntu.
const PACKAGES: &[&str] = &["linux-image-amd64", "linux-image-generic"];

/// The kernel's file; or why there is none. `dir` is where it is kept.
pub fn find(dir: &Path) -> Result<PathBuf, String> {
    if let Some(path) = std::env::var_os(VARIABLE) {
        let path = PathBuf::from(path);
        assert!(path.is_file(), "{VARIABLE}: there is no file {}", path.display());
        return Ok(path);
    }
    match image_in(dir) {
        Some(kept) => Ok(kept),
        None => unpack_package(dir),
    }
}

fn image_in(dir: &Path) -> Option<PathBuf> {
    let files = fs::read_dir(dir).ok()?.flatten().map(|entry| entry.path());
    files
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with("vmlinuz-") && path.is_file()
        })
        .max()
}

fn unpack_package(dir: &Path) -> Result<PathBuf, String> {
    let package = PACKAGES.iter().find_map(|name| {
        let depends = output(Command::new("apt-cache").args(["depends", name])).ok()?;
        image_package(&depends).map(str::to_owned)
    });
    let package = package.ok_or_else(|| {
        format!("apt-cache knows no kernel package; {VARIABLE}=FILE names a kernel to boot")
    })?;
    println!("vm: the kernel of {package} is fetched");
    let drafts = dir.join("drafts");
    let _ = fs::remove_dir_all(&drafts);
    fs::create_dir_all(&drafts).unwrap();
    output(Command::new("apt-get").args(["download", &package]).current_dir(&drafts))?;
    let archive = fs::read_dir(&drafts).unwrap().flatten().map(|entry| entry.path()).next();
    let archive = archive.ok_or_else(|| format!("apt-get download {package} left no file"))?;
    output(Command::new("dpkg").arg("-x").arg(&archive).arg(&drafts))?;
    let image = image_in(&drafts.join("boot"));
    let image = image.ok_or_else(|| format!("there is no vmlinuz in {package}"))?;
    let kept = dir.join(image.file_name().unwrap());
    fs::rename(&image, &kept).unwrap();
    fs::remove_dir_all(&drafts).unwrap();
    Ok(kept)
}

/// The package of the image itself in what `apt-cache depends` prints.
fn image_package(depends: &str) -> Option<&str> {
    let names = depends.lines().filter_map(|line| line.trim().strip_prefix("Depends: "));
    names.map(str::trim).find(|name| name.starts_with("linux-image-"))
}

/// What a command prints; or that it could not be run, or what it complained about.
fn output(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output =
        command.stdin(Stdio::null()).output().map_err(|error| format!("{name}: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(format!("{name} failed: {}", said.trim().replace('\n', " | ")))
        }
    }
}

#[test]
fn the_package_of_the_image() {
    let check = |depends: &str, expected: Option<&str>| {
        assert_eq!(image_package(depends), expected, "{depends}");
    };
    check(
        "linux-image-amd64\n  Depends: linux-image-6.1.0-57-amd64\n",
        Some("linux-image-6.1.0-57-amd64"),
    );
    check(
        "x\n  Depends: linux-firmware\n  Depends: linux-image-6.8.0-1-generic\n",
        Some("linux-image-6.8.0-1-generic"),
    );
    check("linux-image-amd64\n", None);
}
