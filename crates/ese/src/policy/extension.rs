//! When a database file grows, and by how much.
//!
//! Files grow by whole extensions, ahead of need: when less than one extension of free pages would
//! be left, the next one is requested, so that an operation finds free pages and does not wait for
//! the file system. Sizes stay multiples of the extension.
//!
//! Source: microsoft/Extensible-Storage-Engine, dev/ese/src/ese/sysparamtable.g.cxx (256 pages) and
//! space.cxx (asynchronous growth by the next extension).

/// ESE's default extension.
pub const PAGES: u32 = 256;

/// How many pages to add now; zero while there are enough.
///
/// `size` is the file's size in pages and `free` its free pages, both including growth in progress;
/// `demand` pages are about to be taken. The result brings `size` to a multiple of `extension` and
/// leaves at least one whole extension free beyond the demand. A database never exceeds 2³² − 1
/// pages; near that limit the result is what is left.
///
/// # Panics
/// When `extension` is zero.
pub fn growth(size: u32, free: u32, demand: u32, extension: u32) -> u32 {
    assert!(extension > 0, "growth by nothing");
    let wanted = u64::from(demand) + u64::from(extension);
    if u64::from(free) >= wanted {
        return 0;
    }
    let least = u64::from(size) + wanted - u64::from(free);
    let grown = least.next_multiple_of(u64::from(extension));
    let grown = u32::try_from(grown).unwrap_or(u32::MAX);
    grown - size
}

#[cfg(test)]
mod tests {
    use brunt_world::random::Streams;

    use super::*;

    #[test]
    fn grows_by_one_extension_when_less_than_one_is_free() {
        assert_eq!(growth(1_024, 300, 0, PAGES), 0);
        assert_eq!(growth(1_024, 256, 0, PAGES), 0);
        assert_eq!(growth(1_024, 255, 0, PAGES), 256);
        assert_eq!(growth(1_000, 256, 0, PAGES), 0);
        assert_eq!(growth(1_000, 255, 0, PAGES), 24);
        assert_eq!(growth(1_024, 0, 600, PAGES), 1_024);
        assert_eq!(growth(u32::MAX - 5, 0, 100, PAGES), 5);
    }

    #[test]
    fn nobody_waits_for_pages_that_were_foreseen() {
        let mut random = Streams::new(11).named("extension");
        for _ in 0..200 {
            let mut draw = |bound| u32::try_from(random.below(bound)).unwrap();
            let extension = 1 + draw(500);
            let (mut size, mut free) = (draw(3_000), 0);
            free += growth(size, free, 0, extension);
            size += free;
            for _ in 0..200 {
                let demand = draw(u64::from(extension) + 1);
                assert!(demand <= free, "an operation would wait");
                free -= demand;
                let added = growth(size, free, 0, extension);
                assert!(added <= 2 * extension);
                size += added;
                free += added;
                assert!(size.is_multiple_of(extension) && free >= extension);
            }
        }
    }
}
