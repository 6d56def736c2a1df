//! Huge pages for predictions.
//!
//! A prediction accesses a gigabyte or more at random. With 4 KiB pages nearly every access stalls
//! twice: on the page table entry, and on the memory itself. Most systems give huge pages only on
//! request (`/sys/kernel/mm/transparent_hugepage/enabled` is `madvise`), and the C library requests
//! them only if its environment says so at process start. So the program re-executes itself, in the
//! same process, with that setting in its environment. Other C libraries ignore it.
//!
//! The library gives them only to its first heap. Other threads usually have heaps of their own, so
//! all threads share the first. Each keeps more freed blocks for itself than the library would,
//! because threads that share a heap wait for each other there.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The environment variable read by the GNU C library.
const TUNABLES: &str = "GLIBC_TUNABLES";
/// Huge pages. Source of all three: the manual of the GNU C Library, "Memory Allocation Tunables";
/// this one since version 2.35.
const HUGE_PAGES: &str = "glibc.malloc.hugetlb";
/// The settings and their values. Seven freed blocks of a size are the library's own choice; a
/// burst of I/O takes hundreds.
const SETTINGS: [(&str, u32); 3] =
    [(HUGE_PAGES, 1), ("glibc.malloc.arena_max", 1), ("glibc.malloc.tcache_count", 250)];

/// Re-executes the program with huge pages, unless the environment already sets them.
///
/// Returns if it does, or if the program cannot be re-executed: then it is only slower.
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

/// The new value of the variable, given its current value; `None` when that already sets huge
/// pages.
fn tunables(is_told: &OsStr) -> Option<OsString> {
    let words = is_told.to_string_lossy();
    if words.contains(HUGE_PAGES) {
        return None;
    }
    let mut tunables = is_told.to_owned();
    for (setting, value) in SETTINGS {
        if words.contains(setting) {
            continue;
        }
        if !tunables.is_empty() {
            tunables.push(":");
        }
        tunables.push(format!("{setting}={value}"));
    }
    Some(tunables)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_library_is_told_already_stays() {
        let told = |words: &str| tunables(OsStr::new(words));
        assert_eq!(
            told(""),
            Some(
                "glibc.malloc.hugetlb=1:glibc.malloc.arena_max=1:glibc.malloc.tcache_count=250"
                    .into()
            )
        );
        assert_eq!(
            told("glibc.malloc.arena_max=2"),
            Some(
                "glibc.malloc.arena_max=2:glibc.malloc.hugetlb=1:glibc.malloc.tcache_count=250"
                    .into()
            )
        );
        assert_eq!(told("glibc.malloc.hugetlb=0"), None, "somebody knows better");
        assert_eq!(told("glibc.malloc.hugetlb=1"), None, "it began again");
    }
}
