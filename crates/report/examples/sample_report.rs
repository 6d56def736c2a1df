//! Writes the reports of made-up runs: `cargo run -p brunt-report --example sample_report --
//! FOLDER`.

#[path = "../tests/report/sample/mod.rs"]
mod sample;

use std::path::Path;

use brunt_report::{RunFolder, Timestamp};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let parent = std::env::args().nth(1).ok_or("name a folder to write to")?;
    for (name, passes) in [("pass", true), ("fail", false)] {
        let run = sample::run(passes);
        let folder = RunFolder::create(Path::new(&parent), Timestamp::default(), name)?;
        folder.write("report.html", brunt_report::report_html(&run).as_bytes())?;
        eprintln!("{}", folder.file("report.html").display());
    }
    Ok(())
}
