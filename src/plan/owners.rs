//! Who uses the slices of a region: everybody all of them, or each slice one task alone.
//!
//! Read off the steps; who touches a page first, and the halo of a sweep, do not count. Must not
//! know: where anything is.

use super::memory::used;
use super::{MemoryPlan, Pick, Plan, Sharing, Slice};

/// How the tasks of an instance use a region.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Usage {
    /// All of it by everybody who does: it has one slice, or no step names any.
    Whole,
    /// By slice: the one task in each instance that names it; `None` of a slice that nobody names,
    /// or several, or that a step uses together with all others, or that each of several processes
    /// has for itself.
    Slices(Vec<Option<Owner>>),
}

/// A task of an instance that has one copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner {
    pub team: usize,
    pub me: u32,
}

/// Who named a slice so far.
#[derive(Clone, Copy, PartialEq)]
enum Named {
    Nobody,
    One(Owner),
    Several,
}

impl Slice {
    /// Its number for a member; `None`: all of the region.
    pub fn number(&self, me: u32) -> Option<u64> {
        match &self.slice {
            Pick::At(number) => Some(number.of(me)),
            _ => None,
        }
    }
}

impl Usage {
    /// Whether one task alone uses a slice.
    pub fn is_own(&self) -> bool {
        matches!(self, Usage::Slices(owners) if owners.iter().any(Option::is_some))
    }
}

impl Plan {
    /// By region.
    pub fn usages(&self) -> Vec<Usage> {
        (0..).zip(&self.memory).map(|(at, region)| self.usage(at, region)).collect()
    }

    fn usage(&self, index: u32, region: &MemoryPlan) -> Usage {
        let mut named = vec![Named::Nobody; region.count as usize];
        let (mut names_any, mut uses_all) = (false, false);
        for (team, plan) in self.teams.iter().enumerate() {
            for (_, pick) in plan.ops.iter().flat_map(used).filter(|(region, _)| *region == index) {
                let Pick::At(number) = pick else {
                    uses_all = true;
                    continue;
                };
                names_any = true;
                for me in 0..plan.size {
                    if let Some(named) = named.get_mut(number.of(me) as usize) {
                        *named = named.also_by(Owner { team, me });
                    }
                }
            }
        }
        if self.n_mappings(index as usize) > 1 {
            return Usage::Slices(vec![None; named.len()]);
        }
        if region.count == 1 || !names_any {
            return Usage::Whole;
        }
        let copies = match region.sharing {
            Sharing::Process | Sharing::Instance => self.copies / self.instances.max(1),
            Sharing::All => self.copies,
        };
        // What a task of one copy names, those of the others do too.
        let alone = copies == 1 && !uses_all;
        let owner = |named| match named {
            Named::One(owner) if alone => Some(owner),
            _ => None,
        };
        Usage::Slices(named.into_iter().map(owner).collect())
    }
}

impl Named {
    fn also_by(self, owner: Owner) -> Named {
        match self {
            Named::Nobody => Named::One(owner),
            Named::One(first) if first == owner => self,
            _ => Named::Several,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::{Host, Topology};
    use crate::plan::Overrides;
    use crate::profile::{Profile, Source};

    /// What becomes of the first region, and the plan.
    fn usage(text: &str) -> (Usage, Plan) {
        let text = format!("about = 'x'\nduration = '1s'\n{text}");
        let profile = Profile::parse("x", Source { text, ..Source::default() });
        let profile = profile.unwrap_or_else(|faults| panic!("{faults}"));
        let host = Host::made_up(Topology::from_synthetic("core:2 pu:1").unwrap(), "made up");
        let plan = Plan::new(&profile, &host, &Overrides::default());
        let plan = plan.unwrap_or_else(|why| panic!("{why}"));
        (plan.usages().remove(0), plan)
    }

    fn team(name: &str, size: u32, steps: &str) -> String {
        format!("[team.{name}]\nsize = {size}\nsteps = [ {steps} ]\n")
    }

    /// `whole`, or `team.me` by slice, of a region with three of them.
    fn check(keys: &str, text: &str, expected: &str) {
        let region = "[memory.area]\nbytes = '4KiB'\ncount = 3\n";
        let (usage, plan) = usage(&format!("{keys}{region}{text}"));
        let shown = match usage {
            Usage::Whole => "whole".to_owned(),
            Usage::Slices(owners) => {
                let name = |it: Owner| format!("{}.{}", plan.teams[it.team].name, it.me);
                let owners = owners.iter().map(|it| it.map_or("-".to_owned(), name));
                owners.collect::<Vec<_>>().join(" ")
            }
        };
        assert_eq!(shown, expected, "{keys}{text}");
    }

    #[test]
    fn all_of_it_or_by_slice() {
        let own = "{ sweep = 'area[me]' }";
        let two = |steps: &str| team("a", 3, &format!("{own}, {steps}"));
        check("", &team("a", 3, "{ sweep = 'area' }"), "whole");
        check("", &team("a", 3, own), "a.0 a.1 a.2");
        check("", &team("a", 2, own), "a.0 a.1 -");
        check("", &team("a", 2, "{ sweep = 'area[me]', halo = '50%' }"), "a.0 a.1 -");
        check("", &two("{ touch = 'area[me]', count = 1 }"), "a.0 a.1 a.2");
        check("", &two("{ sweep = 'area[0]' }"), "- a.1 a.2");
        check("", &two("{ sweep = 'area' }"), "- - -");
        check("", &(team("a", 3, own) + &team("b", 1, "{ sweep = 'area[2]' }")), "a.0 a.1 -");
        check("", &team("a", 1, "{ copy = 'area[0]', from = 'area[1]' }"), "a.0 a.0 -");
    }

    #[test]
    fn copies_and_instances() {
        let own = team("a", 3, "{ sweep = 'area[me]' }");
        check("instances = 2\n", &own, "a.0 a.1 a.2");
        check("copies = 2\n", &own, "- - -");
        check("copies = 2\ninstances = 2\n", &own, "- - -");
        let shared = format!("shared = 'all'\n{own}");
        check("", &shared, "a.0 a.1 a.2");
        check("instances = 2\n", &shared, "- - -");
    }

    #[test]
    fn processes() {
        let text = |shared: &str, other: &str| {
            let own = team("a", 3, "{ sweep = 'area[me]' }");
            let other = team("b", 1, other);
            let text = format!("shared = '{shared}'\n[process.a]\n[process.b]\n{own}{other}");
            ["a", "b"].into_iter().fold(text, |text, name| {
                let head = format!("[team.{name}]\n");
                text.replace(&head, &format!("{head}process = '{name}'\n"))
            })
        };
        let (spin, sweep) = ("{ spin = '1us' }", "{ sweep = 'area[2]' }");
        check("", &text("process", spin), "a.0 a.1 a.2");
        check("", &text("process", sweep), "- - -");
        check("", &text("instance", sweep), "a.0 a.1 -");
        check("instances = 2\n", &text("instance", sweep), "a.0 a.1 -");
    }

    #[test]
    fn one_slice_is_the_whole() {
        let region = "[memory.one]\nbytes = '4KiB'\n";
        let (usage, _) = usage(&format!("{region}{}", team("a", 1, "{ sweep = 'one[me]' }")));
        assert_eq!(usage, Usage::Whole);
    }
}
