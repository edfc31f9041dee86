//! The known word that a mistyped one most likely meant.

/// The nearest of `known` to `word`, if it is near enough to be worth suggesting.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(word, candidate), candidate))
        .filter(|&(distance, candidate)| distance <= (candidate.len().max(word.len()) / 3).max(1))
        .min()
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggests_only_what_is_near() {
        let known = ["hackbench", "pingpong", "fanout"];
        let check = |word, expected| assert_eq!(nearest(word, known), expected, "for {word}");
        check("hackbnech", Some("hackbench"));
        check("ping-pong", Some("pingpong"));
        check("fanuot", Some("fanout"));
        check("stream", None);
        check("", None);
    }
}
