//! `schedload report`: stored reports, printed again.
//!
//! Must not know: what is in a report.

use crate::cli::document::Document;
use crate::cli::error::Error;
use crate::cli::exit::Exit;
use crate::cli::outputs;
use crate::cli::sink::Sink;
use clap::ArgMatches;
use std::fs;
use std::io::{self, Read};
use std::path::PathBuf;

pub fn report(matches: &ArgMatches) -> Result<Exit, Error> {
    let format = outputs::format(matches)?;
    let out = matches.get_one::<String>("out").map_or("-", String::as_str);
    let mut sink = Sink::open(out)?;
    let options = outputs::options(matches, Some(&sink));
    let mut texts = Vec::new();
    for file in matches.get_many::<String>("files").into_iter().flatten() {
        texts.push(read(file)?.render(format, &options)?);
    }
    sink.finish(&texts.join("\n"))?;
    Ok(Exit::Done)
}

fn read(file: &str) -> Result<Document, Error> {
    let path = PathBuf::from(file);
    let text = match file {
        "-" => {
            let mut text = String::new();
            io::stdin().read_to_string(&mut text).map(|_| text)
        }
        _ => fs::read_to_string(&path),
    };
    match text {
        Ok(text) => Document::from_json(&text).map_err(|error| Error::NoReport { path, error }),
        Err(error) => Err(Error::Read { path, error }),
    }
}
