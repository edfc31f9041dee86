//! Which cgroups this process is in, and the directories in which their limits stand.
//!
//! Both versions, also mixed, and mount points that show only a part of the tree, as containers
//! have them. Must not know: what a limit means (`host::limits`).

use super::files::Root;
use crate::base::{Reading, State};

/// The hierarchies that this process is in and that are mounted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cgroups {
    /// Each with its controllers; version 2 comes last and is taken for every controller that no
    /// hierarchy of version 1 has.
    hierarchies: Vec<Hierarchy>,
}

/// One hierarchy, as far as this process can see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hierarchy {
    pub version: Version,
    controllers: Vec<String>,
    /// The cgroup by the kernel's name: `/user.slice/user-0.slice`.
    pub path: String,
    /// Directories from the process's own cgroup outwards to the mount point.
    pub directories: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    V1,
    V2,
}

impl Cgroups {
    pub fn read(root: &Root) -> Reading<Cgroups> {
        let cgroup = match root.text("/proc/self/cgroup") {
            Reading::Value(text) => text,
            Reading::Absent(absence) => return Reading::Absent(absence),
        };
        match root.text("/proc/self/mountinfo") {
            Reading::Value(mounts) => Reading::Value(Cgroups::parse(&cgroup, &mounts)),
            Reading::Absent(absence) => Reading::Absent(absence),
        }
    }

    fn parse(cgroup: &str, mountinfo: &str) -> Cgroups {
        let mounts: Vec<Mount> = mountinfo.lines().filter_map(Mount::parse).collect();
        let mut hierarchies: Vec<Hierarchy> =
            cgroup.lines().filter_map(|line| hierarchy(line, &mounts)).collect();
        hierarchies.sort_by_key(|it| it.version == Version::V2);
        Cgroups { hierarchies }
    }

    /// The hierarchy in which `controller` (`pids`, `memory`, `cpu`, `cpuset`) acts, if it is
    /// mounted. Version 2 is returned whether or not the controller is enabled there; its files
    /// are then missing.
    pub fn of(&self, controller: &str) -> Option<&Hierarchy> {
        let has = |it: &&Hierarchy| {
            it.version == Version::V2 || it.controllers.iter().any(|name| name == controller)
        };
        self.hierarchies.iter().find(has)
    }

    /// The directory of our own cgroup of version 2.
    pub fn own_v2(&self) -> Option<String> {
        let v2 = self.hierarchies.iter().find(|it| it.version == Version::V2)?;
        v2.directories.first().cloned()
    }

    /// The same as a reading.
    pub fn reading(&self, controller: &str) -> Reading<&Hierarchy> {
        match self.of(controller) {
            Some(hierarchy) => Reading::Value(hierarchy),
            None => Reading::absent(
                State::Absent,
                format!("no cgroup file system with the controller {controller} is mounted"),
            ),
        }
    }
}

/// A mounted hierarchy.
struct Mount<'a> {
    version: Version,
    /// The cgroup that the mount point shows.
    root: String,
    point: String,
    /// Of version 1: the controllers and names, between other options.
    options: Vec<&'a str>,
}

impl<'a> Mount<'a> {
    /// `id parent major:minor root point options [fields] - type source super_options`
    fn parse(line: &'a str) -> Option<Mount<'a>> {
        let (left, right) = line.split_once(" - ")?;
        let mut right = right.split(' ');
        let version = match right.next()? {
            "cgroup" => Version::V1,
            "cgroup2" => Version::V2,
            _ => return None,
        };
        let options = right.nth(1).unwrap_or("").split(',').collect();
        let mut left = left.split(' ').skip(3);
        let (root, point) = (unescaped(left.next()?), unescaped(left.next()?));
        Some(Mount { version, root, point, options })
    }

    /// Whether it is a mount of the hierarchy with these controllers.
    fn shows(&self, version: Version, controllers: &[String]) -> bool {
        self.version == version
            && controllers.iter().all(|name| self.options.contains(&name.as_str()))
    }
}

/// A line of /proc/self/cgroup: `id:controllers:path`, the controllers empty in version 2.
fn hierarchy(line: &str, mounts: &[Mount]) -> Option<Hierarchy> {
    let mut parts = line.splitn(3, ':');
    let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
    let controllers: Vec<String> =
        controllers.split(',').filter(|it| !it.is_empty()).map(str::to_owned).collect();
    let version = if controllers.is_empty() { Version::V2 } else { Version::V1 };
    let path = path.strip_suffix(" (deleted)").unwrap_or(path);
    let shown = mounts.iter().filter(|mount| mount.shows(version, &controllers));
    // Where one hierarchy is mounted more than once, the mount that shows most of our ancestors.
    let best = shown.min_by_key(|mount| {
        let inside = below(path, &mount.root).is_some();
        (!inside, mount.root.len())
    })?;
    let directories = directories(&best.point, below(path, &best.root).unwrap_or(""));
    Some(Hierarchy { version, controllers, path: path.to_owned(), directories })
}

/// `path` relative to `root`; `None` where it is not below it, or outside of the cgroup namespace,
/// which the kernel shows as `/../other`.
fn below<'a>(path: &'a str, root: &str) -> Option<&'a str> {
    let rest = path.strip_prefix(root.trim_end_matches('/'))?;
    let inside = rest.is_empty() || rest.starts_with('/');
    (inside && !rest.split('/').any(|part| part == "..")).then_some(rest.trim_matches('/'))
}

/// `point/a/b`, `point/a`, `point`.
fn directories(point: &str, relative: &str) -> Vec<String> {
    let point = point.trim_end_matches('/');
    let mut all = vec![point.to_owned()];
    for part in relative.split('/').filter(|part| !part.is_empty()) {
        let parent = all.last().map_or("", String::as_str);
        all.push(format!("{parent}/{part}"));
    }
    all.reverse();
    all
}

/// Undoes `\040` and the like, as which mountinfo writes spaces, tabs, newlines and backslashes.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let code = tail.get(..3).filter(|_| *first == b'\\').and_then(octal);
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &tail[3..] } else { tail };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn octal(digits: &[u8]) -> Option<u8> {
    u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const V2: &str =
        "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate";
    const HYBRID: &str = "\
31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw";
    const OF_HYBRID: &str = "9:name=systemd:/\n4:memory:/a/b\n1:cpu,cpuacct:/c\n0::/u\n";

    #[test]
    fn directories_outwards() {
        let check = |cgroup: &str, mounts: &str, controller: &str, expected: &[&str]| {
            let cgroups = Cgroups::parse(cgroup, mounts);
            let got = cgroups.of(controller).map_or(&[][..], |it| &it.directories);
            assert_eq!(got, expected, "{controller} of {cgroup:?}");
        };
        let own = ["/sys/fs/cgroup/a/b", "/sys/fs/cgroup/a", "/sys/fs/cgroup"];
        check("0::/a/b", V2, "pids", &own);
        check("0::/a/b (deleted)", V2, "pids", &own);
        check("0::/", V2, "pids", &["/sys/fs/cgroup"]);
        check("0::/../../other", V2, "pids", &["/sys/fs/cgroup"]);
        check("0::/with:colon", V2, "pids", &["/sys/fs/cgroup/with:colon", "/sys/fs/cgroup"]);
        check("0::/a", "", "pids", &[]);
        check("nonsense\n0::/a", "more nonsense - cgroup2", "pids", &[]);

        let memory = ["memory/a/b", "memory/a", "memory"].map(|it| format!("/sys/fs/cgroup/{it}"));
        let memory: Vec<&str> = memory.iter().map(String::as_str).collect();
        check(OF_HYBRID, HYBRID, "memory", &memory);
        let cpu = ["/sys/fs/cgroup/cpu,cpuacct/c", "/sys/fs/cgroup/cpu,cpuacct"];
        check(OF_HYBRID, HYBRID, "cpu", &cpu);
        check(OF_HYBRID, HYBRID, "pids", &["/sys/fs/cgroup/unified/u", "/sys/fs/cgroup/unified"]);
    }

    #[test]
    fn mounts_that_show_a_part() {
        let check = |mounts: &str, expected: &[&str]| {
            let cgroups = Cgroups::parse("0::/docker/abc/x", mounts);
            assert_eq!(cgroups.of("pids").unwrap().directories, expected, "in {mounts:?}");
        };
        check("30 23 0:26 /docker/abc /cg ro - cgroup2 cgroup2 rw", &["/cg/x", "/cg"]);
        check("30 23 0:26 /docker/ab /cg ro - cgroup2 cgroup2 rw", &["/cg"]);
        check(
            "30 23 0:26 /docker/abc /one ro - cgroup2 x rw\n31 23 0:26 / /two ro - cgroup2 x rw",
            &["/two/docker/abc/x", "/two/docker/abc", "/two/docker", "/two"],
        );
        check(r"30 23 0:26 /docker/abc/x /my\040c\134g\04 ro - cgroup2 x rw", &[r"/my c\g\04"]);
    }

    #[test]
    fn a_long_path() {
        let path = "/a-slice-with-a-long-name".repeat(160);
        let cgroups = Cgroups::parse(&format!("0::{path}"), V2);
        assert_eq!(cgroups.of("cpu").unwrap().directories.len(), 161);
    }
}
