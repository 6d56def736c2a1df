//! A release: the program, what it needs, and the texts beside it, packed in three ways.
//!
//! | file | content |
//! | --- | --- |
//! | `brunt-VERSION-MACHINE-linux-gnu.tar.gz` | one folder: program, licences, README, docs, examples, man pages, completions |
//! | `brunt_VERSION_MACHINE.deb` | the same where Debian has it |
//! | `Containerfile` | Debian 12 with that package |
//!
//! A statically linked program is for any Linux: its tarball ends in `linux-musl`, and it gets no
//! package of its own.

use std::io;

use crate::archive::gzip;
use crate::needs::{GlibcVersion, Needs, NeedsError};
use crate::{Files, debian};

/// The licences of the program and of the fonts in it, by their names in the repository and in a
/// release.
pub const LICENCES: [(&str, &str); 3] = [
    ("LICENSE-MIT", "LICENSE-MIT"),
    ("LICENSE-APACHE", "LICENSE-APACHE"),
    ("crates/paper/fonts/LICENSE", "LICENSE-FONTS"),
];

/// Texts and folders of texts of the repository that go with the program.
pub const TEXTS: [&str; 5] = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs", "examples"];

/// Shells that get completions, and the name of the file that each looks for.
pub const COMPLETIONS: [(&str, &str); 3] =
    [("bash", "brunt.bash"), ("zsh", "_brunt"), ("fish", "brunt.fish")];

/// What the program says of its command line.
#[derive(Clone, Debug, Default)]
pub struct Manual {
    /// Man pages, by their names.
    pub pages: Files,
    /// Files of [`COMPLETIONS`].
    pub completions: Files,
}

/// What is packed.
#[derive(Debug)]
pub struct Release {
    version: String,
    program: Vec<u8>,
    needs: Needs,
    texts: Files,
    manual: Manual,
    time: u64,
}

/// A file that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packed {
    /// Its name.
    pub name: String,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// Why something cannot be packed.
#[derive(Debug, thiserror::Error)]
pub enum ReleaseError {
    /// The program is none.
    #[error("the program {0}")]
    Program(#[from] NeedsError),
    /// It needs a newer glibc than Debian 12 has.
    #[error(
        "the program needs glibc {needed} ({library}), and Debian 12 has {}\n  build it on Debian 12 or something as old",
        GlibcVersion::DEBIAN_12
    )]
    TooNew {
        /// The version.
        needed: GlibcVersion,
        /// The library that has the symbol.
        library: String,
    },
    /// It needs a library whose package is not known.
    #[error("the program needs {0}, and no Debian package is known for it")]
    Library(String),
    /// An archive cannot hold something.
    #[error("cannot be packed: {0}")]
    Archive(#[from] io::Error),
}

impl Release {
    /// The release of `program`, with its `manual`. Every file in it was changed at `time`, in
    /// seconds since 1970.
    ///
    /// `texts` are [`LICENCES`], those of the crates in the program, and [`TEXTS`], by their paths
    /// in a release.
    ///
    /// # Errors
    /// [`ReleaseError`] when the program is for no known machine, or does not run on Debian 12.
    pub fn new(
        version: &str,
        program: Vec<u8>,
        manual: Manual,
        texts: Files,
        time: u64,
    ) -> Result<Self, ReleaseError> {
        let needs = Needs::of(&program)?;
        runs_on_debian_12(&needs)?;
        Ok(Self { version: version.to_owned(), program, needs, texts, manual, time })
    }

    /// What the program needs.
    pub fn needs(&self) -> &Needs {
        &self.needs
    }

    /// Everything that is made of the program.
    ///
    /// # Errors
    /// [`ReleaseError`] when one of them cannot be made.
    pub fn pack(&self) -> Result<Vec<Packed>, ReleaseError> {
        let tarball = self.tarball()?;
        if self.needs.is_static() {
            return Ok(vec![tarball]);
        }
        let package = self.package()?;
        let container = container(&package.name);
        Ok(vec![tarball, package, container])
    }

    /// The tarball.
    ///
    /// # Errors
    /// [`ReleaseError`] when an archive cannot hold something.
    pub fn tarball(&self) -> Result<Packed, ReleaseError> {
        let libc = if self.needs.is_static() { "musl" } else { "gnu" };
        let machine = self.needs.machine.name();
        let folder = format!("brunt-{}-{machine}-linux-{libc}", self.version);
        let mut files = self.texts.clone();
        files.program("brunt", self.program.clone());
        files.extend(&self.manual.pages.below("man/man1"));
        files.extend(&self.manual.completions.below("completions"));
        let bytes = gzip(&files.below(&folder).tar(self.time)?)?;
        let name = format!("{folder}.tar.gz");
        Ok(Packed { name, bytes })
    }

    /// The Debian package.
    ///
    /// # Errors
    /// [`ReleaseError`] when no package is known for a library, or an archive cannot hold
    /// something.
    pub fn package(&self) -> Result<Packed, ReleaseError> {
        let depends = debian::depends(&self.needs).map_err(ReleaseError::Library)?;
        let files = self.installed()?;
        let sizes = files.iter().map(|(_, file)| file.bytes.len() as u64);
        let control = debian::control(&self.version, &self.needs, &depends, sizes.sum());
        let machine = self.needs.machine.debian();
        Ok(Packed {
            name: format!("brunt_{}_{machine}.deb", self.version),
            bytes: debian::package(&control, &files, self.time)?,
        })
    }

    /// The files where Debian has them.
    fn installed(&self) -> Result<Files, ReleaseError> {
        let mut files = self.texts.below("usr/share/doc/brunt");
        files.text("usr/share/doc/brunt/copyright", debian::copyright());
        files.program("usr/bin/brunt", self.program.clone());
        for (name, page) in self.manual.pages.iter() {
            files.text(format!("usr/share/man/man1/{name}.gz"), gzip(&page.bytes)?);
        }
        for (name, file) in self.manual.completions.iter() {
            let place = match name {
                "brunt.bash" => "bash-completion/completions/brunt",
                "_brunt" => "zsh/vendor-completions/_brunt",
                _ => "fish/vendor_completions.d/brunt.fish",
            };
            files.text(format!("usr/share/{place}"), file.bytes.clone());
        }
        Ok(files)
    }
}

fn runs_on_debian_12(needs: &Needs) -> Result<(), ReleaseError> {
    match needs.glibc {
        Some(needed) if needed > GlibcVersion::DEBIAN_12 => Err(ReleaseError::TooNew {
            needed,
            library: needs.newest_of().unwrap_or_default().to_owned(),
        }),
        _ => Ok(()),
    }
}

/// The file that makes a container of the package beside it.
fn container(package: &str) -> Packed {
    let text = format!(
        "# podman build --tag brunt . && podman run --rm --volume /mnt/a:/work brunt run
FROM debian:12-slim
COPY {package} /tmp/
RUN dpkg --install /tmp/{package} && rm /tmp/{package}
WORKDIR /work
ENTRYPOINT [\"brunt\"]
"
    );
    Packed { name: "Containerfile".to_owned(), bytes: text.into_bytes() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::needs::Machine;

    fn needs(glibc: GlibcVersion) -> Needs {
        let libraries = vec!["libc.so.6".to_owned()];
        Needs::new(Machine::Aarch64, libraries, Some(glibc))
    }

    fn release() -> Release {
        let mut texts = Files::default();
        texts.text("docs/guide.md", "From mailboxes to a paper");
        let mut pages = Files::default();
        pages.text("brunt.1", ".TH brunt 1");
        Release {
            version: "1.2.3".to_owned(),
            program: vec![1; 100],
            needs: needs(GlibcVersion(2, 34)),
            texts,
            manual: Manual { pages, ..Manual::default() },
            time: 1_700_000_000,
        }
    }

    #[test]
    fn equal_inputs_give_equal_files() {
        let packed = release().pack().unwrap();
        assert_eq!(packed, release().pack().unwrap());
        let names: Vec<&str> = packed.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(
            names,
            ["brunt-1.2.3-aarch64-linux-gnu.tar.gz", "brunt_1.2.3_arm64.deb", "Containerfile"]
        );
        let container = String::from_utf8_lossy(&packed[2].bytes);
        assert!(container.contains("COPY brunt_1.2.3_arm64.deb "));
    }

    #[test]
    fn a_program_that_is_too_new_for_debian_12_is_refused() {
        assert!(runs_on_debian_12(&needs(GlibcVersion(2, 36))).is_ok());
        let refused = runs_on_debian_12(&needs(GlibcVersion(2, 38)));
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("needs glibc 2.38"), "{refused}");
    }
}
