//! Reads `[channel.NAME]`, `[process.NAME]` and `[team.NAME]`, except for steps.
//!
//! Must not know: steps, the machine.

use super::number::Scope;
use super::reader::{Instances, Key, Meaning, Reader, Table, Value, stand_in};
use crate::profile::keys::{CHANNEL, DEADLINE, Form, PROCESS, TEAM, UCLAMP};
use crate::profile::on::On;
use crate::profile::{Channel, Deadline, Expr, Placement, Process, Scheduling, Team, Word};

impl Reader<'_> {
    pub fn channels(&mut self, value: &Value<'_>) -> Vec<Channel> {
        let entries = self.named(value, "[channel]");
        entries.into_iter().map(|(key, value)| self.channel(key, value)).collect()
    }

    fn channel(&mut self, key: &Key<'_>, value: &Value<'_>) -> Channel {
        let name = key.get_ref().to_string();
        self.check_name(key, "channel");
        let table = self.table(value, format!("[channel.{name}]"), key.span(), CHANNEL);
        let kind = self.word(&table, "kind").unwrap_or_default();
        let count = self.number(&table, "count", Scope::Profile);
        let count = count.unwrap_or_else(|| Expr::number(1.0, crate::base::Unit::Count));
        let bytes = self.number(&table, "bytes", Scope::Profile);
        let instances = match count.constant() {
            Some(1.0) => Instances::One,
            _ => Instances::Several,
        };
        self.channels.push((name.clone(), instances));
        Channel { name, span: key.span(), kind, count, bytes }
    }

    pub fn processes(&mut self, value: &Value<'_>) -> Vec<Process> {
        let entries = self.named(value, "[process]");
        entries.into_iter().map(|(key, value)| self.process(key, value)).collect()
    }

    fn process(&mut self, key: &Key<'_>, value: &Value<'_>) -> Process {
        let name = key.get_ref().to_string();
        self.check_name(key, "process");
        let table = self.table(value, format!("[process.{name}]"), key.span(), PROCESS);
        let about = if table.has("about") { self.text(&table, "about") } else { String::new() };
        Process { name, span: key.span(), about }
    }

    pub fn teams(&mut self, value: &Value<'_>) -> Vec<Team> {
        let entries = self.named(value, "[team]");
        if entries.is_empty() {
            self.fault_with_help(value.span(), "there is no team", "add `[team.NAME]`");
        }
        entries.into_iter().map(|(key, value)| self.team(key, value)).collect()
    }

    fn team(&mut self, key: &Key<'_>, value: &Value<'_>) -> Team {
        let name = key.get_ref().to_string();
        self.check_name(key, "team");
        let table = self.table(value, format!("[team.{name}]"), key.span(), TEAM);
        let size = self.number(&table, "size", Scope::Profile).unwrap_or_else(stand_in);
        let form = self.word(&table, "as").unwrap_or_else(|| Word::from("threads"));
        let process = self.word(&table, "process");
        let background = self.switch(&table, "background");
        let start = self.word(&table, "start").unwrap_or_else(|| Word::from("gate"));
        let placement = self.placement(&table);
        let scheduling = self.scheduling(&table);
        let steps = match self.required(&table, "steps") {
            Some(value) => self.steps(value, "steps", 0),
            None => Vec::new(),
        };
        let span = key.span();
        Team { name, span, size, form, process, background, start, placement, scheduling, steps }
    }

    fn placement(&mut self, table: &Table<'_>) -> Placement {
        let mut part = |key| {
            let on = self.word(table, key);
            if let Some(on) = &on {
                self.check_on(on);
            }
            on
        };
        let (on, start_on) = (part("on"), part("start_on"));
        let (spread, pin) = (self.word(table, "spread"), self.switch(table, "pin"));
        Placement { on, start_on, spread, pin }
    }

    fn check_on(&mut self, on: &Word) {
        let words = match self.meaning(&on.text) {
            Some(Meaning::Word(values)) => values
                .iter()
                .map(|value| Word { text: value.clone(), span: on.span.clone() })
                .collect(),
            Some(Meaning::Number(_)) => return,
            None => vec![on.clone()],
        };
        for word in words {
            match On::parse(&word) {
                Err(fault) => self.faults.push(fault),
                Ok(On::Any | On::Cpus(_)) => {}
                Ok(On::Node(expr) | On::Llc(expr) | On::Core(expr)) => {
                    let form = Form::Number {
                        unit: Some(crate::base::Unit::Count),
                        min: 0.0,
                        max: crate::profile::keys::NUMBER_MAX,
                    };
                    self.check(&expr, "on", form, Scope::Team);
                }
            }
        }
    }

    fn scheduling(&mut self, table: &Table<'_>) -> Scheduling {
        let policy = self.word(table, "policy");
        let nice = self.number(table, "nice", Scope::Team);
        let priority = self.number(table, "priority", Scope::Team);
        let slice = self.number(table, "slice", Scope::Team);
        let timer_slack = self.number(table, "timer_slack", Scope::Team);
        let (mut uclamp_min, mut uclamp_max) = (None, None);
        if let Some((key, value)) = table.entry("uclamp") {
            let label = format!("`uclamp` of {}", table.label);
            let uclamp = self.table(value, label, key.span(), UCLAMP);
            uclamp_min = self.number(&uclamp, "min", Scope::Team);
            uclamp_max = self.number(&uclamp, "max", Scope::Team);
        }
        let deadline = self.deadline(table);
        if let (Some(word), Some((key, _))) = (&policy, table.entry("deadline"))
            && self.meaning(&word.text).is_none()
            && word.text != "deadline"
        {
            let message = format!("`deadline` is for policy deadline, not {}", word.text);
            self.fault(key.span(), message);
        }
        if let (Some(word), None) = (&policy, &deadline)
            && word.text == "deadline"
            && !table.has("deadline")
        {
            let help = "add `deadline = { runtime = \"1ms\", period = \"10ms\" }`";
            self.fault_with_help(word.span.clone(), "policy deadline needs its times", help);
        }
        Scheduling { policy, nice, priority, slice, timer_slack, uclamp_min, uclamp_max, deadline }
    }

    fn deadline(&mut self, table: &Table<'_>) -> Option<Deadline> {
        let (key, value) = table.entry("deadline")?;
        let label = format!("`deadline` of {}", table.label);
        let times = self.table(value, label, key.span(), DEADLINE);
        let runtime = self.number(&times, "runtime", Scope::Team).unwrap_or_else(stand_in);
        let deadline = self.number(&times, "deadline", Scope::Team);
        let period = self.number(&times, "period", Scope::Team).unwrap_or_else(stand_in);
        Some(Deadline { runtime, deadline, period })
    }
}
