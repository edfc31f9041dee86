//! From the text of an expression to its tree, with the place of whatever is wrong in it.
//!
//! A percent sign right after a literal is a unit unless an operand follows it: `50%` is a half,
//! `me % 2` and `7 % 2` are remainders. Must not know: which names exist, TOML.

use super::{Expr, Function, Node, Op};
use crate::base::Unit;
use crate::base::nearest::nearest;
use crate::base::unit;
use crate::profile::Fault;
use std::ops::Range;

/// How deep parentheses, calls and signs may be nested, so that no text overflows the stack.
const DEPTH_MAX: usize = 64;
/// How many operands one expression may have: the tree grows to the left with each of them.
const TOKENS_MAX: usize = 512;

#[derive(Debug, Clone, PartialEq)]
enum Token {
    Number { value: f64, unit: Unit },
    Name(String),
    Sign(char),
}

impl Expr {
    /// Reads an expression; `span_start` is where its text begins in the profile's text, so that
    /// a fault points into that.
    pub fn parse(text: &str, span_start: usize) -> Result<Expr, Fault> {
        let shift = |mut fault: Fault| {
            fault.span = span_start + fault.span.start..span_start + fault.span.end;
            fault
        };
        let tokens = tokens(text).map_err(shift)?;
        let mut parser = Parser { tokens: &tokens, at: 0, end: text.trim_end().len() };
        let node = parser.whole().map_err(shift)?;
        let span = span_start..span_start + text.len();
        Ok(Expr { text: text.to_owned(), node, span })
    }

    /// Every name of the expression with its place in the profile's text.
    pub fn named_places(&self) -> Vec<(String, Range<usize>)> {
        let tokens = tokens(&self.text).unwrap_or_default();
        let mut places = Vec::new();
        for (i, (token, range)) in tokens.iter().enumerate() {
            let called = matches!(tokens.get(i + 1), Some((Token::Sign('('), _)));
            if let Token::Name(name) = token
                && !called
            {
                places.push((name.clone(), self.place(range.clone())));
            }
        }
        places
    }
}

fn fault(span: Range<usize>, message: impl Into<String>) -> Fault {
    Fault { message: message.into(), span, help: None }
}

/// Cuts the text into tokens with their byte ranges.
fn tokens(text: &str) -> Result<Vec<(Token, Range<usize>)>, Fault> {
    let mut found: Vec<(Token, Range<usize>)> = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let start = at;
        let token = if c.is_whitespace() {
            at += c.len_utf8();
            continue;
        } else if c.is_ascii_digit() || c == '.' {
            let (token, end) = number(text, start)?;
            at = end;
            token
        } else if c.is_ascii_alphabetic() || c == '_' {
            at = word_end(text, start);
            let name = &text[start..at];
            if name.contains(|c: char| c.is_ascii_uppercase()) {
                let message = format!("`{name}` is not a name: names are lower case");
                return Err(fault(start..at, message));
            }
            Token::Name(name.to_owned())
        } else if "+-*/%(),".contains(c) {
            at += 1;
            Token::Sign(c)
        } else {
            let span = start..start + c.len_utf8();
            let shown = c.escape_debug();
            return Err(fault(span, format!("`{shown}` has no meaning in an expression")));
        };
        found.push((token, start..at));
        if found.len() > TOKENS_MAX {
            let message = format!("the expression has more than {TOKENS_MAX} parts");
            return Err(fault(start..at, message));
        }
    }
    Ok(found)
}

fn word_end(text: &str, start: usize) -> usize {
    let rest = &text[start..];
    let length = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    start + length.unwrap_or(rest.len())
}

/// Reads digits, a fraction and an exponent: where they end.
fn digits_end(text: &str, start: usize) -> usize {
    let bytes = text.as_bytes();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let run = |mut at: usize| {
        while is_digit(at) || (bytes.get(at) == Some(&b'_') && is_digit(at + 1)) {
            at += 1;
        }
        at
    };
    let mut at = run(start);
    if bytes.get(at) == Some(&b'.') {
        at = run(at + 1);
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let signed = matches!(bytes.get(at + 1), Some(b'+' | b'-'));
        let exponent = at + 1 + usize::from(signed);
        if is_digit(exponent) {
            at = run(exponent);
        }
    }
    at
}

/// A literal with its unit, and where it ends.
fn number(text: &str, start: usize) -> Result<(Token, usize), Fault> {
    let end = digits_end(text, start);
    let digits = text[start..end].replace('_', "");
    let Ok(value) = digits.parse::<f64>() else {
        return Err(fault(start..end, format!("`{}` is not a number", &text[start..end])));
    };
    let (unit, factor, end) = suffix(text, start, end)?;
    let value = value * factor;
    if !value.is_finite() {
        return Err(fault(start..end, format!("`{}` is too large a number", &text[start..end])));
    }
    Ok((Token::Number { value, unit }, end))
}

/// The unit after the digits that end at `end`, its factor, and where it ends.
fn suffix(text: &str, start: usize, end: usize) -> Result<(Unit, f64, usize), Fault> {
    let plain = (Unit::Count, 1.0, end);
    let rest = text[end..].trim_start();
    let at = text.len() - rest.len();
    let Some(first) = rest.chars().next() else {
        return Ok(plain);
    };
    if first == '%' {
        let after = rest[1..].trim_start().chars().next();
        let operand = |c: char| c.is_ascii_alphanumeric() || "_.(".contains(c);
        return Ok(match after {
            Some(c) if operand(c) => plain,
            _ => (Unit::Share, 0.01, at + 1),
        });
    }
    if !(first.is_ascii_alphabetic() || first == '_') {
        return Ok(plain);
    }
    let name_end = word_end(text, at);
    let name = &text[at..name_end];
    if let Some((unit, factor)) = unit::suffix(name) {
        return Ok((unit, factor, name_end));
    }
    let known: Vec<&str> = unit::suffixes().collect();
    let lower = |known: &&&str| known.eq_ignore_ascii_case(name);
    // One letter is near every one-letter unit.
    let near = match name.len() {
        1 => None,
        _ => nearest(name, known.iter().copied()),
    };
    let near = known.iter().find(lower).copied().or(near);
    let number = &text[start..end];
    let help = match near {
        Some(near) => format!("did you mean `{number}{near}`? units are {}", known.join(", ")),
        None => format!("units are {}", known.join(", ")),
    };
    let message = format!("unknown unit `{name}`");
    Err(Fault { message, span: at..name_end, help: Some(help) })
}

struct Parser<'a> {
    tokens: &'a [(Token, Range<usize>)],
    at: usize,
    /// Where the text ends, for what is missing there.
    end: usize,
}

impl Parser<'_> {
    fn whole(&mut self) -> Result<Node, Fault> {
        if self.tokens.is_empty() {
            return Err(fault(0..self.end, "the expression is empty"));
        }
        let node = self.sum(0)?;
        match self.tokens.get(self.at) {
            None => Ok(node),
            Some((Token::Sign(')'), range)) => {
                Err(fault(range.clone(), "`)` closes nothing: its `(` is missing"))
            }
            Some((_, range)) => {
                Err(fault(range.clone(), "an operator such as `+` or `*` is missing before this"))
            }
        }
    }

    fn sign(&mut self, wanted: &str) -> Option<char> {
        match self.tokens.get(self.at) {
            Some((Token::Sign(c), _)) if wanted.contains(*c) => {
                self.at += 1;
                Some(*c)
            }
            _ => None,
        }
    }

    /// Where the next token is, or the end of the text.
    fn here(&self) -> Range<usize> {
        self.tokens.get(self.at).map_or(self.end..self.end, |(_, range)| range.clone())
    }

    fn sum(&mut self, depth: usize) -> Result<Node, Fault> {
        if depth > DEPTH_MAX {
            let message = format!("the expression is nested deeper than {DEPTH_MAX}");
            return Err(fault(self.here(), message));
        }
        let mut left = self.product(depth)?;
        while let Some(sign) = self.sign("+-") {
            let op = if sign == '+' { Op::Add } else { Op::Subtract };
            left = binary(op, left, self.product(depth)?);
        }
        Ok(left)
    }

    fn product(&mut self, depth: usize) -> Result<Node, Fault> {
        let mut left = self.operand(depth)?;
        while let Some(sign) = self.sign("*/%") {
            let op = match sign {
                '*' => Op::Multiply,
                '/' => Op::Divide,
                _ => Op::Remainder,
            };
            left = binary(op, left, self.operand(depth)?);
        }
        Ok(left)
    }

    fn operand(&mut self, depth: usize) -> Result<Node, Fault> {
        if depth > DEPTH_MAX {
            let message = format!("the expression is nested deeper than {DEPTH_MAX}");
            return Err(fault(self.here(), message));
        }
        let here = self.here();
        let Some((token, _)) = self.tokens.get(self.at) else {
            return Err(fault(here, "a number or a name is missing at the end"));
        };
        self.at += 1;
        match token {
            Token::Number { value, unit } => Ok(Node::Number { value: *value, unit: *unit }),
            Token::Name(name) => match self.sign("(") {
                Some(_) => self.call(name, here, depth),
                None => Ok(Node::Name(name.clone())),
            },
            Token::Sign('-') => Ok(Node::Negate(Box::new(self.operand(depth + 1)?))),
            Token::Sign('(') => {
                let inner = self.sum(depth + 1)?;
                self.close(here)?;
                Ok(inner)
            }
            Token::Sign(c) => {
                Err(fault(here, format!("a number or a name is missing before `{c}`")))
            }
        }
    }

    fn close(&mut self, open: Range<usize>) -> Result<(), Fault> {
        match self.sign(")") {
            Some(_) => Ok(()),
            None if self.at == self.tokens.len() => {
                Err(fault(open, "`(` is never closed: its `)` is missing"))
            }
            None => Err(fault(self.here(), "`)` or an operator is missing before this")),
        }
    }

    fn call(&mut self, name: &str, name_range: Range<usize>, depth: usize) -> Result<Node, Fault> {
        let rows = Function::ROWS;
        let Some(&(function, _, least, most)) = rows.iter().find(|row| row.1 == name) else {
            let known = rows.iter().map(|row| row.1);
            let help = match nearest(name, known.clone()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("functions are {}", known.collect::<Vec<_>>().join(", ")),
            };
            let message = format!("unknown function `{name}`");
            return Err(Fault { message, span: name_range, help: Some(help) });
        };
        let open = self.tokens[self.at - 1].1.clone();
        let mut args = Vec::new();
        if self.sign(")").is_none() {
            args.push(self.sum(depth + 1)?);
            while self.sign(",").is_some() {
                args.push(self.sum(depth + 1)?);
            }
            self.close(open)?;
        }
        if (least..=most).contains(&args.len()) {
            return Ok(Node::Call { function, args });
        }
        let end = self.tokens[self.at - 1].1.end;
        let takes = if least == most { least.to_string() } else { format!("{least} to {most}") };
        let noun = if most == 1 { "argument" } else { "arguments" };
        let message = format!("`{name}` takes {takes} {noun}, not {}", args.len());
        Err(fault(name_range.start..end, message))
    }
}

fn binary(op: Op, left: Node, right: Node) -> Node {
    Node::Binary { op, left: Box::new(left), right: Box::new(right) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn faults_point_at_the_text() {
        let check = |text: &str, marked: &str, message: &str| {
            let fault = Expr::parse(text, 10).unwrap_err();
            let span = fault.span.start - 10..fault.span.end - 10;
            assert_eq!((&text[span], fault.message.as_str()), (marked, message), "{text}");
        };
        check("1x", "x", "unknown unit `x`");
        check("10 + 5 seconds", "seconds", "unknown unit `seconds`");
        check("1 +", "", "a number or a name is missing at the end");
        check("* 2", "*", "a number or a name is missing before `*`");
        check("(1 + 2", "(", "`(` is never closed: its `)` is missing");
        check("1 + 2)", ")", "`)` closes nothing: its `(` is missing");
        check("a b", "b", "an operator such as `+` or `*` is missing before this");
        check("max(a b)", "b", "`)` or an operator is missing before this");
        check("max(1)", "max(1)", "`max` takes 2 to 8 arguments, not 1");
        check("1 + floor(1, 2)", "floor(1, 2)", "`floor` takes 1 argument, not 2");
        check("maxx(1, 2)", "maxx", "unknown function `maxx`");
        check("inbox[me]", "[", "`[` has no meaning in an expression");
        check("1.2.3", ".3", "an operator such as `+` or `*` is missing before this");
        check(".", ".", "`.` is not a number");
        check("1e999", "1e999", "`1e999` is too large a number");
        check("NaN", "NaN", "`NaN` is not a name: names are lower case");
        check("é", "é", "`é` has no meaning in an expression");
        check("  ", "", "the expression is empty");
        let deep = "(".repeat(200);
        let fault = Expr::parse(&deep, 0).unwrap_err();
        assert_eq!(fault.message, "the expression is nested deeper than 64");
        let minus = "-".repeat(200);
        let fault = Expr::parse(&minus, 0).unwrap_err();
        assert_eq!(fault.message, "the expression is nested deeper than 64");
    }

    #[test]
    fn suggests_units() {
        let help = |text| Expr::parse(text, 0).unwrap_err().help.unwrap_or_default();
        assert!(help("64mib").starts_with("did you mean `64MiB`? units are ns, us,"));
        assert!(help("1xyzzy").starts_with("units are ns, us, ms, s, min, B,"));
    }

    #[test]
    fn finds_the_places_of_names() {
        let expr = Expr::parse("max(a, bb) + a", 100).unwrap();
        let expected = [("a", 104..105), ("bb", 107..109), ("a", 113..114)];
        let expected: Vec<_> = expected.map(|(name, at)| (name.to_owned(), at)).into();
        assert_eq!(expr.named_places(), expected);
    }

    /// Trees whose literals print exactly.
    pub(crate) fn nodes() -> impl Strategy<Value = Node> {
        let unit = prop_oneof![Just(Unit::Count), Just(Unit::Time), Just(Unit::Bytes)];
        let leaf = prop_oneof![
            (0..1_000_000u32, unit)
                .prop_map(|(value, unit)| Node::Number { value: value.into(), unit }),
            "[a-z][a-z0-9_]{0,5}".prop_map(Node::Name),
        ];
        leaf.prop_recursive(4, 24, 3, |inner| {
            let op = prop_oneof![
                Just(Op::Add),
                Just(Op::Subtract),
                Just(Op::Multiply),
                Just(Op::Divide),
                Just(Op::Remainder)
            ];
            prop_oneof![
                inner.clone().prop_map(|node| Node::Negate(Box::new(node))),
                (op, inner.clone(), inner.clone()).prop_map(|(op, l, r)| binary(op, l, r)),
                prop::collection::vec(inner.clone(), 2..4)
                    .prop_map(|args| Node::Call { function: Function::Max, args }),
                inner.prop_map(|arg| Node::Call { function: Function::Ceil, args: vec![arg] }),
            ]
        })
    }

    /// So many cases, and no file of those that failed.
    fn cases(count: u32) -> ProptestConfig {
        ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(count) }
    }

    proptest! {
        #![proptest_config(cases(128))]

        #[test]
        fn prints_what_it_reads(node in nodes()) {
            let text = node.to_string();
            let read = Expr::parse(&text, 0).map(|expr| expr.node);
            prop_assert_eq!(read, Ok(node), "{}", text);
        }

        #[test]
        fn never_panics(text in "[a-c0-9%+*/() .,_eEé-]{0,24}") {
            if let Err(fault) = Expr::parse(&text, 0) {
                prop_assert!(text.get(fault.span).is_some());
            }
        }
    }
}
