//! Plans executed with bytes: what is written must follow from what was read, and the data must
//! stay readable after every loss that the shape survives.

use brunt_units::ByteSize;
use brunt_world::random::{Stream, Streams};

use super::*;
use crate::Level;

/// Multiplication in GF(2^8) with the polynomial 0x11D.
fn times(mut one: u8, mut other: u8) -> u8 {
    let mut product = 0;
    while other > 0 {
        if other & 1 == 1 {
            product ^= one;
        }
        one = (one << 1) ^ if one & 0x80 == 0 { 0 } else { 0x1D };
        other >>= 1;
    }
    product
}

fn power(exponent: u32) -> u8 {
    (0..exponent).fold(1, |value, _| times(value, 2))
}

fn inverse(value: u8) -> u8 {
    (1..=255).find(|other| times(value, *other) == 1).unwrap()
}

/// The coefficient of each data strip in the content of `member` of the row.
fn factors(row: &Row<'_>, member: u32) -> Vec<u8> {
    let shape = row.shape;
    (0..shape.data_strips())
        .map(|index| {
            let is_first_parity = shape.parities() > 0 && shape.parity_member(row.row, 0) == member;
            let is_second = shape.parities() > 1 && shape.parity_member(row.row, 1) == member;
            if shape.data_member(row.row, index) == member || is_first_parity {
                1
            } else if is_second {
                power(index)
            } else {
                0
            }
        })
        .collect()
}

/// The data strips' bytes at one position, from as many members' bytes: Gaussian elimination.
fn solve(mut lines: Vec<(Vec<u8>, u8)>) -> Option<Vec<u8>> {
    let unknowns = lines.first()?.0.len();
    for column in 0..unknowns {
        let pivot = (column..lines.len()).find(|at| lines[*at].0[column] != 0)?;
        lines.swap(column, pivot);
        let scale = inverse(lines[column].0[column]);
        let (left, value) = lines[column].clone();
        let left: Vec<u8> = left.iter().map(|factor| times(*factor, scale)).collect();
        lines[column] = (left.clone(), times(value, scale));
        let value = lines[column].1;
        for (at, line) in lines.iter_mut().enumerate() {
            let factor = line.0[column];
            if at != column && factor != 0 {
                for (own, other) in line.0.iter_mut().zip(&left) {
                    *own ^= times(*other, factor);
                }
                line.1 ^= times(value, factor);
            }
        }
    }
    Some(lines[..unknowns].iter().map(|line| line.1).collect())
}

/// One byte per sector.
struct Bytes {
    members: Vec<Vec<u8>>,
    data: Vec<u8>,
}

fn at(number: u64) -> usize {
    usize::try_from(number).unwrap()
}

/// The correct content of `member` at `sector` of its strip, from `data`.
fn held(row: &Row<'_>, data: &[u8], member: u32, sector: u64) -> u8 {
    if row.shape.protection == Protection::Mirror {
        return data[at(sector)];
    }
    let strip = row.shape.strip_sectors;
    let factors = factors(row, member);
    (0..)
        .zip(factors)
        .map(|(index, factor)| times(factor, data[at(index * strip + sector)]))
        .fold(0, |sum, part| sum ^ part)
}

/// The data of every strip at `sector`, computed from the members that `reads` cover there.
fn computed(row: &Row<'_>, bytes: &Bytes, reads: &Steps, sector: u64) -> Option<Vec<u8>> {
    let covers = |step: &&Step| step.within.overlap(Extent::new(sector, 1)).is_some();
    let lines = reads.iter().filter(covers).map(|step| {
        let byte = bytes.members[step.member as usize][at(sector)];
        (factors(row, step.member), byte)
    });
    let mut lines: Vec<_> = lines.collect();
    lines.sort_by_key(|line| line.0.iter().filter(|factor| **factor != 0).count());
    solve(lines)
}

/// What a plan writes to `member` at `sector`, from its reads and the new data alone.
fn written(
    row: &Row<'_>,
    plan: &Plan,
    bytes: &Bytes,
    new: &[Option<u8>],
    held: &[bool],
    member: u32,
    sector: u64,
) -> u8 {
    let shape = row.shape;
    let strip = shape.strip_sectors;
    let of = |index: u32| new[at(u64::from(index) * strip + sector)];
    if shape.protection == Protection::Mirror {
        return of(0).expect("only new data is written");
    }
    let read = |member: u32| {
        let covers = |step: &&Step| {
            step.member == member && step.within.overlap(Extent::new(sector, 1)).is_some()
        };
        let step = plan.reads.iter().find(covers);
        step.map(|_| bytes.members[member as usize][at(sector)])
    };
    let known = |index: u32| {
        let place = at(u64::from(index) * strip + sector);
        let cached = held[place].then(|| bytes.data[place]);
        cached.or_else(|| read(shape.data_member(row.row, index)))
    };
    let factors = factors(row, member);
    let strips = 0..shape.data_strips();
    if let Some(index) = strips.clone().find(|index| shape.data_member(row.row, *index) == member) {
        return of(index).expect("only new data is written");
    }
    if plan.method == Method::ReadModifyWrite {
        let old = read(member).expect("the old parity is read");
        return strips.fold(old, |parity, index| match of(index) {
            None => parity,
            Some(new) => {
                let old = known(index).expect("the old data is read, or at hand");
                parity ^ times(factors[index as usize], old ^ new)
            }
        });
    }
    let solved = (plan.method == Method::RebuildWrite)
        .then(|| computed(row, bytes, &plan.reads, sector).expect("enough is read"));
    strips.fold(0, |parity, index| {
        let stays = || match &solved {
            Some(data) => data[index as usize],
            None => known(index).expect("what stays is read, or at hand"),
        };
        parity ^ times(factors[index as usize], of(index).unwrap_or_else(stays))
    })
}

/// The smallest extent covering the sectors of `part` that are not `held`.
fn lacks(held: &[bool], part: Extent) -> Option<Extent> {
    let mut lacking = (part.start..part.end()).filter(|sector| !held[at(*sector)]);
    let first = lacking.next()?;
    let last = lacking.next_back().unwrap_or(first);
    Some(Extent::new(first, last + 1 - first))
}

/// Holds nothing, everything, or some runs.
fn random_held(stream: &mut Stream, sectors: u64) -> Vec<bool> {
    let mut held = vec![stream.percent(10); at(sectors)];
    if stream.percent(60) {
        for extent in random_extents(stream, sectors) {
            held[at(extent.start)..at(extent.end())].fill(true);
        }
    }
    held
}

fn random_extents(stream: &mut Stream, sectors: u64) -> Vec<Extent> {
    let mut extents = Vec::new();
    let mut from = 0;
    while from < sectors && extents.len() < 4 {
        let start = from + stream.below(sectors - from);
        let length = 1 + stream.below(sectors - start);
        extents.push(Extent::new(start, length));
        from = start + length + 1;
    }
    if stream.percent(10) {
        extents = vec![Extent::new(0, sectors)];
    }
    extents
}

fn shapes() -> Vec<StripeShape> {
    let shape = |width, protection| StripeShape { width, protection, strip_sectors: 4 };
    vec![
        shape(3, Protection::None),
        shape(2, Protection::Mirror),
        shape(3, Protection::Mirror),
        shape(3, Protection::Parity(1)),
        shape(5, Protection::Parity(1)),
        shape(4, Protection::Parity(2)),
        shape(10, Protection::Parity(2)),
    ]
}

#[test]
fn acknowledged_data_survives_every_loss_that_the_shape_survives() {
    let mut stream = Streams::new(4).named("plans");
    let mut seen = std::collections::BTreeMap::new();
    let mut spared = 0;
    for round in 0..6000 {
        let shape = shapes()[at(round % 7)];
        let (sectors, strip) = (shape.data_sectors(), shape.strip_sectors);
        let data: Vec<u8> =
            (0..sectors).map(|_| u8::try_from(stream.below(256)).unwrap()).collect();
        let row_number = stream.below(100);
        let mut row = Row { shape: &shape, row: row_number, readable: shape.all() };
        let members_hold = |data: &[u8], row: &Row<'_>| -> Vec<Vec<u8>> {
            (0..shape.width)
                .map(|member| (0..strip).map(|sector| held(row, data, member, sector)).collect())
                .collect()
        };
        let mut bytes = Bytes { members: members_hold(&data, &row), data };
        for _ in 0..stream.below(u64::from(shape.tolerates()) + 1) {
            let failed = stream.below(u64::from(shape.width));
            row.readable &= !(1 << failed);
        }
        for member in 0..shape.width {
            if row.readable >> member & 1 == 0 {
                bytes.members[member as usize].fill(0xEE);
            }
        }
        let extents = random_extents(&mut stream, sectors);
        let held = random_held(&mut stream, sectors);
        let plan = row.write(&extents, |part| lacks(&held, part));
        let plan = plan.expect("the loss is survived");
        let blind = row.write(&extents, all_of_it).unwrap();
        spared += blind.reads.len().saturating_sub(plan.reads.len());
        *seen.entry(format!("{:?}", plan.method)).or_insert(0) += 1;
        let mut new = vec![None; at(sectors)];
        for extent in &extents {
            for sector in extent.start..extent.end() {
                let byte = u8::try_from(stream.below(256)).unwrap();
                new[at(sector)] = Some(byte);
            }
        }
        let mut after = bytes.members.clone();
        for step in &plan.writes {
            assert!(row.readable >> step.member & 1 == 1, "a lost member is not written");
            for sector in step.within.start..step.within.end() {
                let byte = written(&row, &plan, &bytes, &new, &held, step.member, sector);
                after[step.member as usize][at(sector)] = byte;
            }
        }
        bytes.members = after;
        for (own, new) in bytes.data.iter_mut().zip(&new) {
            *own = new.unwrap_or(*own);
        }
        // The readable members match the new data.
        for member in members(row.readable) {
            let expected = &members_hold(&bytes.data, &row)[member as usize];
            assert_eq!(&bytes.members[member as usize], expected, "{plan:?}");
        }
        check_reads(&mut stream, &row, &bytes);
    }
    assert_eq!(seen.len(), 5, "every way of writing was seen: {seen:?}");
    assert!(spared > 1000, "what is at hand is not read: {spared}");
}

/// Reads random extents, with the lost members, and with one more if the shape survives that.
fn check_reads(stream: &mut Stream, row: &Row<'_>, bytes: &Bytes) {
    let mut row = *row;
    let fewer = row.readable & !(1 << stream.below(u64::from(row.shape.width)));
    if row.shape.survives(fewer) {
        row.readable = fewer;
    }
    let strip = row.shape.strip_sectors;
    let sectors = row.shape.data_sectors();
    let start = stream.below(sectors);
    let extent = Extent::new(start, 1 + stream.below(sectors - start));
    let plan = row.read(extent, |set| members(set).last().unwrap()).unwrap();
    for step in &plan.reads {
        assert!(row.readable >> step.member & 1 == 1, "a lost member is not read");
    }
    for sector in extent.start..extent.end() {
        let within = sector % strip;
        let got = if row.shape.protection == Protection::Mirror {
            bytes.members[plan.reads[0].member as usize][at(within)]
        } else {
            let index = u32::try_from(sector.div_euclid(strip)).unwrap();
            let member = row.shape.data_member(row.row, index);
            if row.readable >> member & 1 == 1 {
                assert!(plan.reads.iter().any(|step| step.member == member));
                bytes.members[member as usize][at(within)]
            } else {
                computed(&row, bytes, &plan.reads, within).unwrap()[index as usize]
            }
        };
        assert_eq!(got, bytes.data[at(sector)], "{plan:?}");
    }
}

#[test]
fn too_many_losses_are_said() {
    for shape in shapes() {
        let gone = (1 << (shape.tolerates() + 1)) - 1;
        let row = Row { shape: &shape, row: 3, readable: shape.all() & !gone };
        assert_eq!(row.read(Extent::new(0, 1), |_| 0), Err(Lost));
        assert_eq!(row.write(&[Extent::new(0, 1)], all_of_it), Err(Lost));
    }
}

#[test]
fn a_small_write_costs_two_reads_and_two_writes() {
    let shape = shapes()[4];
    let row = Row { shape: &shape, row: 0, readable: shape.all() };
    let small = row.write(&[Extent::new(0, 1)], all_of_it).unwrap();
    assert_eq!((small.reads.len(), small.writes.len()), (2, 2));
    let most = row.write(&[Extent::new(0, 12)], all_of_it).unwrap();
    assert_eq!(most.method, Method::ReconstructWrite);
    assert_eq!((most.reads.len(), most.writes.len()), (1, 4));
    let full = row.write(&[Extent::new(0, 16)], all_of_it).unwrap();
    assert_eq!(full.method, Method::FullStripe);
    assert_eq!((full.reads.len(), full.writes.len()), (0, 5));
}

#[test]
fn what_is_at_hand_need_not_be_read() {
    let shape = shapes()[4];
    let row = Row { shape: &shape, row: 0, readable: shape.all() };
    let one = [Extent::new(0, 1)];
    let held = |from: usize, to: usize| {
        let mut held = vec![false; 16];
        held[from..to].fill(true);
        held
    };
    let old = row.write(&one, |part| lacks(&held(0, 1), part)).unwrap();
    assert_eq!(old.method, Method::ReadModifyWrite);
    assert_eq!(old.reads.len(), 1, "the parity only");
    let others = row.write(&one, |part| lacks(&held(4, 16), part)).unwrap();
    assert_eq!(others.method, Method::ReconstructWrite);
    assert_eq!((others.reads.len(), others.writes.len()), (0, 2));
    let lost = Row { readable: shape.all() & !(1 << shape.data_member(0, 0)), ..row };
    let old = lost.write(&one, |part| lacks(&held(0, 1), part)).unwrap();
    assert_eq!((old.method, old.reads.len()), (Method::ReadModifyWrite, 1));
}

#[test]
fn each_input_of_each_parity_is_computed_with() {
    let computed = |level: Level, drives: usize, lost: u32, extents: &[Extent]| {
        let shape = level.shape(drives, ByteSize::kib(64)).unwrap();
        let row = Row { shape: &shape, row: 0, readable: ((1 << shape.width) - 1) & !lost };
        let plan = row.write(extents, all_of_it).unwrap();
        (plan.method, plan.computed(&row, extents))
    };
    let small = [Extent::new(0, 16)];
    let full = [Extent::new(0, 4 * 128)];
    assert_eq!(computed(Level::Raid10, 4, 0, &small), (Method::Direct, 0));
    let raid5 = |extents| computed(Level::Raid5, 5, 0, extents);
    assert_eq!(raid5(&small), (Method::ReadModifyWrite, 3 * 16));
    assert_eq!(raid5(&full), (Method::FullStripe, 4 * 128));
    assert_eq!(raid5(&[Extent::new(0, 3 * 128)]), (Method::ReconstructWrite, 4 * 128));
    let raid6 = |extents| computed(Level::Raid6, 6, 0, extents);
    assert_eq!(raid6(&small), (Method::ReadModifyWrite, 2 * 3 * 16));
    assert_eq!(raid6(&full), (Method::FullStripe, 2 * 4 * 128));

    let shape = Level::Raid5.shape(5, ByteSize::kib(64)).unwrap();
    let lost = 1 << shape.data_member(0, 0);
    let row = Row { shape: &shape, row: 0, readable: 0b1_1111 & !lost };
    let read = row.read(small[0], |_| 0).unwrap();
    assert_eq!(read.computed(&row, &small), 4 * 16);
}
