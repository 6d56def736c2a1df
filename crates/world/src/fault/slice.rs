//! A part of a request, as a request.

use std::ops::Range;
use std::rc::Rc;

use crate::{Io, Segment, Segments};

/// The part of a write within `bytes` of the file; `None` without overlap. The data are shared.
///
/// # Panics
/// When the request is a read with memory.
pub(super) fn slice(io: &Io, bytes: &Range<u64>) -> Option<Io> {
    let mut segments = Segments::new();
    let mut at = io.offset;
    let mut first = None;
    for segment in &io.segments {
        let end = at + segment.length();
        let (from, to) = (at.max(bytes.start), end.min(bytes.end));
        if from < to {
            first.get_or_insert(from);
            segments.push(part(segment, from - at, to - from));
        }
        at = end;
    }
    Some(Io { tag: io.tag, ..Io::new(io.class, io.op, io.file, first?, segments) })
}

fn part(segment: &Segment, from: u64, length: u64) -> Segment {
    let index = |number: u64| usize::try_from(number).expect("memory is addressable");
    match segment {
        Segment::Drain { frame, start, .. } => Segment::Drain {
            frame: Rc::clone(frame),
            start: start + index(from),
            length: index(length),
        },
        Segment::Ghost(_) => Segment::Ghost(length),
        Segment::Fill(_) => panic!("a read is not sliced"),
    }
}

#[cfg(test)]
mod tests {
    use crate::{Class, FileId, Frames, Op};

    use super::*;

    #[test]
    fn a_part_has_the_bytes_of_its_place() {
        let mut frame = Frames::in_memory().take(4096);
        for (number, sector) in (0..).zip(frame.chunks_mut(512)) {
            sector.fill(number);
        }
        let frame = Rc::new(frame);
        let segments = [Segment::Ghost(512), Segment::whole(&frame), Segment::Ghost(512)];
        let segments: Segments = segments.into_iter().collect();
        let io = Io::new(Class::Log, Op::Write, FileId(3), 8192, segments);
        let one = slice(&io, &(8704..9728)).unwrap();
        assert_eq!((one.offset, one.length(), one.segments.len()), (8704, 1024, 1));
        assert_eq!(one.segments[0].drained()[512..], [1; 512]);
        let whole = slice(&io, &(0..u64::MAX)).unwrap();
        assert_eq!((whole.offset, whole.length()), (8192, 5120));
        assert!(slice(&io, &(0..8192)).is_none());
        assert!(slice(&io, &(13312..14000)).is_none());
    }
}
