//! How many background writes may be in flight, depending on urgency.
//!
//! Background writes, of old dirty pages and of cold ones, compete for the disks with reads that
//! sessions wait for. So few are in flight while there is time, and many only when there is none
//! left:
//!
//! ```text
//!   all of the limit                       /
//!                                       /
//!   1/4                              /
//!   1/32                    __ - -
//!   1/128           _ - -
//!                   1/8     1/4      1/2      1    of the way
//! ```
//!
//! Source: microsoft/Extensible-Storage-Engine, dev/ese/src/os/osdisk.cxx (urgent background I/O);
//! the limit there is half of the maximum in flight.

/// The limit: half of 1,024 I/Os in flight.
pub const WRITES_MAX: u32 = 512;

/// How many of `most` writes to allow, at least one, after `gone` of `way`.
pub(super) fn rise(gone: u128, way: u128, most: u32) -> u32 {
    let most = u128::from(most);
    // Corners as (eighths of the way, writes in 1/128 of `most`).
    let corners = [
        (0, 1),
        (1, most.div_euclid(128)),
        (2, most.div_euclid(32)),
        (4, most.div_euclid(4)),
        (8, most),
    ];
    let corners = corners.map(|(eighths, writes)| (eighths * way, writes.max(1)));
    let at = 8 * gone;
    let next = corners.iter().position(|(eighths, _)| at < *eighths);
    let writes = match next {
        Some(next) if next > 0 => {
            let ((from, low), (to, high)) = (corners[next - 1], corners[next]);
            low + ((high - low) * (at - from)).div_euclid(to - from)
        }
        _ if at == 0 && way > 0 => 1,
        _ => most,
    };
    u32::try_from(writes).expect("not above `most`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_corners_are_the_published_ones() {
        let writes = [0, 1, 2, 4, 6, 8, 9].map(|eighths| rise(eighths, 8, WRITES_MAX));
        assert_eq!(writes, [1, 4, 16, 128, 320, 512, 512]);
    }

    #[test]
    fn a_limit_of_one_is_one_all_the_way() {
        assert!((0..20).all(|gone| rise(gone, 10, 1) == 1));
    }

    #[test]
    fn no_way_at_all_is_the_end_of_it() {
        assert_eq!(rise(0, 0, WRITES_MAX), WRITES_MAX);
    }
}
