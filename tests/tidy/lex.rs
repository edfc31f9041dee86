//! Just enough of Rust's grammar to tell code from comments, literals and tests.
//!
//! Must not know: files, rules.

/// A word, `::`, or a single character of punctuation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    pub text: String,
    /// From 1.
    pub line: usize,
    /// Whether it belongs to an item under `#[cfg(test)]` or `#[test]`.
    pub test: bool,
}

/// The code of `text` as tokens, those of tests marked.
pub fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    for (idx, line) in blank(text).lines().enumerate() {
        split_line(line, idx + 1, &mut tokens);
    }
    mark_tests(&mut tokens);
    tokens
}

/// Whether `tokens` begins with these texts.
pub fn starts_with(tokens: &[Token], texts: &[&str]) -> bool {
    tokens.len() >= texts.len() && tokens.iter().zip(texts).all(|(t, text)| t.text == *text)
}

/// Names in `#[cfg(test)] mod name;`.
pub fn test_modules(tokens: &[Token]) -> Vec<&str> {
    tokens
        .windows(3)
        .filter(|three| three[0].test && three[0].text == "mod" && three[2].text == ";")
        .map(|three| three[1].text.as_str())
        .collect()
}

/// Index of the bracket that closes the one at `open`, or the last index if nothing does.
pub fn closing(tokens: &[Token], open: usize) -> usize {
    let mut depth = 0;
    for (idx, token) in tokens.iter().enumerate().skip(open) {
        match token.text.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return idx;
        }
    }
    tokens.len() - 1
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn split_line(line: &str, number: usize, tokens: &mut Vec<Token>) {
    let mut rest = line.trim_start();
    while let Some(first) = rest.chars().next() {
        let len = if is_word(first) {
            rest.find(|c| !is_word(c)).unwrap_or(rest.len())
        } else if rest.starts_with("::") {
            2
        } else {
            first.len_utf8()
        };
        tokens.push(Token { text: rest[..len].to_owned(), line: number, test: false });
        rest = rest[len..].trim_start();
    }
}

/// `text` with every comment and literal turned into spaces; lines stay where they are.
pub fn blank(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let end = match chars[at] {
            '/' if chars.get(at + 1) == Some(&'/') => line_end(&chars, at),
            '/' if chars.get(at + 1) == Some(&'*') => comment_end(&chars, at),
            '"' => string_end(&chars, at),
            '\'' => char_end(&chars, at),
            c if is_word(c) => {
                let end = word_end(&chars, at);
                let prefix: String = chars[at..end].iter().collect();
                match literal_end(&chars, &prefix, end) {
                    Some(literal) => literal,
                    None => {
                        out.push_str(&prefix);
                        at = end;
                        continue;
                    }
                }
            }
            _ => at,
        };
        if end == at {
            out.push(chars[at]);
            at += 1;
        } else {
            out.extend(chars[at..end].iter().map(|c| if *c == '\n' { '\n' } else { ' ' }));
            at = end;
        }
    }
    out
}

fn word_end(chars: &[char], at: usize) -> usize {
    (at..chars.len()).find(|i| !is_word(chars[*i])).unwrap_or(chars.len())
}

fn line_end(chars: &[char], at: usize) -> usize {
    (at..chars.len()).find(|i| chars[*i] == '\n').unwrap_or(chars.len())
}

fn comment_end(chars: &[char], at: usize) -> usize {
    let mut depth = 0;
    let mut i = at;
    while i + 1 < chars.len() {
        match (chars[i], chars[i + 1]) {
            ('/', '*') => depth += 1,
            ('*', '/') => depth -= 1,
            _ => {
                i += 1;
                continue;
            }
        }
        i += 2;
        if depth == 0 {
            return i;
        }
    }
    chars.len()
}

/// After the quote that ends the string whose quote is at `at`.
fn string_end(chars: &[char], at: usize) -> usize {
    let mut i = at + 1;
    while i < chars.len() && chars[i] != '"' {
        i += if chars[i] == '\\' { 2 } else { 1 };
    }
    (i + 1).min(chars.len())
}

/// After the character literal whose quote is at `at`; `at` itself for a lifetime or label.
fn char_end(chars: &[char], at: usize) -> usize {
    if chars.get(at + 1) == Some(&'\\') {
        let mut i = at + 3;
        while i < chars.len() && chars[i] != '\'' {
            i += 1;
        }
        return (i + 1).min(chars.len());
    }
    if chars.get(at + 2) == Some(&'\'') {
        return at + 3;
    }
    at
}

/// After a literal that the word before `at` is the prefix of: `b"`, `r#"`, `c"`, `b'`.
fn literal_end(chars: &[char], prefix: &str, at: usize) -> Option<usize> {
    let next = *chars.get(at)?;
    match prefix {
        "b" if next == '\'' => Some(char_end(chars, at)),
        "b" | "c" if next == '"' => Some(string_end(chars, at)),
        "r" | "br" | "cr" => {
            let n_hashes = chars[at..].iter().take_while(|c| **c == '#').count();
            if chars.get(at + n_hashes) != Some(&'"') {
                return None;
            }
            let mut end = vec!['"'];
            end.resize(n_hashes + 1, '#');
            let body = at + n_hashes + 1;
            let found = chars[body..].windows(end.len()).position(|w| w == end);
            Some(found.map_or(chars.len(), |i| body + i + end.len()))
        }
        _ => None,
    }
}

/// Marks every item that `#[cfg(test)]` or `#[test]` stands before.
fn mark_tests(tokens: &mut [Token]) {
    let mut at = 0;
    while at < tokens.len() {
        if !starts_with(&tokens[at..], &["#", "["]) {
            at += 1;
            continue;
        }
        let close = closing(tokens, at + 1);
        if !is_test_attribute(&tokens[at + 2..close]) {
            at = close + 1;
            continue;
        }
        let end = item_end(tokens, close + 1);
        for token in &mut tokens[at..=end] {
            token.test = true;
        }
        at = end + 1;
    }
}

fn is_test_attribute(inside: &[Token]) -> bool {
    let has = |text| inside.iter().any(|token| token.text == text);
    match inside {
        [only] => only.text == "test",
        [first, ..] => first.text == "cfg" && has("test") && !has("not") && !has("any"),
        [] => false,
    }
}

/// Index of the last token of the item that begins at `at`, its other attributes included.
fn item_end(tokens: &[Token], mut at: usize) -> usize {
    while starts_with(&tokens[at.min(tokens.len())..], &["#", "["]) {
        at = closing(tokens, at + 1) + 1;
    }
    let ends_with_brace = !tokens[at.min(tokens.len())..]
        .iter()
        .take_while(|token| token.text != "{" && token.text != ";")
        .any(|token| matches!(token.text.as_str(), "use" | "static" | "type" | "="));
    while at < tokens.len() {
        match tokens[at].text.as_str() {
            ";" => return at,
            "{" if ends_with_brace => return closing(tokens, at),
            "(" | "[" | "{" => at = closing(tokens, at),
            _ => {}
        }
        at += 1;
    }
    tokens.len() - 1
}

#[test]
fn comments_and_literals_are_not_code() {
    let check = |text: &str, expected: &[&str]| {
        let tokens = tokens(text);
        let texts: Vec<&str> = tokens.iter().map(|token| token.text.as_str()).collect();
        assert_eq!(texts, expected, "{text}");
    };
    check("a // b\nc", &["a", "c"]);
    check("a /* b /* c */ d */ e", &["a", "e"]);
    check(r#"a("b \" c", d)"#, &["a", "(", ",", "d", ")"]);
    check("r#\"a \" b\"# c r\"\\\" d", &["c", "d"]);
    check("b'a' b\"c\" 'd' '\\'' '\\u{41}' e", &["e"]);
    check(
        "fn f<'a>(x: &'a T)",
        &["fn", "f", "<", "'", "a", ">", "(", "x", ":", "&", "'", "a", "T", ")"],
    );
    check("a::b:c", &["a", "::", "b", ":", "c"]);
    check("r#type", &["r", "#", "type"]);
}

#[test]
fn tests_are_marked() {
    let check = |text: &str, expected: &str| {
        let product: Vec<String> =
            tokens(text).into_iter().filter(|token| !token.test).map(|token| token.text).collect();
        assert_eq!(product.join(" "), expected, "{text}");
    };
    check("a; #[cfg(test)] mod t { b } c;", "a ; c ;");
    check("#[cfg(test)] #[allow(x)] mod t; c;", "c ;");
    check("#[cfg(test)] use a::{b, c}; d;", "d ;");
    check("#[test] fn t(a: [u8; 2]) { b } c;", "c ;");
    check("#[cfg(all(test, unix))] const A: T = T { b }; c;", "c ;");
    check("#[cfg(not(test))] mod t { b }", "# [ cfg ( not ( test ) ) ] mod t { b }");
}
