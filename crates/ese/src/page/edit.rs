//! Writing into one page and recording what was written.
//!
//! ```text
//!  | header | item | item | hole | item | ........ free ........ | tag 3 | tag 2 | tag 1 | tag 0 |
//!  0        hl                          hl + first free          ps - 4 (tags)                  ps
//! ```
//!
//! Items need not be in tag order. A new item goes after the last one. If there is no room, it goes
//! into the smallest sufficient hole. Only if every hole is too small is the page compacted, which
//! logs the whole page. With records of similar size, deletes leave holes that inserts fit, and
//! compaction stays rare.
//!
//! Invariants, asserted: `free = ps - hl - sum of items - 4 x tags`; no item reaches past *first
//! free*; *first free* never reaches into the tags.

use brunt_units::{PageNumber, PageSize};

use super::Nodes;
use crate::format::node::NodeFlags;
use crate::format::page::{
    FIRST_FREE_AT, FLAGS_AT, FREE_AT, NEXT_AT, NODE_LENGTH_MASK, OBJECT_AT, ObjectId, PREVIOUS_AT,
    Page, PageFlags, TAG_BYTES, TAG_COUNT_AT, body_bytes, header_bytes, tag_at, tag_mask,
};

/// Edits one page; see the head of this file.
pub struct PageEditor<'a> {
    bytes: &'a mut [u8],
    size: PageSize,
    /// The image of the change; it ends with the open entry.
    image: &'a mut Vec<u8>,
    /// The page offset at which the image's last range ends, and where that range's head is.
    open: Option<(usize, usize)>,
}

impl<'a> PageEditor<'a> {
    pub(super) fn new(bytes: &'a mut [u8], size: PageSize, image: &'a mut Vec<u8>) -> Self {
        Self { bytes, size, image, open: None }
    }

    /// The current page.
    pub fn page(&self) -> Page<'_> {
        Page::new(self.bytes, self.size)
    }

    /// Makes a new page an empty page of the tree `object`: flags, no links, an empty tag 0.
    pub fn format(&mut self, object: ObjectId, flags: PageFlags) {
        self.write(OBJECT_AT, &object.0.to_le_bytes());
        self.set_flags(flags);
        self.write_u16(FREE_AT, body_bytes(self.size) - TAG_BYTES);
        self.write_u16(TAG_COUNT_AT, 1);
    }

    /// Sets the page's flags, except the flush type, which the write sets and which is never
    /// logged.
    pub fn set_flags(&mut self, flags: PageFlags) {
        let flags = flags.with_flush_type(self.page().flags().flush_type());
        self.write(FLAGS_AT, &flags.0.to_le_bytes());
    }

    /// Sets the link to the previous leaf.
    pub fn set_previous(&mut self, page: PageNumber) {
        self.write(PREVIOUS_AT, &page.0.to_le_bytes());
    }

    /// Sets the link to the next leaf.
    pub fn set_next(&mut self, page: PageNumber) {
        self.write(NEXT_AT, &page.0.to_le_bytes());
    }

    /// Inserts a node before node `index`, or at the end. The key is stored whole.
    ///
    /// # Panics
    /// When it does not fit ([`node_cost`] against [`Page::free`]) or `index` is out of range.
    pub fn insert(&mut self, index: usize, key: &[u8], data: &[u8]) {
        let (slot, count) = (index + 1, self.page().tag_count());
        assert!(slot <= count, "node {index} of {}", count - 1);
        let item = node(key, data);
        let offset = self.place(item.len(), TAG_BYTES);
        self.write(header_bytes(self.size) + offset, &item);
        // The tags from `slot` on move down by one.
        let (from, to) = (tag_at(self.size, count), tag_at(self.size, slot) + TAG_BYTES);
        let mut tags = self.bytes[from + TAG_BYTES..to].to_vec();
        tags.extend_from_slice(&tag(item.len(), offset));
        self.write(from, &tags);
        self.write_u16(TAG_COUNT_AT, count + 1);
        self.took(offset, item.len(), item.len() + TAG_BYTES);
    }

    /// Appends nodes, in one stretch of bytes.
    ///
    /// # Panics
    /// When they do not fit ([`Nodes::cost`] against [`Page::free`]).
    pub fn append(&mut self, nodes: &Nodes) {
        if nodes.is_empty() {
            return;
        }
        let count = self.page().tag_count();
        let (bytes, items) = nodes.to_items(self.size);
        let all = count + items.len();
        let start = self.place(bytes.len(), TAG_BYTES * items.len());
        self.write(header_bytes(self.size) + start, &bytes);
        let mut tags = Vec::with_capacity(TAG_BYTES * items.len());
        for item in items.iter().rev() {
            let mut tag = tag(item.length, start + item.offset);
            tag[3] |= item.tag_flags;
            tags.extend_from_slice(&tag);
        }
        self.write(tag_at(self.size, all - 1), &tags);
        self.write_u16(TAG_COUNT_AT, all);
        self.took(start, bytes.len(), nodes.cost());
    }

    /// Removes node `index`.
    ///
    /// # Panics
    /// When there is no such node. This holds for all methods that take an index.
    pub fn remove(&mut self, index: usize) {
        let (slot, count) = (index + 1, self.page().tag_count());
        assert!(slot < count, "node {index} of {}", count - 1);
        let (_, length) = self.item(slot);
        let (from, to) = (tag_at(self.size, count - 1), tag_at(self.size, slot));
        let tags = self.bytes[from..to].to_vec();
        self.write(from + TAG_BYTES, &tags);
        self.write_u16(TAG_COUNT_AT, count - 1);
        self.gave(length + TAG_BYTES);
    }

    /// Replaces node `index` by another, without flags.
    ///
    /// # Panics
    /// When it does not fit into the page's free bytes plus the old node's.
    pub fn replace(&mut self, index: usize, key: &[u8], data: &[u8]) {
        self.replace_item(index + 1, &node(key, data));
    }

    /// Sets tag 0: the space header of a root page.
    pub fn set_external_header(&mut self, bytes: &[u8]) {
        self.replace_item(0, bytes);
    }

    /// Sets the flags of node `index`.
    pub fn set_node_flags(&mut self, index: usize, flags: NodeFlags) {
        let slot = index + 1;
        // Large pages keep them in the node's first word, small ones in the tag's offset word.
        let at = if self.size.is_large() {
            header_bytes(self.size) + self.item(slot).0
        } else {
            tag_at(self.size, slot) + 2
        };
        let word = u16::from_le_bytes([self.bytes[at], self.bytes[at + 1]]);
        let word = (word & NODE_LENGTH_MASK) | flags.to_word();
        self.write(at, &word.to_le_bytes());
    }

    /// Overwrites data bytes of node `index` in place, `at` bytes into its data.
    ///
    /// # Panics
    /// When they extend past the node's end.
    pub fn overwrite(&mut self, index: usize, at: usize, data: &[u8]) {
        let (offset, length) = self.item(index + 1);
        let node = self.page().node(index).expect("a page being edited is sound");
        let head = length - node.data.len();
        assert!(at + data.len() <= node.data.len(), "overwriting past the end of a node");
        self.write(header_bytes(self.size) + offset + head + at, data);
    }

    /// Removes every node from `index` on.
    pub fn truncate(&mut self, index: usize) {
        let slot = index + 1;
        let count = self.page().tag_count();
        let freed: usize = (slot..count).map(|slot| self.item(slot).1 + TAG_BYTES).sum();
        self.write_u16(TAG_COUNT_AT, slot);
        self.gave(freed);
    }

    fn replace_item(&mut self, slot: usize, item: &[u8]) {
        let (offset, length) = self.item(slot);
        if item.len() <= length && length > 0 {
            self.write(header_bytes(self.size) + offset, item);
            self.write(tag_at(self.size, slot), &tag(item.len(), offset));
            self.gave(length - item.len());
            return;
        }
        // The item's old bytes are free for the new one, but only once the tag no longer points at
        // them.
        self.write(tag_at(self.size, slot), &tag(0, 0));
        self.gave(length);
        let offset = self.place(item.len(), 0);
        self.write(header_bytes(self.size) + offset, item);
        self.write(tag_at(self.size, slot), &tag(item.len(), offset));
        self.took(offset, item.len(), item.len());
    }

    /// Finds room for an item of `length` bytes and `tags` more bytes of tags; compacts the page if
    /// necessary.
    fn place(&mut self, length: usize, tags: usize) -> usize {
        let page = self.page();
        assert!(page.free() >= length + tags, "an item that does not fit its page");
        let floor = body_bytes(self.size) - TAG_BYTES * page.tag_count() - tags;
        let end = page.first_free();
        if end + length <= floor {
            return end;
        }
        let mut items: Vec<(usize, usize)> =
            (0..page.tag_count()).map(|slot| self.item(slot)).filter(|item| item.1 > 0).collect();
        items.sort_unstable();
        let mut best: Option<(usize, usize)> = None;
        let mut at = 0;
        for &(offset, size) in items.iter().chain(&[(floor, 0)]) {
            let hole = offset.saturating_sub(at);
            if hole >= length && best.is_none_or(|(smallest, _)| hole < smallest) {
                best = Some((hole, at));
            }
            at = at.max(offset + size);
        }
        let used = items.last().map_or(0, |(offset, size)| offset + size);
        match best {
            Some((_, at)) if used <= floor => {
                // The end of removed items may be where the new tag goes.
                self.write_u16(FIRST_FREE_AT, used);
                at
            }
            _ => self.compact(),
        }
    }

    /// Moves all items together, in tag order; returns where the free bytes begin.
    fn compact(&mut self) -> usize {
        let count = self.page().tag_count();
        let start = header_bytes(self.size);
        let mut data = Vec::with_capacity(self.size.bytes());
        let mut tags = vec![0; TAG_BYTES * count];
        for slot in 0..count {
            let (offset, length) = self.item(slot);
            let moved = tag(length, data.len());
            data.extend_from_slice(&self.bytes[start + offset..start + offset + length]);
            let at = TAG_BYTES * (count - 1 - slot);
            tags[at..at + TAG_BYTES].copy_from_slice(&self.with_flags(slot, moved));
        }
        self.write(start, &data);
        self.write(tag_at(self.size, count - 1), &tags);
        self.write_u16(FIRST_FREE_AT, data.len());
        data.len()
    }

    /// `tag` with the node flags that small pages store in it.
    fn with_flags(&self, slot: usize, tag: [u8; TAG_BYTES]) -> [u8; TAG_BYTES] {
        if self.size.is_large() {
            return tag;
        }
        let [s0, s1, o0, o1] = tag;
        [s0, s1, o0, o1 | (self.bytes[tag_at(self.size, slot) + 3] & 0xE0)]
    }

    /// Offset (from the end of the header) and length of an item.
    fn item(&self, slot: usize) -> (usize, usize) {
        let at = tag_at(self.size, slot);
        let mask = tag_mask(self.size);
        let word = |at: usize| {
            usize::from(u16::from_le_bytes([self.bytes[at], self.bytes[at + 1]]) & mask)
        };
        (word(at + 2), word(at))
    }

    fn took(&mut self, offset: usize, length: usize, taken: usize) {
        let (free, end) = (self.page().free(), self.page().first_free());
        self.write_u16(FREE_AT, free - taken);
        if offset + length > end {
            self.write_u16(FIRST_FREE_AT, offset + length);
        }
    }

    fn gave(&mut self, given: usize) {
        let free = self.page().free();
        self.write_u16(FREE_AT, free + given);
    }

    fn write_u16(&mut self, offset: usize, value: usize) {
        let value = u16::try_from(value).expect("page offsets are below 2^16");
        self.write(offset, &value.to_le_bytes());
    }

    /// Writes and records. Bytes that are unchanged are not logged again: either a change since the
    /// checkpoint logged them, or every version of the page has them.
    fn write(&mut self, offset: usize, bytes: &[u8]) {
        let old = &self.bytes[offset..offset + bytes.len()];
        let Some(first) = old.iter().zip(bytes).position(|(old, new)| old != new) else {
            return;
        };
        let last = old.iter().zip(bytes).rposition(|(old, new)| old != new).expect("one differs");
        let (offset, bytes) = (offset + first, &bytes[first..=last]);
        self.bytes[offset..offset + bytes.len()].copy_from_slice(bytes);
        match self.open {
            Some((end, head)) if end == offset => {
                let length = u16::from_le_bytes([self.image[head + 2], self.image[head + 3]]);
                let length = usize::from(length) + bytes.len();
                let length = u16::try_from(length).expect("ranges lie within a page");
                self.image[head + 2..head + 4].copy_from_slice(&length.to_le_bytes());
                self.image.extend_from_slice(bytes);
                self.open = Some((offset + bytes.len(), head));
            }
            _ => {
                let head = self.image.len();
                let at = |value: usize| u16::try_from(value).expect("ranges lie within a page");
                self.image.extend_from_slice(&at(offset).to_le_bytes());
                self.image.extend_from_slice(&at(bytes.len()).to_le_bytes());
                self.image.extend_from_slice(bytes);
                self.open = Some((offset + bytes.len(), head));
            }
        }
    }
}

/// Free bytes that a node needs, its tag included.
pub fn node_cost(key: &[u8], data: &[u8]) -> usize {
    2 + key.len() + data.len() + TAG_BYTES
}

fn node(key: &[u8], data: &[u8]) -> Vec<u8> {
    let length = u16::try_from(key.len()).expect("keys are at most 2,000 bytes");
    let mut item = Vec::with_capacity(2 + key.len() + data.len());
    item.extend_from_slice(&length.to_le_bytes());
    item.extend_from_slice(key);
    item.extend_from_slice(data);
    item
}

fn tag(length: usize, offset: usize) -> [u8; TAG_BYTES] {
    let word = |value: usize| u16::try_from(value).expect("items lie within a page").to_le_bytes();
    let ([l0, l1], [o0, o1]) = (word(length), word(offset));
    [l0, l1, o0, o1]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use brunt_world::random::{Stream, Streams};

    use super::*;
    use crate::page::memory::MemoryPages;

    const PAGE: PageNumber = PageNumber(31);

    type Model = Vec<(Vec<u8>, Vec<u8>, NodeFlags)>;

    fn bytes(draw: &mut Stream, most: u64) -> Vec<u8> {
        let mut bytes = vec![0; usize::try_from(1 + draw.below(most)).unwrap()];
        draw.fill(&mut bytes);
        bytes
    }

    fn step(editor: &mut PageEditor<'_>, model: &mut Model, draw: &mut Stream, most: u64) {
        let at = usize::try_from(draw.below(model.len() as u64 + 1)).unwrap();
        let (key, data) = (bytes(draw, 40), bytes(draw, most));
        let free = editor.page().free();
        match draw.below(10) {
            0..5 if node_cost(&key, &data) <= free => {
                let at = model.partition_point(|node| node.0 < key);
                if model.get(at).is_none_or(|node| node.0 != key) {
                    editor.insert(at, &key, &data);
                    model.insert(at, (key, data, NodeFlags::NONE));
                }
            }
            5..7 if at < model.len() => {
                editor.remove(at);
                model.remove(at);
            }
            7 if at < model.len() => {
                let (key, former, _) = model[at].clone();
                if node_cost(&key, &data) <= free + node_cost(&key, &former) {
                    editor.replace(at, &key, &data);
                    model[at] = (key, data, NodeFlags::NONE);
                }
            }
            8 if at < model.len() => {
                editor.set_node_flags(at, NodeFlags::DELETED);
                editor.overwrite(at, 0, &[0xAB]);
                (model[at].1[0], model[at].2) = (0xAB, NodeFlags::DELETED);
            }
            9 if draw.percent(10) => {
                editor.truncate(at);
                model.truncate(at);
            }
            _ => editor.set_next(PageNumber(7)),
        }
    }

    fn agree(page: Page<'_>, model: &Model) {
        assert_eq!(page.check(), Ok(()));
        let nodes: Model = page
            .nodes()
            .map(|node| node.unwrap())
            .map(|node| (node.key.to_vec(), node.data.to_vec(), node.flags))
            .collect();
        assert_eq!(&nodes, model);
    }

    /// Random edits agree with a list, the page's own counters agree, and replaying the images over
    /// *any* mixture of sectors of earlier versions gives the final page.
    #[test]
    fn edits_agree_with_a_list_and_replay_heals_torn_pages() {
        for (size, most) in PageSize::ALL.into_iter().zip([300, 900, 1500, 4000]) {
            let mut draw = Streams::new(11).named("edits");
            let mut pages = MemoryPages::new(size);
            pages.fulfil(crate::page::Need::Fresh(PAGE));
            pages.change_with(|change| {
                let flags = PageFlags::ALWAYS.with(PageFlags::LEAF);
                change.fresh(PAGE).format(ObjectId(8), flags);
                Ok(())
            });
            let mut model = Model::new();
            let mut versions = vec![pages.bytes(PAGE).to_vec()];
            for round in 0..400 {
                pages.change_with(|change| {
                    let mut editor = change.edit(PAGE);
                    for _ in 0..draw.below(4) {
                        step(&mut editor, &mut model, &mut draw, most);
                    }
                    Ok(())
                });
                agree(Page::new(pages.bytes(PAGE), size), &model);
                if round % 40 == 0 {
                    versions.push(pages.bytes(PAGE).to_vec());
                }
            }
            // The first version is before the checkpoint; all later changes are replayed over a
            // mixture.
            pages.log.remove(0);
            for _ in 0..20 {
                let mut torn = versions[0].clone();
                for sector in torn.chunks_exact_mut(512).enumerate() {
                    let version = usize::try_from(draw.below(versions.len() as u64)).unwrap();
                    sector.1.copy_from_slice(&versions[version][sector.0 * 512..][..512]);
                }
                let mut replayed = BTreeMap::from([(PAGE, torn)]);
                pages.replay_over(&mut replayed);
                assert!(replayed[&PAGE] == pages.bytes(PAGE), "replay left a torn page torn");
            }
        }
    }
}
