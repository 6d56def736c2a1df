//! An event counter for the running interval and in total.

/// Counts events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counter {
    closed: u64,
    running: u64,
}

impl Counter {
    /// Adds `count`.
    #[inline]
    pub fn add(&mut self, count: u64) {
        self.running += count;
    }

    /// Adds one.
    #[inline]
    pub fn tick(&mut self) {
        self.add(1);
    }

    /// Closes the running interval and returns its count.
    pub fn close_interval(&mut self) -> u64 {
        self.closed += self.running;
        std::mem::take(&mut self.running)
    }

    /// Discards everything counted before collection began.
    pub fn discard(&mut self) {
        *self = Self::default();
    }

    /// Adds what was counted earlier to the total.
    pub fn carry(&mut self, count: u64) {
        self.closed += count;
    }

    /// The total of all closed intervals.
    pub fn total(&self) -> u64 {
        self.closed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_the_sum_of_the_intervals() {
        let mut counter = Counter::default();
        counter.add(3);
        counter.discard();
        counter.tick();
        counter.add(4);
        assert_eq!((counter.close_interval(), counter.close_interval()), (5, 0));
        counter.tick();
        assert_eq!(counter.total(), 5);
    }
}
