//! Paths of Windows on Linux: as the user maps them, or below `/mnt` with the letter of the drive.

/// Which folders of Windows are which folders here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathMap(Vec<(String, String)>);

impl PathMap {
    /// Adds `C:\Vol1=/mnt/vol1`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn add(&mut self, mapping: &str) -> Result<(), String> {
        let example = "for example: --map 'C:\\Vol1=/mnt/vol1'";
        let Some((from, to)) = mapping.split_once('=') else {
            return Err(format!("`{mapping}` has no `=`\n  {example}"));
        };
        if from.is_empty() || !to.starts_with('/') {
            return Err(format!("`{mapping}` does not lead to an absolute path\n  {example}"));
        }
        let to = to.trim_end_matches('/').to_owned();
        self.0.push((plain(from), to));
        Ok(())
    }

    /// The folders of Windows that none of `paths` lies below.
    pub fn unused(&self, paths: &[String]) -> Vec<&str> {
        let all: Vec<String> = paths.iter().map(|path| plain(path)).collect();
        let is_used = |from: &str| all.iter().any(|path| rest_below(path, from).is_some());
        let folders = self.0.iter().map(|(from, _)| from.as_str());
        folders.filter(|from| !is_used(from)).collect()
    }

    /// The path here, and whether it was mapped; `None` where `..` leads out of a folder.
    pub fn here(&self, path: &str) -> Option<(String, bool)> {
        let plain = plain(path);
        match plain.split('/').any(|part| part == "..") {
            true => None,
            false => Some(self.below(plain)),
        }
    }

    fn below(&self, plain: String) -> (String, bool) {
        let mapped = self.0.iter().filter_map(|(from, to)| {
            let rest = rest_below(&plain, from)?;
            Some((from.len(), format!("{to}{rest}")))
        });
        if let Some((_, path)) = mapped.max_by_key(|(length, _)| *length) {
            return (path, true);
        }
        let path = match plain.split_once(':') {
            Some((drive, rest)) if drive.len() == 1 => {
                format!("/mnt/{}{rest}", drive.to_ascii_lowercase())
            }
            _ if plain.starts_with('/') => return (plain, true),
            _ => format!("/mnt/{plain}"),
        };
        (path.trim_end_matches('/').to_owned(), false)
    }
}

/// What follows `folder` in `path`, if it lies there. Windows does not tell capitals from small
/// letters.
fn rest_below<'p>(path: &'p str, folder: &str) -> Option<&'p str> {
    let (head, rest) = path.split_at_checked(folder.len())?;
    let fits = head.eq_ignore_ascii_case(folder) && (rest.is_empty() || rest.starts_with('/'));
    fits.then_some(rest)
}

/// With slashes, and without one at the end.
fn plain(path: &str) -> String {
    let path = path.trim().replace('\\', "/");
    let rest = path.trim_end_matches('/');
    match rest.is_empty() {
        true => path,
        false => rest.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_mapping_counts_and_the_others_go_below_mnt() {
        let mut map = PathMap::default();
        map.add("C:\\Volumes=/mnt/v/").unwrap();
        map.add("c:\\volumes\\Vol2=/two").unwrap();
        assert_eq!(map.here("C:\\Volumes\\..\\..\\etc"), None);
        let here = |path: &str| map.here(path).unwrap();
        assert_eq!(here("C:\\volumes\\Vol1\\db"), ("/mnt/v/Vol1/db".to_owned(), true));
        assert_eq!(here("C:\\Volumes\\VOL2\\"), ("/two".to_owned(), true));
        assert_eq!(here("C:\\Volumes2"), ("/mnt/c/Volumes2".to_owned(), false));
        assert_eq!(here("D:\\"), ("/mnt/d".to_owned(), false));
        assert_eq!(here("/srv/db/"), ("/srv/db".to_owned(), true));
        map.add("D:\\nope=/x").unwrap();
        let paths = ["C:\\volumes\\Vol2\\db".to_owned()];
        assert_eq!(map.unused(&paths), ["D:/nope"]);
        assert!(map.add("C:\\x").is_err() && map.add("C:\\x=relative").is_err());
    }
}
