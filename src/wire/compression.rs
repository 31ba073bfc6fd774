//! The names that stand in a message, as a tree of labels, so that a name can point to its longest suffix that is there
//! already (RFC 1035 section 4.1.4).
//!
//! Nothing is hashed and nothing is allocated: a name is walked from its last label to its first, along the labels that
//! other names brought.

use super::name::{MAX_LABEL, MAX_LABELS};

/// Labels that can be pointed to; those of names that come later cannot.
const MOST: usize = 128;
/// Offsets beyond this cannot be pointed to (RFC 1035 section 4.1.4).
const MAX_OFFSET: usize = 0x3fff;
/// The place of the root, which every walk starts from.
const ROOT: u8 = 0;
/// Instead of a place: there is none. The root is nobody's child.
const NONE: u8 = 0;

#[derive(Clone, Copy, Debug)]
struct Label {
    /// Where it stands in the message.
    offset: u16,
    /// The label behind it.
    parent: u8,
    /// The latest of the labels that stand before it, if any.
    child: u8,
    /// The one that came before it to the same parent.
    next: u8,
}

const EMPTY: Label = Label { offset: 0, parent: ROOT, child: NONE, next: NONE };

/// Labels of one message. Large, so it is made once per thread and emptied for each message.
#[derive(Clone, Debug)]
pub struct Compression {
    labels: [Label; MOST],
    count: u8,
    /// Where the labels of the name placed last start in it.
    starts: [u8; MAX_LABELS],
}

/// How much of a name stands in the message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placed {
    /// The labels from the left that are not there.
    new_labels: u8,
    /// Place of the longest suffix that is.
    place: u8,
    /// Octets from the left that are not there.
    pub(super) new_octets: usize,
    /// Where the rest is; none if that is the root alone.
    pub(super) pointer: Option<u16>,
}

impl Compression {
    /// No names.
    pub fn new() -> Compression {
        Compression { labels: [EMPTY; MOST], count: 0, starts: [0; MAX_LABELS] }
    }

    /// Forgets all names.
    #[inline]
    pub(super) fn clear(&mut self) {
        self.count = 0;
    }

    /// Whether [`Compression::start`] is still to be called.
    #[inline]
    pub(super) fn is_unused(&self) -> bool {
        self.count == 0
    }

    /// Begins with the root alone.
    #[inline]
    pub(super) fn start(&mut self) {
        self.labels[0] = EMPTY;
        self.count = 1;
    }

    /// Finds the longest suffix of `name`, which is whole and uncompressed, in the message. None if it is no name.
    #[inline]
    pub(super) fn place(&mut self, message: &[u8], name: &[u8]) -> Option<Placed> {
        let mut labels = 0;
        let mut at = 0;
        loop {
            let length = usize::from(*name.get(at)?);
            if length == 0 {
                break;
            }
            if length > MAX_LABEL {
                return None;
            }
            *self.starts.get_mut(labels)? = at as u8;
            labels += 1;
            at += 1 + length;
        }
        let mut end = at;
        let mut new_labels = labels;
        let mut place = ROOT;
        while new_labels > 0 {
            let start = usize::from(self.starts[new_labels - 1]);
            let child = self.child(message, place, &name[start..end]);
            if child == NONE {
                break;
            }
            place = child;
            end = start;
            new_labels -= 1;
        }
        let pointer = (place != ROOT).then(|| self.labels[usize::from(place)].offset);
        Some(Placed { new_labels: new_labels as u8, place, new_octets: end, pointer })
    }

    /// The label that stands right before `parent` and is the same but for letter case.
    #[inline]
    fn child(&self, message: &[u8], parent: u8, label: &[u8]) -> u8 {
        let mut child = self.labels[usize::from(parent)].child;
        while child != NONE {
            let Label { offset, next, .. } = self.labels[usize::from(child)];
            let there = message.get(usize::from(offset)..usize::from(offset) + label.len());
            if there.is_some_and(|there| is_same_label(there, label)) {
                return child;
            }
            child = next;
        }
        NONE
    }

    /// Makes the new labels of the name placed last, which was written at `start`, ones that can be pointed to.
    #[inline]
    pub(super) fn add(&mut self, start: usize, placed: Placed) {
        let mut parent = placed.place;
        for own in (0..usize::from(placed.new_labels)).rev() {
            let offset = start + usize::from(self.starts[own]);
            if offset > MAX_OFFSET || usize::from(self.count) == MOST {
                return;
            }
            let place = self.count;
            let next = std::mem::replace(&mut self.labels[usize::from(parent)].child, place);
            self.labels[usize::from(place)] = Label { offset: offset as u16, parent, child: NONE, next };
            self.count += 1;
            parent = place;
        }
    }

    /// Forgets what stands at `end` or behind it: the latest labels, each of which is its parent's latest.
    pub(super) fn back_to(&mut self, end: usize) {
        while self.count > 1 {
            let last = self.labels[usize::from(self.count) - 1];
            if usize::from(last.offset) < end {
                return;
            }
            self.labels[usize::from(last.parent)].child = last.next;
            self.count -= 1;
        }
    }
}

/// Whether two labels with their length octets are the same but for letter case. The last octet tells most apart.
#[inline]
fn is_same_label(one: &[u8], other: &[u8]) -> bool {
    let ends_alike = one.last().zip(other.last()).is_some_and(|(one, other)| (one ^ other) & !0x20 == 0);
    ends_alike && (one == other || one.eq_ignore_ascii_case(other))
}

impl Default for Compression {
    fn default() -> Self {
        Compression::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Writes a name into a message, as the response writer does.
    fn write(message: &mut Vec<u8>, names: &mut Compression, name: &[u8]) {
        let start = message.len();
        let placed = names.place(message, name).expect("a name");
        match placed.pointer {
            Some(offset) => {
                message.extend_from_slice(&name[..placed.new_octets]);
                message.extend_from_slice(&(0xc000 | offset).to_be_bytes());
            }
            None => message.extend_from_slice(name),
        }
        names.add(start, placed);
    }

    /// The name at `at`, in lower case; every pointer goes backwards.
    fn read(message: &[u8], mut at: usize) -> Vec<u8> {
        let mut name = Vec::new();
        loop {
            let length = message[at];
            if length >= 0xc0 {
                let target = usize::from(length & 0x3f) << 8 | usize::from(message[at + 1]);
                assert!(target < at);
                at = target;
                continue;
            }
            let end = at + 1 + usize::from(length);
            name.extend_from_slice(&message[at..end]);
            if length == 0 {
                return name.to_ascii_lowercase();
            }
            at = end;
        }
    }

    fn wire(labels: &[&str]) -> Vec<u8> {
        let mut wire: Vec<u8> =
            labels.iter().flat_map(|label| [&[label.len() as u8][..], label.as_bytes()].concat()).collect();
        wire.push(0);
        wire
    }

    proptest! {
        /// What is written is read back, also after some of it was taken back, and as short as can be: no name that stands
        /// there twice is written out twice.
        #[test]
        fn names_are_read_back_as_they_were_written(steps in proptest::collection::vec(
            (proptest::collection::vec(prop_oneof!["a", "B", "b", "bb", "example"], 0..5), any::<bool>()), 1..60)) {
            let mut message = vec![0; 12];
            let mut names = Compression::new();
            names.start();
            let mut written: Vec<(usize, Vec<u8>)> = Vec::new();
            for (labels, back) in steps {
                let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
                let name = wire(&labels);
                if back && let Some((start, _)) = written.pop() {
                    message.truncate(start);
                    names.back_to(start);
                }
                let start = message.len();
                write(&mut message, &mut names, &name);
                let lower = name.to_ascii_lowercase();
                prop_assert_eq!(read(&message, start), lower.clone());
                if name.len() > 1 && usize::from(names.count) < MOST && written.iter().any(|(_, one)| *one == lower) {
                    prop_assert_eq!(message.len() - start, 2);
                }
                written.push((start, lower));
            }
            for (start, name) in &written {
                prop_assert_eq!(&read(&message, *start), name);
            }
        }
    }

    #[test]
    fn names_beyond_the_last_place_are_written_in_full() {
        let mut message = vec![0; 12];
        let mut names = Compression::new();
        names.start();
        for number in 0..MOST * 2 {
            let label = format!("n{number}");
            let start = message.len();
            write(&mut message, &mut names, &wire(&[&label]));
            assert_eq!(read(&message, start), wire(&[&label]));
        }
        assert_eq!(usize::from(names.count), MOST);
        assert!(names.place(&message, b"\x03www").is_none());
    }
}
