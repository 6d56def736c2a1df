//! Cuts one story: an image, a recovery, a judgement.
//!
//! Equal images recover equally, so each is recovered only once to the same depth. But every cut is
//! judged against what was acknowledged before it.

use std::collections::BTreeMap;
use std::rc::Rc;

use brunt_world::Frames;
use brunt_world::random::Streams;
use brunt_world_virtual::crash::{CrashImages, Sample};
use brunt_world_virtual::{Digest, Step, Store};

use super::recovery::{Recovery, Trouble, recover};
use super::story::Ruins;
use super::{Configuration, Coverage, State, Story, Work, rot};

/// One story, cut at regular distances.
#[derive(Clone, Debug)]
pub struct Search {
    /// The configuration of the story.
    pub configuration: Configuration,
    /// Distance between cuts; 1 takes every cut.
    pub every: usize,
    /// The first sample at each cut.
    pub first_sample: u64,
    /// Samples at each cut.
    pub samples: u64,
    /// One in this many samples is deep: all trees and all space are walked, and its recovery is
    /// cut off as well.
    pub deep_every: u64,
}

impl Search {
    /// Runs the story, cuts it, and recovers.
    ///
    /// # Errors
    /// The first violation, in words.
    pub fn run(&self) -> Result<Coverage, String> {
        let mut coverage = Coverage::default();
        self.run_on(&Frames::in_memory(), &mut coverage)?;
        Ok(coverage)
    }

    /// The same with these frames; adds to `coverage`.
    pub fn run_on(&self, frames: &Frames, coverage: &mut Coverage) -> Result<(), String> {
        let story = Story::run(&self.configuration, frames)?;
        coverage.saw_story(&story);
        let mut trial = Trial::new(&story, frames);
        let mut steps = 0_u64;
        for cut in trial.cuts().into_iter().step_by(self.every) {
            for number in self.first_sample..self.first_sample + self.samples {
                let sample = Sample::nth(number);
                let is_deep = steps.is_multiple_of(self.deep_every);
                steps += 1;
                let depth = Depth {
                    walk: is_deep,
                    second: is_deep.then_some(u64::from(cut.0) << 8 | number),
                    rot: None,
                };
                trial
                    .step(cut, sample, depth, coverage)
                    .map_err(|what| format!("{what} (cut {}, {sample:?})", cut.0))?;
            }
        }
        Ok(())
    }
}

/// How thoroughly a crash is checked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Depth {
    /// Whether all trees and all space are walked.
    pub(super) walk: bool,
    /// Seed of the point at which recovery is cut off as well.
    pub(super) second: Option<u64>,
    /// Seed of a page that rots meanwhile.
    pub(super) rot: Option<u64>,
}

/// The trial of a story.
pub(super) struct Trial<'a> {
    story: &'a Story,
    images: CrashImages<'a>,
    /// Recovered states, by image and by how deep it was looked into: walked, cut off again.
    recovered: BTreeMap<(u64, bool, bool), Rc<State>>,
    frames: &'a Frames,
}

impl<'a> Trial<'a> {
    pub(super) fn new(story: &'a Story, frames: &'a Frames) -> Self {
        Self { story, images: CrashImages::new(&story.journal), recovered: BTreeMap::new(), frames }
    }

    /// The possible cuts of the story, in order.
    pub(super) fn cuts(&self) -> Vec<Step> {
        self.images.cuts()
    }

    /// Recovers one crash point and compares the state; returns a hash of it. Cheap when cuts come
    /// in order.
    pub(super) fn step(
        &mut self,
        cut: Step,
        sample: Sample,
        depth: Depth,
        coverage: &mut Coverage,
    ) -> Result<Digest, String> {
        let mut image = self.images.image(cut, sample);
        if let Some(seed) = depth.rot
            && let Some(found) = self.step_with_rot(cut, &mut image, seed, coverage)
        {
            return found;
        }
        coverage.steps += 1;
        coverage.faults += self.images.pending(cut) as u64;
        let files = image.digest().value();
        coverage.saw_image(files);
        let looked = (files, depth.walk, depth.second.is_some());
        let state = match self.recovered.get(&looked) {
            Some(state) => Rc::clone(state),
            None => {
                let state = Rc::new(self.recover(image, depth, coverage)?);
                self.recovered.insert(looked, Rc::clone(&state));
                state
            }
        };
        let (possible, acknowledged) = self.story.possible(&self.images, cut);
        judge(&state, possible, acknowledged)?;
        let mut digest = hash(&state);
        coverage.saw_state(digest.value());
        digest.mix(files);
        Ok(digest)
    }

    /// A power failure with which the story's next generation begins: the remaining files, and
    /// their state.
    pub(super) fn lose_power(&mut self, cut: Step, sample: Sample) -> Result<Ruins, String> {
        let files = self.images.image(cut, sample);
        let configuration = &self.story.configuration;
        let found = recover(files.fork(), configuration, true, None, self.frames);
        let state = found.map_err(Trouble::words)?.state;
        let (possible, acknowledged) = self.story.possible(&self.images, cut);
        judge(&state, possible, acknowledged)?;
        Ok(Ruins { files, state })
    }

    /// One crash point with rot. `None` when nothing was damaged.
    ///
    /// With another copy everything must be right. Without one the engine may refuse the files, and
    /// a page that it takes for torn is only counted: it cannot be detected, and nothing is
    /// promised.
    fn step_with_rot(
        &mut self,
        cut: Step,
        image: &mut Store,
        seed: u64,
        coverage: &mut Coverage,
    ) -> Option<Result<Digest, String>> {
        let configuration = &self.story.configuration;
        if configuration.work == Work::Pages {
            return None;
        }
        let mut draw = Streams::new(seed).named("rot");
        let (databases, size) = (configuration.databases, configuration.page_size);
        let rot = rot::spoil(image, databases, size, &mut draw)?;
        let copies = draw.percent(50).then(|| self.images.image(cut, Sample::Everything));
        let copies = copies.filter(|copies| rot.can_be_mended(copies, size));
        let has_copy = copies.is_some();
        coverage.steps += 1;
        coverage.spoiled += 1;
        let mut digest = image.digest();
        coverage.saw_image(digest.value());
        let recovered = recover(image.fork(), configuration, true, copies, self.frames);
        let in_words = |what: String| {
            format!(
                "{what} ({rot}, {})",
                match has_copy {
                    true => "with a copy",
                    false => "without a copy",
                }
            )
        };
        let (possible, acknowledged) = self.story.possible(&self.images, cut);
        let judged = recovered.and_then(|recovery| {
            judge(&recovery.state, possible, acknowledged)?;
            Ok(hash(&recovery.state).value())
        });
        match judged {
            Ok(found) => {
                coverage.saw_state(found);
                digest.mix(found);
            }
            Err(trouble) if has_copy => return Some(Err(in_words(trouble.words()))),
            Err(Trouble::Refused(_)) => coverage.refused += 1,
            Err(Trouble::Wrong(what)) if what.starts_with("panic") => {
                return Some(Err(in_words(what)));
            }
            Err(Trouble::Wrong(_)) => coverage.missed += 1,
        }
        Some(Ok(digest))
    }

    fn recover(
        &self,
        image: Store,
        depth: Depth,
        coverage: &mut Coverage,
    ) -> Result<State, String> {
        let first = self.open(image, depth.walk, coverage, false)?;
        if let Some(seed) = depth.second {
            let mut draw = Streams::new(seed).named("second crash");
            let mut images = CrashImages::new(&first.journal);
            let cuts = images.cuts();
            let cut = cuts[usize::try_from(draw.below(cuts.len() as u64)).expect("a place")];
            let image = images.image(cut, Sample::nth(draw.below(20)));
            coverage.faults += images.pending(cut) as u64;
            let second = self.open(image, depth.walk, coverage, true);
            let second = second.map_err(|what| format!("after a crash in recovery: {what}"))?;
            if second.state != first.state {
                return Err("a crash in recovery led to another state".to_owned());
            }
        }
        Ok(first.state)
    }

    fn open(
        &self,
        image: Store,
        walk: bool,
        coverage: &mut Coverage,
        is_second: bool,
    ) -> Result<Recovery, String> {
        let recovery = recover(image, &self.story.configuration, walk, None, self.frames);
        let recovery = recovery.map_err(Trouble::words)?;
        coverage.saw_recovery(&recovery.report, is_second);
        coverage.walks += u64::from(walk);
        Ok(recovery)
    }
}

/// Checks that a recovered state existed once, and is not older than what was acknowledged.
fn judge(state: &State, history: &[State], acknowledged: u64) -> Result<(), String> {
    match history.iter().rposition(|known| known == state) {
        None => Err("not a state that ever was".to_owned()),
        Some(found) if (found as u64) < acknowledged => Err(format!(
            "lost a durable commit: state {found} of {}, {acknowledged} was acknowledged",
            history.len() - 1
        )),
        Some(_) => Ok(()),
    }
}

pub(super) fn hash(state: &State) -> Digest {
    let mut digest = Digest::default();
    for ((database, record), version) in state {
        digest.mix(u64::from(*database) << 32 | u64::from(*record));
        digest.mix(*version);
    }
    digest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_states_that_were_and_hold_what_was_acknowledged_pass() {
        let states: Vec<State> = (0..4).map(|version| State::from([((0, 1), version)])).collect();
        assert_eq!(judge(&states[3], &states, 3), Ok(()));
        assert_eq!(judge(&states[3], &states, 2), Ok(()));
        let lost = judge(&states[1], &states, 2).unwrap_err();
        assert_eq!(lost, "lost a durable commit: state 1 of 3, 2 was acknowledged");
        let strange = State::from([((0, 1), 9)]);
        assert!(judge(&strange, &states, 0).is_err());
    }
}
