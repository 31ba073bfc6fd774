//! A persistent hash table: a clone is one pointer, and a change copies the path to one entry, not the table.
//!
//! A trie over the low bits of a 64-bit hash, 16 ways a level. Its leaves are small tables with open addressing over the
//! high bits, one allocation each: a hit costs the cache two lines that are cold in a large zone, the entry's place and
//! the entry. While nobody else holds a clone, changes are made in place, so that building a zone copies nothing.

use std::sync::Arc;

const BITS: u32 = 4;
const WAYS: usize = 1 << BITS;
/// Entries of a leaf before it is split: the most that a change copies.
const LEAF_MOST: usize = 96;
/// Places of a new leaf.
const LEAF_LEAST: usize = 4;
/// Levels of branches before the bits of the hash are used up; the leaves there grow without end.
const MOST_LEVELS: u32 = u64::BITS / BITS;

/// Entries found by hash and a comparison; see the module.
#[derive(Clone, Debug)]
pub struct Table<T> {
    root: Slot<T>,
    length: usize,
}

#[derive(Clone, Debug)]
enum Slot<T> {
    Empty,
    Leaf(Arc<[Place<T>]>),
    Branch(Arc<[Slot<T>; WAYS]>),
}

/// A place of a leaf: the hash and the entry, if one is there.
type Place<T> = (u64, Option<T>);

impl<T> Default for Table<T> {
    fn default() -> Self {
        Table { root: Slot::Empty, length: 0 }
    }
}

impl<T: Clone> Table<T> {
    /// Number of entries.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// A table of these entries, no two of one key, with their hashes: the same as with one [`Table::insert`] after the
    /// other, for a fraction of the work.
    pub fn of_distinct(entries: Vec<(u64, T)>) -> Table<T> {
        let length = entries.len();
        let mut places: Vec<Place<T>> = entries.into_iter().map(|(hash, entry)| (hash, Some(entry))).collect();
        // From the low end of the hash, so that the entries of a way stand together on every level.
        places.sort_unstable_by_key(|(hash, _)| hash.reverse_bits());
        Table { root: of_sorted(&mut places, 0), length }
    }

    /// The entry with this hash for which `is` holds.
    #[inline]
    pub fn get(&self, hash: u64, is: impl Fn(&T) -> bool) -> Option<&T> {
        let mut slot = &self.root;
        let mut bits = hash;
        loop {
            match slot {
                Slot::Empty => return None,
                Slot::Leaf(places) => return find(places, hash, is).and_then(|at| places[at].1.as_ref()),
                Slot::Branch(ways) => {
                    slot = &ways[bits as usize % WAYS];
                    bits >>= BITS;
                }
            }
        }
    }

    /// Puts an entry in the place of the one for which `is` holds, or adds it. Gives back the one replaced.
    pub fn insert(&mut self, hash: u64, entry: T, is: impl Fn(&T) -> bool) -> Option<T> {
        let old = insert(&mut self.root, 0, hash, entry, &is);
        self.length += usize::from(old.is_none());
        old
    }

    /// Changes the entry for which `is` holds, if there is one.
    pub fn update<R>(&mut self, hash: u64, is: impl Fn(&T) -> bool, change: impl FnOnce(&mut T) -> R) -> Option<R> {
        // Looked up first, so that a miss copies nothing.
        self.get(hash, &is)?;
        let mut slot = &mut self.root;
        let mut bits = hash;
        loop {
            match slot {
                Slot::Empty => return None,
                Slot::Leaf(places) => {
                    let at = find(places, hash, is)?;
                    return Arc::make_mut(places)[at].1.as_mut().map(change);
                }
                Slot::Branch(ways) => {
                    slot = &mut Arc::make_mut(ways)[bits as usize % WAYS];
                    bits >>= BITS;
                }
            }
        }
    }

    /// Takes out the entry for which `is` holds.
    pub fn remove(&mut self, hash: u64, is: impl Fn(&T) -> bool) -> Option<T> {
        self.get(hash, &is)?;
        let old = remove(&mut self.root, 0, hash, &is);
        self.length -= usize::from(old.is_some());
        old
    }

    /// All entries, in no order.
    pub fn iter(&self) -> Iter<'_, T> {
        Iter(Iter::of(&self.root))
    }

    /// Calls `each` with the leaves' entries that only `old` or only `new` has, or that are not the same there:
    /// `(Some, None)`, `(None, Some)` or both. Parts that both share are not looked at.
    pub fn difference<'a>(
        old: &'a Table<T>,
        new: &'a Table<T>,
        same_key: &impl Fn(&T, &T) -> bool,
        unchanged: &impl Fn(&T, &T) -> bool,
        each: &mut impl FnMut(Option<&'a T>, Option<&'a T>),
    ) {
        difference(&old.root, &new.root, 0, same_key, unchanged, each);
    }
}

/// The place of the entry for which `is` holds.
#[inline]
fn find<T>(places: &[Place<T>], hash: u64, is: impl Fn(&T) -> bool) -> Option<usize> {
    let mask = places.len() - 1;
    let mut at = first_place(hash) & mask;
    // Every leaf has an empty place, where the search ends.
    while let (its, Some(entry)) = &places[at] {
        if *its == hash && is(entry) {
            return Some(at);
        }
        at = (at + 1) & mask;
    }
    None
}

#[inline]
fn first_place(hash: u64) -> usize {
    (hash >> 48) as usize
}

/// A leaf of `count` places, a power of two, with these entries, fewer than there are places.
fn leaf<T>(count: usize, entries: impl Iterator<Item = (u64, T)>) -> Arc<[Place<T>]> {
    let mut places: Vec<Place<T>> = std::iter::repeat_with(|| (0, None)).take(count).collect();
    for (hash, entry) in entries {
        let mut at = first_place(hash) & (count - 1);
        while places[at].1.is_some() {
            at = (at + 1) & (count - 1);
        }
        places[at] = (hash, Some(entry));
    }
    places.into()
}

/// The part of a table at a level with these entries, which are taken out; those of one way stand together.
fn of_sorted<T>(entries: &mut [Place<T>], level: u32) -> Slot<T> {
    if entries.is_empty() {
        return Slot::Empty;
    }
    if entries.len() <= LEAF_MOST || level >= MOST_LEVELS {
        let mut size = LEAF_LEAST;
        while entries.len() * 4 > size * 3 {
            size *= 2;
        }
        return Slot::Leaf(leaf(size, entries.iter_mut().filter_map(|(hash, entry)| Some((*hash, entry.take()?)))));
    }
    let mut ways: [Slot<T>; WAYS] = std::array::from_fn(|_| Slot::Empty);
    for part in entries.chunk_by_mut(|left, right| way(left.0, level) == way(right.0, level)) {
        let at = way(part[0].0, level);
        ways[at] = of_sorted(part, level + 1);
    }
    Slot::Branch(Arc::new(ways))
}

/// The entries of a leaf, without copying them where nobody else has the leaf.
fn take<T: Clone>(places: &mut Arc<[Place<T>]>) -> Vec<(u64, T)> {
    let places = Arc::make_mut(places).iter_mut();
    places.filter_map(|(hash, entry)| entry.take().map(|entry| (*hash, entry))).collect()
}

fn count<T>(places: &[Place<T>]) -> usize {
    places.iter().filter(|place| place.1.is_some()).count()
}

fn insert<T: Clone>(slot: &mut Slot<T>, level: u32, hash: u64, entry: T, is: &dyn Fn(&T) -> bool) -> Option<T> {
    match slot {
        Slot::Empty => {
            *slot = Slot::Leaf(leaf(LEAF_LEAST, std::iter::once((hash, entry))));
            None
        }
        Slot::Branch(ways) => insert(&mut Arc::make_mut(ways)[way(hash, level)], level + 1, hash, entry, is),
        Slot::Leaf(places) => {
            if let Some(at) = find(places, hash, is) {
                return Arc::make_mut(places)[at].1.replace(entry);
            }
            let entries = count(places);
            if entries >= LEAF_MOST && level < MOST_LEVELS {
                let mut ways: [Slot<T>; WAYS] = std::array::from_fn(|_| Slot::Empty);
                for (its, one) in take(places) {
                    insert(&mut ways[way(its, level)], level + 1, its, one, &|_| false);
                }
                insert(&mut ways[way(hash, level)], level + 1, hash, entry, is);
                *slot = Slot::Branch(Arc::new(ways));
                return None;
            }
            // At least a quarter of the places stays empty, so that searches are short.
            if (entries + 1) * 4 > places.len() * 3 {
                let all = take(places).into_iter().chain(std::iter::once((hash, entry)));
                *slot = Slot::Leaf(leaf(places.len() * 2, all));
                return None;
            }
            let places = Arc::make_mut(places);
            let mask = places.len() - 1;
            let mut at = first_place(hash) & mask;
            while places[at].1.is_some() {
                at = (at + 1) & mask;
            }
            places[at] = (hash, Some(entry));
            None
        }
    }
}

fn remove<T: Clone>(slot: &mut Slot<T>, level: u32, hash: u64, is: &dyn Fn(&T) -> bool) -> Option<T> {
    match slot {
        Slot::Empty => None,
        Slot::Branch(ways) => {
            let ways = Arc::make_mut(ways);
            let old = remove(&mut ways[way(hash, level)], level + 1, hash, is);
            if ways.iter().all(|way| matches!(way, Slot::Empty)) {
                *slot = Slot::Empty;
            }
            old
        }
        Slot::Leaf(places) => {
            let at = find(places, hash, is)?;
            let old = Arc::make_mut(places)[at].1.take();
            // Made anew: an entry behind the gap could not be found across it.
            let entries = take(places);
            let fits = (entries.len() * 4 / 3 + 1).next_power_of_two().max(LEAF_LEAST);
            let size = places.len().min(fits * 2);
            *slot = if entries.is_empty() { Slot::Empty } else { Slot::Leaf(leaf(size, entries.into_iter())) };
            old
        }
    }
}

fn way(hash: u64, level: u32) -> usize {
    (hash.checked_shr(level * BITS).unwrap_or(0)) as usize % WAYS
}

fn difference<'a, T: Clone>(
    old: &'a Slot<T>,
    new: &'a Slot<T>,
    level: u32,
    same_key: &impl Fn(&T, &T) -> bool,
    unchanged: &impl Fn(&T, &T) -> bool,
    each: &mut impl FnMut(Option<&'a T>, Option<&'a T>),
) {
    match (old, new) {
        (Slot::Branch(left), Slot::Branch(right)) if Arc::ptr_eq(left, right) => {}
        (Slot::Leaf(left), Slot::Leaf(right)) if Arc::ptr_eq(left, right) => {}
        (Slot::Branch(left), Slot::Branch(right)) => {
            for (left, right) in left.iter().zip(right.iter()) {
                difference(left, right, level + 1, same_key, unchanged, each);
            }
        }
        (left, right) => {
            for (hash, one) in Iter::of(left) {
                match get(right, level, *hash, |other| same_key(one, other)) {
                    Some(other) if unchanged(one, other) => {}
                    other => each(Some(one), other),
                }
            }
            for (hash, one) in Iter::of(right) {
                if get(left, level, *hash, |other| same_key(one, other)).is_none() {
                    each(None, Some(one));
                }
            }
        }
    }
}

/// The entry with this hash for which `is` holds, in the part of a table at a level.
fn get<T>(mut slot: &Slot<T>, mut level: u32, hash: u64, is: impl Fn(&T) -> bool) -> Option<&T> {
    loop {
        match slot {
            Slot::Empty => return None,
            Slot::Leaf(places) => return find(places, hash, is).and_then(|at| places[at].1.as_ref()),
            Slot::Branch(ways) => slot = &ways[way(hash, level)],
        }
        level += 1;
    }
}

/// Iterator of [`Table::iter`].
#[derive(Debug)]
pub struct Iter<'a, T>(Pairs<'a, T>);

impl<'a, T> Iter<'a, T> {
    fn of(slot: &'a Slot<T>) -> Pairs<'a, T> {
        Pairs { stack: vec![std::slice::from_ref(slot).iter()], leaf: [].iter() }
    }
}

impl<'a, T> Iterator for Iter<'a, T> {
    type Item = &'a T;

    fn next(&mut self) -> Option<&'a T> {
        self.0.next().map(|(_, entry)| entry)
    }
}

/// Entries with their hashes.
#[derive(Debug)]
struct Pairs<'a, T> {
    stack: Vec<std::slice::Iter<'a, Slot<T>>>,
    leaf: std::slice::Iter<'a, Place<T>>,
}

impl<'a, T> Iterator for Pairs<'a, T> {
    type Item = (&'a u64, &'a T);

    fn next(&mut self) -> Option<(&'a u64, &'a T)> {
        loop {
            for (hash, entry) in self.leaf.by_ref() {
                if let Some(entry) = entry {
                    return Some((hash, entry));
                }
            }
            match self.stack.last_mut()?.next() {
                None => {
                    self.stack.pop();
                }
                Some(Slot::Empty) => {}
                Some(Slot::Leaf(places)) => self.leaf = places.iter(),
                Some(Slot::Branch(ways)) => self.stack.push(ways.iter()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// Few hashes, so that entries collide, and some with the same low bits, so that leaves split to the last level.
    fn hash(key: u16) -> u64 {
        if key < 150 { 7 } else { u64::from(key % 197).wrapping_mul(0x0101_0101_0101_0101) }
    }

    fn put(table: &mut Table<(u16, u8)>, key: u16, value: u8) -> Option<(u16, u8)> {
        table.insert(hash(key), (key, value), |one| one.0 == key)
    }

    proptest! {
        #[test]
        fn behaves_as_a_map_and_leaves_clones_alone(steps in proptest::collection::vec((0..400_u16, any::<Option<u8>>()), 0..600)) {
            let mut table = Table::default();
            let mut model = BTreeMap::new();
            let mut kept = (table.clone(), model.clone());
            for (at, (key, value)) in steps.iter().enumerate() {
                if at == steps.len() / 2 {
                    kept = (table.clone(), model.clone());
                }
                match value {
                    Some(value) => prop_assert_eq!(put(&mut table, *key, *value).map(|old| old.1), model.insert(*key, *value)),
                    None => prop_assert_eq!(table.remove(hash(*key), |one| one.0 == *key).map(|old| old.1), model.remove(key)),
                }
            }
            for (table, model) in [&kept, &(table.clone(), model.clone())] {
                prop_assert_eq!(table.len(), model.len());
                let all: BTreeMap<u16, u8> = table.iter().copied().collect();
                prop_assert_eq!(&all, model);
                for key in 0..400 {
                    prop_assert_eq!(table.get(hash(key), |one| one.0 == key).map(|one| one.1), model.get(&key).copied());
                }
            }
            let at_once = Table::of_distinct(model.iter().map(|(key, value)| (hash(*key), (*key, *value))).collect());
            prop_assert_eq!(at_once.len(), model.len());
            prop_assert_eq!(at_once.iter().copied().collect::<BTreeMap<u16, u8>>(), model.clone());
            for key in 0..400 {
                prop_assert_eq!(at_once.get(hash(key), |one| one.0 == key).map(|one| one.1), model.get(&key).copied());
            }
            let mut changed = kept.1.clone();
            Table::difference(&kept.0, &table, &|a, b| a.0 == b.0, &|a, b| a == b, &mut |old, new| {
                match (old, new) {
                    (_, Some(new)) => { changed.insert(new.0, new.1); }
                    (Some(old), None) => { changed.remove(&old.0); }
                    (None, None) => {}
                }
            });
            prop_assert_eq!(changed, model);
        }
    }
}
