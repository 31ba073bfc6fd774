//! A persistent hash table: a clone is one pointer, and a change copies the path to one entry, not the table.
//!
//! A trie over the bits of a 64-bit hash, 16 ways a level, with leaves of up to [`LEAF_MOST`] entries. While nobody
//! else holds a clone, changes are made in place, so that building a zone copies nothing.

use std::sync::Arc;

const BITS: u32 = 4;
const WAYS: usize = 1 << BITS;
/// Entries of a leaf before it is split.
const LEAF_MOST: usize = 12;

/// Entries found by hash and a comparison; see the module.
#[derive(Clone, Debug)]
pub struct Table<T> {
    root: Slot<T>,
    length: usize,
}

#[derive(Clone, Debug)]
enum Slot<T> {
    Empty,
    Leaf(Arc<Vec<(u64, T)>>),
    Branch(Arc<[Slot<T>; WAYS]>),
}

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

    /// The entry with this hash for which `is` holds.
    #[inline]
    pub fn get(&self, hash: u64, is: impl Fn(&T) -> bool) -> Option<&T> {
        let mut slot = &self.root;
        let mut bits = hash;
        loop {
            match slot {
                Slot::Empty => return None,
                Slot::Leaf(entries) => {
                    return entries.iter().find(|(its, entry)| *its == hash && is(entry)).map(|(_, entry)| entry);
                }
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
                Slot::Leaf(entries) => {
                    let found = Arc::make_mut(entries).iter_mut().find(|(its, entry)| *its == hash && is(entry));
                    return found.map(|(_, entry)| change(entry));
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
        let old = remove(&mut self.root, hash, hash, &is);
        self.length -= usize::from(old.is_some());
        old
    }

    /// All entries, in no order.
    pub fn iter(&self) -> Iter<'_, T> {
        Iter { stack: vec![std::slice::from_ref(&self.root).iter()], leaf: [].iter() }
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

fn insert<T: Clone>(slot: &mut Slot<T>, level: u32, hash: u64, entry: T, is: &dyn Fn(&T) -> bool) -> Option<T> {
    match slot {
        Slot::Empty => {
            *slot = Slot::Leaf(Arc::new(vec![(hash, entry)]));
            None
        }
        Slot::Branch(ways) => insert(&mut Arc::make_mut(ways)[way(hash, level)], level + 1, hash, entry, is),
        Slot::Leaf(entries) => {
            if let Some(at) = entries.iter().position(|(its, one)| *its == hash && is(one)) {
                return Some(std::mem::replace(&mut Arc::make_mut(entries)[at].1, entry));
            }
            if entries.len() < LEAF_MOST || (level + 1) * BITS > u64::BITS {
                let entries = Arc::make_mut(entries);
                entries.reserve_exact(if entries.len() == entries.capacity() { 2 } else { 0 });
                entries.push((hash, entry));
                return None;
            }
            let mut ways: [Slot<T>; WAYS] = std::array::from_fn(|_| Slot::Empty);
            for (its, one) in Arc::unwrap_or_clone(std::mem::take(entries)) {
                insert(&mut ways[way(its, level)], level + 1, its, one, &|_| false);
            }
            insert(&mut ways[way(hash, level)], level + 1, hash, entry, is);
            *slot = Slot::Branch(Arc::new(ways));
            None
        }
    }
}

fn remove<T: Clone>(slot: &mut Slot<T>, bits: u64, hash: u64, is: &impl Fn(&T) -> bool) -> Option<T> {
    match slot {
        Slot::Empty => None,
        Slot::Branch(ways) => {
            let ways = Arc::make_mut(ways);
            let old = remove(&mut ways[bits as usize % WAYS], bits >> BITS, hash, is);
            if ways.iter().all(|way| matches!(way, Slot::Empty)) {
                *slot = Slot::Empty;
            }
            old
        }
        Slot::Leaf(entries) => {
            let at = entries.iter().position(|(its, one)| *its == hash && is(one))?;
            let old = Arc::make_mut(entries).swap_remove(at).1;
            if entries.is_empty() {
                *slot = Slot::Empty;
            }
            Some(old)
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
            let olds: Vec<&(u64, T)> = Iter::of(left).collect();
            let news: Vec<&(u64, T)> = Iter::of(right).collect();
            let find = |all: &[&'a (u64, T)], one: &(u64, T)| {
                all.iter().find(|other| other.0 == one.0 && same_key(&other.1, &one.1)).map(|other| &other.1)
            };
            for one in &olds {
                match find(&news, one) {
                    Some(other) if unchanged(&one.1, other) => {}
                    other => each(Some(&one.1), other),
                }
            }
            for one in news.iter().filter(|one| find(&olds, one).is_none()) {
                each(None, Some(&one.1));
            }
        }
    }
}

/// Iterator of [`Table::iter`].
#[derive(Debug)]
pub struct Iter<'a, T> {
    stack: Vec<std::slice::Iter<'a, Slot<T>>>,
    leaf: std::slice::Iter<'a, (u64, T)>,
}

impl<'a, T> Iter<'a, T> {
    fn of(slot: &'a Slot<T>) -> impl Iterator<Item = &'a (u64, T)> {
        Pairs(Iter { stack: vec![std::slice::from_ref(slot).iter()], leaf: [].iter() })
    }

    fn next_pair(&mut self) -> Option<&'a (u64, T)> {
        loop {
            if let Some(pair) = self.leaf.next() {
                return Some(pair);
            }
            match self.stack.last_mut()?.next() {
                None => {
                    self.stack.pop();
                }
                Some(Slot::Empty) => {}
                Some(Slot::Leaf(entries)) => self.leaf = entries.iter(),
                Some(Slot::Branch(ways)) => self.stack.push(ways.iter()),
            }
        }
    }
}

impl<'a, T> Iterator for Iter<'a, T> {
    type Item = &'a T;

    fn next(&mut self) -> Option<&'a T> {
        self.next_pair().map(|(_, entry)| entry)
    }
}

struct Pairs<'a, T>(Iter<'a, T>);

impl<'a, T> Iterator for Pairs<'a, T> {
    type Item = &'a (u64, T);

    fn next(&mut self) -> Option<&'a (u64, T)> {
        self.0.next_pair()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// Few hashes, so that entries collide and leaves split to the last level.
    fn hash(key: u16) -> u64 {
        u64::from(key % 97).wrapping_mul(0x0101_0101_0101_0101)
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
