//! The text of a team's `on`: which part of the machine its tasks may use.
//!
//! Must not know: the machine; whether there is a node 7 is found when planning.

use crate::base::CpuList;
use crate::profile::{Expr, Fault, Word};

/// Part of the machine; the number may depend on the member (`llc:me % llcs`).
#[derive(Debug, Clone, PartialEq)]
pub enum On {
    /// All that is allowed.
    Any,
    Node(Expr),
    Llc(Expr),
    Core(Expr),
    Cpus(CpuList),
}

const HELP: &str = "write `node:0`, `llc:1`, `core:2`, `cpus:0-3` or `any`";

impl On {
    /// Reads the word of a `Placement`, after a parameter that stands for it has been replaced.
    pub fn parse(word: &Word) -> Result<On, Fault> {
        let literal = word.span.len() == word.text.len();
        let fault = |message: String| Fault::new(word.span.clone(), message).with_help(HELP);
        if word.text == "any" {
            return Ok(On::Any);
        }
        let Some((part, rest)) = word.text.split_once(':') else {
            return Err(fault(format!("`{}` is no part of a machine", word.text)));
        };
        let number = |which: fn(Expr) -> On| {
            let start = word.span.start + part.len() + 1;
            match Expr::parse(rest, start) {
                Ok(expr) if literal => Ok(which(expr)),
                Ok(expr) => Ok(which(Expr { span: word.span.clone(), ..expr })),
                Err(found) if literal => Err(found),
                Err(found) => Err(Fault { span: word.span.clone(), ..found }),
            }
        };
        match part {
            "node" => number(On::Node),
            "llc" => number(On::Llc),
            "core" => number(On::Core),
            "cpus" => match rest.parse::<CpuList>() {
                Ok(cpus) if cpus.is_empty() => Err(fault("`cpus:` names no CPU".to_owned())),
                Ok(cpus) => Ok(On::Cpus(cpus)),
                Err(error) => Err(fault(error.to_string())),
            },
            _ => Err(fault(format!("`{part}` is no part of a machine"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_parts_of_a_machine() {
        let word = |text: &str| Word { text: text.into(), span: 10..10 + text.len() };
        let check = |text: &str, expected: Result<&str, &str>| {
            let shown = match On::parse(&word(text)) {
                Ok(On::Any) => Ok("any".to_owned()),
                Ok(On::Node(expr)) => Ok(format!("node {expr} at {:?}", expr.span)),
                Ok(On::Llc(expr)) => Ok(format!("llc {expr} at {:?}", expr.span)),
                Ok(On::Core(expr)) => Ok(format!("core {expr} at {:?}", expr.span)),
                Ok(On::Cpus(cpus)) => Ok(format!("cpus {cpus}")),
                Err(fault) => Err(fault.message),
            };
            assert_eq!(shown, expected.map(str::to_owned).map_err(str::to_owned), "{text}");
        };
        check("any", Ok("any"));
        check("node:0", Ok("node 0 at 15..16"));
        check("llc:me % llcs", Ok("llc me % llcs at 14..23"));
        check("core:2", Ok("core 2 at 15..16"));
        check("cpus:0-2,8", Ok("cpus 0-2,8"));
        check("cpus:", Err("`cpus:` names no CPU"));
        check("cpus:a", Err("`a` is not a CPU or a range of CPUs such as `0-3`"));
        check("socket:1", Err("`socket` is no part of a machine"));
        check("node", Err("`node` is no part of a machine"));
        check("node:", Err("the expression is empty"));
    }
}
