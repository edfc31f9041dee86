//! The archive that a kernel unpacks as its first file system: cpio in its `newc` form.
//!
//! Its format: Documentation/driver-api/early-userspace/buffer-format.rst of Linux v6.12. Must not
//! know: what is in the files.

use std::collections::BTreeSet;

/// The archive as it grows. Directories are added as files need them.
#[derive(Default)]
pub struct Archive {
    bytes: Vec<u8>,
    directories: BTreeSet<String>,
    n_entries: u32,
}

const DIRECTORY: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;

impl Archive {
    /// An empty directory; `path` is from the root, without a leading slash, as for files.
    pub fn directory(&mut self, path: &str) {
        for (end, _) in path.match_indices('/').chain([(path.len(), "")]) {
            if self.directories.insert(path[..end].to_owned()) {
                self.entry(&path[..end], DIRECTORY, &[]);
            }
        }
    }

    /// A file that everybody may run.
    pub fn program(&mut self, path: &str, content: &[u8]) {
        if let Some((directory, _)) = path.rsplit_once('/') {
            self.directory(directory);
        }
        self.entry(path, PROGRAM, content);
    }

    pub fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, &[]);
        self.bytes
    }

    fn entry(&mut self, path: &str, mode: u32, content: &[u8]) {
        self.n_entries += 1;
        let size = u32::try_from(content.len()).expect("a file below 4 GiB");
        let name_size = u32::try_from(path.len() + 1).expect("a short name");
        // Number, mode, user, group, links, time, size, four of devices, length of name, no sum.
        let fields = [self.n_entries, mode, 0, 0, 1, 0, size, 0, 0, 0, 0, name_size, 0];
        self.bytes.extend(b"070701");
        for field in fields {
            self.bytes.extend(format!("{field:08x}").bytes());
        }
        self.bytes.extend(path.bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend(content);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[test]
fn an_archive_has_its_directories_before_its_files() {
    let mut archive = Archive::default();
    archive.program("bin/a/tool", b"12345");
    archive.program("bin/other", b"");
    archive.directory("bin");
    let bytes = archive.finish();
    assert_eq!(bytes.len() % 4, 0);
    let text = String::from_utf8(bytes).expect("ASCII");
    let expected = ["bin", "bin/a", "bin/a/tool", "bin/other", "TRAILER!!!"];
    let names: Vec<&str> =
        text.split("070701").skip(1).map(|e| e[104..].split('\0').next().unwrap_or("")).collect();
    assert_eq!(names, expected);
    let padded = ["tool\0\0\0\0", "12345\0\0\0", "070701"].concat();
    assert!(text.contains(&padded), "{text:?}");
}
