//! The most frequent names of a stream, in a table of fixed size (the Space-Saving algorithm: the rarest name makes room for a
//! new one, which takes over its count, so a count is never too low).

use crate::wire::name::Name;

/// Names that are kept.
const PLACES: usize = 200;

/// The table.
#[derive(Debug, Default)]
pub(super) struct Top(Vec<(Name, u64)>);

impl Top {
    /// Counts a name.
    pub(super) fn add(&mut self, name: Name, weight: u64) {
        if let Some((_, count)) = self.0.iter_mut().find(|(known, _)| *known == name) {
            *count += weight;
        } else if self.0.len() < PLACES {
            self.0.push((name, weight));
        } else if let Some(rarest) = self.0.iter_mut().min_by_key(|(_, count)| *count) {
            *rarest = (name, rarest.1 + weight);
        }
    }

    /// Halves what was counted, so that what is long ago fades.
    pub(super) fn fade(&mut self) {
        self.0.iter_mut().for_each(|(_, count)| *count /= 2);
        self.0.retain(|(_, count)| *count > 0);
    }

    /// The most frequent ones, at most so many.
    pub(super) fn first(&self, most: usize) -> Vec<(String, u64)> {
        let mut all: Vec<&(Name, u64)> = self.0.iter().collect();
        all.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        all.into_iter().take(most).map(|(name, count)| (name.to_string(), *count)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequent_names_stay_whatever_rare_ones_pass_through() {
        let mut top = Top::default();
        for round in 0..5_000 {
            top.add(Name::parse(&format!("n{round}.example.")).expect("a name"), 1);
            if round % 10 == 0 {
                top.add(Name::parse("often.example.").expect("a name"), 10);
            }
        }
        let first = top.first(1);
        assert_eq!(first[0].0, "often.example.");
        assert!(first[0].1 >= 5_000);
        assert_eq!(top.0.len(), PLACES);
        (0..20).for_each(|_| top.fade());
        assert!(top.first(10).is_empty());
    }
}
