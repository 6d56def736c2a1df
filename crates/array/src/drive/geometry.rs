//! The position of a sector on a disk: its cylinder, and its angle on the track.
//!
//! ```text
//!    zone 0                               zone 1           ...
//!    |<- band: `serpentine` cylinders ->| next band | ... |
//!    surface 0  -> -> -> -> -> -> -> ->                     tracks in the order of their sectors:
//!    surface 1  <- <- <- <- <- <- <- <-                     in along one surface, back along the next
//!    surface 2  -> ...
//! ```
//!
//! Each track begins `skew` of a turn after the track before it, so that a transfer that continues
//! on the next track finds its first sector just as the head has settled there. A long transfer
//! therefore runs at raw rate / (1 + skew).
//!
//! Angles are fractions of a turn in 32 bits, so that addition wraps as the disk does.

/// A zone of constant recording density.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zone {
    /// Number of cylinders.
    pub cylinders: u32,
    pub sectors_per_track: u32,
}

/// The shape of a disk.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    /// Surfaces.
    pub heads: u32,
    /// Cylinders filled along one surface before the next; 1 fills cylinder by cylinder.
    pub serpentine: u32,
    /// Angular offset between the starts of successive tracks, in turns.
    pub skew: f64,
    /// Zones, from the outside in.
    pub zones: Vec<Zone>,
    /// User capacity in sectors; what the zones hold beyond it is spare.
    pub sectors: u64,
}

/// The position of a sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SectorPosition {
    pub(crate) cylinder: u32,
    pub(crate) head: u32,
    /// Angle of the sector's start, in 2^-32 turns.
    pub(crate) angle: u32,
    pub(crate) zone: u32,
    /// Sectors from it to the end of its track, inclusive.
    pub(crate) left_on_track: u32,
}

struct ZoneStart {
    sector: u64,
    cylinder: u32,
    cylinders: u32,
    sectors_per_track: u32,
    /// Angle of one sector, in 2^-32 turns.
    sector_angle: u32,
}

/// A [`Shape`] prepared for look-up.
pub(crate) struct Geometry {
    heads: u32,
    serpentine: u32,
    skew_angle: u32,
    zones: Vec<ZoneStart>,
    cylinders: u32,
}

/// Converts `turns` (0 to 1) to 2^-32 turns.
#[expect(clippy::cast_possible_truncation, reason = "the range is checked by the caller's figures")]
fn angle(turns: f64) -> u32 {
    (turns * 4_294_967_296.0) as u32
}

impl Geometry {
    /// # Panics
    /// When the shape holds fewer sectors than it declares, or a zone is empty; models are checked
    /// before.
    pub(crate) fn new(shape: &Shape) -> Self {
        let (mut sector, mut cylinder) = (0, 0);
        let mut zones = Vec::new();
        for zone in &shape.zones {
            assert!(zone.cylinders > 0 && zone.sectors_per_track > 0);
            zones.push(ZoneStart {
                sector,
                cylinder,
                cylinders: zone.cylinders,
                sectors_per_track: zone.sectors_per_track,
                sector_angle: angle(1.0 / f64::from(zone.sectors_per_track)),
            });
            let tracks = u64::from(zone.cylinders) * u64::from(shape.heads);
            sector += tracks * u64::from(zone.sectors_per_track);
            cylinder += zone.cylinders;
        }
        assert!(shape.sectors <= sector, "the zones hold every sector");
        Self {
            heads: shape.heads,
            serpentine: shape.serpentine.max(1),
            skew_angle: angle(shape.skew),
            zones,
            cylinders: cylinder,
        }
    }

    pub(crate) fn cylinders(&self) -> u32 {
        self.cylinders
    }

    pub(crate) fn sectors_per_track(&self, zone: u32) -> u32 {
        self.zones[zone as usize].sectors_per_track
    }

    /// The position of `sector`.
    pub(crate) fn locate(&self, sector: u64) -> SectorPosition {
        let after = self.zones.partition_point(|zone| zone.sector <= sector);
        let zone = &self.zones[after - 1];
        let within =
            u32::try_from(sector - zone.sector).expect("a zone has fewer than 2^32 sectors");
        let track = within.div_euclid(zone.sectors_per_track);
        let on_track = within % zone.sectors_per_track;
        let (cylinder, head) = self.track(zone, track);
        SectorPosition {
            cylinder,
            head,
            angle: track.wrapping_mul(self.skew_angle).wrapping_add(on_track * zone.sector_angle),
            zone: u32::try_from(after - 1).expect("few zones"),
            left_on_track: zone.sectors_per_track - on_track,
        }
    }

    /// Cylinder and surface of the `track`-th track of `zone`.
    fn track(&self, zone: &ZoneStart, track: u32) -> (u32, u32) {
        let band_tracks = self.serpentine * self.heads;
        let band = track.div_euclid(band_tracks);
        let first = band * self.serpentine;
        // The last band of a zone may be narrower.
        let wide = self.serpentine.min(zone.cylinders - first);
        let in_band = track - band * band_tracks;
        let head = in_band.div_euclid(wide);
        let along = in_band % wide;
        let across = if head.is_multiple_of(2) { along } else { wide - 1 - along };
        (zone.cylinder + first + across, head)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn small(serpentine: u32) -> Geometry {
        Geometry::new(&Shape {
            heads: 3,
            serpentine,
            skew: 0.25,
            zones: vec![
                Zone { cylinders: 7, sectors_per_track: 8 },
                Zone { cylinders: 5, sectors_per_track: 4 },
            ],
            sectors: 228,
        })
    }

    #[test]
    fn every_track_is_used_once_and_neighbours_are_near() {
        for serpentine in [1, 2, 3, 7, 100] {
            let geometry = small(serpentine);
            assert_eq!(geometry.cylinders(), 12);
            let mut tracks = BTreeSet::new();
            let mut last: Option<SectorPosition> = None;
            for sector in 0..228 {
                let place = geometry.locate(sector);
                if place.left_on_track == geometry.sectors_per_track(place.zone) {
                    assert!(tracks.insert((place.cylinder, place.head)), "{place:?}");
                }
                if let Some(last) = last.filter(|last| last.zone == place.zone) {
                    // With an odd number of surfaces, adjacent bands meet at their far ends.
                    let moved = last.cylinder.abs_diff(place.cylinder);
                    assert!(moved <= 1 || last.head != place.head, "{last:?} {place:?}");
                }
                last = Some(place);
            }
            assert_eq!(tracks.len(), 36);
        }
    }

    #[test]
    fn angles_follow_sectors_and_skew() {
        let geometry = small(1);
        let turn = |place: SectorPosition| f64::from(place.angle) / 4_294_967_296.0;
        assert_eq!(turn(geometry.locate(0)), 0.0);
        assert_eq!(turn(geometry.locate(2)), 0.25);
        assert_eq!(turn(geometry.locate(8)), 0.25);
        assert_eq!(turn(geometry.locate(16 + 7)), 0.375);
        assert_eq!(geometry.locate(23).left_on_track, 1);
    }
}
