//! Memory in huge pages, for predictions.
//!
//! A prediction touches a gigabyte and more in an order that is chance. In pages of 4 KiB nearly every touch waits twice: for the
//! memory, and before that for the address of its page. Most systems give huge pages only to those who ask
//! (`/sys/kernel/mm/transparent_hugepage/enabled` says `madvise`), and the C library asks when its environment tells it to as the
//! process begins, not later. So the program begins again, in the same process, with that in its environment. Other C libraries
//! do not know the word and take no notice.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Where the GNU C library looks.
const TUNABLES: &str = "GLIBC_TUNABLES";
/// The word for it. Source: the manual of the GNU C Library, "Memory Allocation Tunables"; since version 2.35.
const HUGE_PAGES: &str = "glibc.malloc.hugetlb";

/// Begins the program again with huge pages, unless it was told about them already: by itself, or by whoever started it.
///
/// Comes back when that is so, or when it cannot begin again: then it is slower, and no more.
pub fn ask() {
    let Some(tunables) = tunables(&env::var_os(TUNABLES).unwrap_or_default()) else {
        return;
    };
    let Ok(program) = env::current_exe() else {
        return;
    };
    let mut arguments = env::args_os();
    let mut again = Command::new(program);
    again.arg0(arguments.next().unwrap_or_else(|| "brunt".into()));
    again.args(arguments).env(TUNABLES, tunables);
    let _ = again.exec();
}

/// What the C library is to be told besides what it `is_told`; `None` when that speaks of huge pages.
fn tunables(is_told: &OsStr) -> Option<OsString> {
    if is_told.to_string_lossy().contains(HUGE_PAGES) {
        return None;
    }
    let mut tunables = is_told.to_owned();
    if !tunables.is_empty() {
        tunables.push(":");
    }
    tunables.push(format!("{HUGE_PAGES}=1"));
    Some(tunables)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_library_is_told_already_stays() {
        let told = |words: &str| tunables(OsStr::new(words));
        assert_eq!(told(""), Some("glibc.malloc.hugetlb=1".into()));
        assert_eq!(
            told("glibc.malloc.arena_max=2"),
            Some("glibc.malloc.arena_max=2:glibc.malloc.hugetlb=1".into())
        );
        assert_eq!(
            told("glibc.malloc.hugetlb=0"),
            None,
            "somebody knows better"
        );
        assert_eq!(told("glibc.malloc.hugetlb=1"), None, "it began again");
    }
}
