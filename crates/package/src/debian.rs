//! A Debian package: an `ar` archive of a version, of what dpkg reads (`control.tar.gz`) and of
//! what it unpacks (`data.tar.gz`).
//!
//! Source: deb(5), deb-control(5), Debian policy 12.5 (copyright).

use std::io;

use md5::{Digest, Md5};

use crate::Files;
use crate::archive::gzip;
use crate::needs::{GlibcVersion, Needs};

/// The package of each library that the program may need.
const PACKAGES: [(&str, &str); 5] = [
    ("ld-linux-x86-64.so.2", LIBC),
    ("ld-linux-aarch64.so.1", LIBC),
    ("libc.so.6", LIBC),
    ("libm.so.6", LIBC),
    ("libgcc_s.so.1", "libgcc-s1"),
];
const LIBC: &str = "libc6";

/// What it depends on, or the library that has no known package.
pub(crate) fn depends(needs: &Needs) -> Result<String, String> {
    let mut packages = Vec::new();
    for library in &needs.libraries {
        let known = PACKAGES.iter().find(|(name, _)| name == library);
        let (_, package) = known.ok_or_else(|| library.clone())?;
        let package = match (*package, needs.glibc) {
            (LIBC, Some(version)) => at_least(version),
            (package, _) => package.to_owned(),
        };
        packages.push(package);
    }
    packages.sort();
    packages.dedup();
    Ok(packages.join(", "))
}

fn at_least(version: GlibcVersion) -> String {
    format!("{LIBC} (>= {version})")
}

/// The file `control` of a package that takes `bytes` when it is installed.
pub(crate) fn control(version: &str, needs: &Needs, depends: &str, bytes: u64) -> String {
    let depends = match depends {
        "" => String::new(),
        depends => format!("Depends: {depends}\n"),
    };
    format!(
        "Package: brunt\n\
         Version: {version}\n\
         Architecture: {}\n\
         Maintainer: The brunt contributors\n\
         Installed-Size: {}\n\
         {depends}Section: admin\n\
         Priority: optional\n\
         Description: qualifies storage for mail servers\n \
         Mailbox sessions drive a storage engine that works like Exchange's own,\n \
         on real storage or on modelled arrays. Afterwards every page, log and\n \
         record is verified, and rules give a verdict.\n",
        needs.machine.debian(),
        bytes.div_ceil(1024),
    )
}

/// The package of `files`, which lie where they are to be installed.
pub(crate) fn package(control: &str, files: &Files, time: u64) -> io::Result<Vec<u8>> {
    let mut read_by_dpkg = Files::default();
    read_by_dpkg.text("control", control);
    read_by_dpkg.text("md5sums", digests(files));
    let parts = [
        ("debian-binary", b"2.0\n".to_vec()),
        ("control.tar.gz", gzip(&read_by_dpkg.tar(time)?)?),
        ("data.tar.gz", gzip(&files.tar(time)?)?),
    ];
    let mut archive = ar::Builder::new(Vec::new());
    for (name, bytes) in parts {
        let mut header = ar::Header::new(name.as_bytes().to_vec(), bytes.len() as u64);
        header.set_mode(0o100_644);
        header.set_mtime(time);
        archive.append(&header, bytes.as_slice())?;
    }
    archive.into_inner()
}

/// A line for each file: `dpkg --verify` reads them.
fn digests(files: &Files) -> String {
    let lines = files.iter().map(|(path, file)| {
        let digest = Md5::digest(&file.bytes);
        let digits: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{digits}  {path}\n")
    });
    lines.collect()
}

/// The file `copyright`, in the form that machines read.
pub(crate) fn copyright() -> String {
    "\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: brunt

Files: *
Copyright: 2026 The brunt contributors
License: MIT or Apache-2.0
 The licences are in the files LICENSE-MIT and LICENSE-APACHE beside this one.
 Liberation Sans and Liberation Mono, which are part of the program, have the
 licence in the file LICENSE-FONTS. The crates that are part of the program,
 and their licences, are in the file LICENSES-OF-CRATES.
"
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::needs::Machine;

    fn needs(libraries: &[&str], glibc: Option<GlibcVersion>) -> Needs {
        let libraries = libraries.iter().map(|&name| name.to_owned()).collect();
        Needs::new(Machine::X86_64, libraries, glibc)
    }

    #[test]
    fn libraries_become_packages() {
        let needed = needs(&["libc.so.6", "libgcc_s.so.1", "libm.so.6"], Some(GlibcVersion(2, 34)));
        assert_eq!(depends(&needed).unwrap(), "libc6 (>= 2.34), libgcc-s1");
        assert_eq!(depends(&needs(&[], None)).unwrap(), "");
        assert_eq!(depends(&needs(&["libfoo.so.1"], None)).unwrap_err(), "libfoo.so.1");
    }

    #[test]
    fn a_control_file_has_a_field_in_each_line() {
        let text = control("1.2.3", &needs(&[], None), "", 2049);
        for line in text.lines() {
            assert!(line.starts_with(' ') || line.contains(": "), "{line}");
        }
        assert!(text.contains("\nInstalled-Size: 3\nSection: "), "{text}");
    }

    #[test]
    fn digests_are_those_of_md5sum() {
        let mut files = Files::default();
        files.text("usr/a", "");
        assert_eq!(digests(&files), "d41d8cd98f00b204e9800998ecf8427e  usr/a\n");
    }
}
