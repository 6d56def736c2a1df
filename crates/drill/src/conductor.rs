//! Takes a drill through its timeline, whatever it is conducted on: load, what happens to the sites,
//! failovers step by step, and what is found afterwards.
//!
//! ```text
//!   open -> load -> events ------------------------------------------> load -> compare -> close -> inspect
//!                      '-> failover: steps -> served -> loss -> load --'
//! ```
//!
//! Users lose service when a site is lost that serves, when the pair is seen not to serve, and when
//! a failover begins. They have it again after its last step.

use brunt_scenario::Decision;
use brunt_units::{Span, Time};

use crate::pair::{Meaning, Pair, Survivor};
use crate::procedure::{Ends, Otherwise, Step, name, procedure};
use crate::{AtRisk, Broken, CourseError, Cut, Loss, Rehearsal, SharedLedger, Side, Steps};

/// How often it is looked whether a silent site was heard meanwhile.
const HEEDS: Span = Span::millis(100);

/// What is to happen, and when.
pub struct Timetable<E> {
    /// In order of their times, which count from the beginning of the timeline.
    pub events: Vec<(Span, E)>,
    /// The load before the timeline.
    pub warm_up: Span,
    /// The load after the last event.
    pub after: Span,
}

/// Takes `pair` through `timetable`. What came of it is in its rehearsal.
///
/// # Errors
/// [`CourseError`] when it did not come to its end.
pub async fn conduct<P: Pair>(
    pair: &P,
    timetable: &Timetable<P::Event>,
) -> Result<(), CourseError> {
    Conductor { pair }.run(timetable).await
}

struct Conductor<'p, P> {
    pair: &'p P,
}

impl<P: Pair> Conductor<'_, P> {
    fn now(&self) -> Time {
        self.pair.now()
    }

    fn rehearsal(&self) -> &Rehearsal {
        self.pair.rehearsal()
    }

    async fn run(&self, timetable: &Timetable<P::Event>) -> Result<(), CourseError> {
        self.pair.open().await?;
        self.pair.pass(self.now() + timetable.warm_up).await?;
        let begun = self.now();
        let last = timetable.events.last().map_or(Span::ZERO, |(at, _)| *at);
        self.rehearsal().begin(last + timetable.after);
        self.pair.begin().await?;
        for (at, event) in &timetable.events {
            if matches!(self.pair.meaning(event), Meaning::Scheduled) {
                self.pair.happen(begun + *at, event).await?;
            }
        }
        let mut goes_on = true;
        for (at, event) in &timetable.events {
            self.pair.pass(begun + *at).await?;
            goes_on = self.happen(*at, begun, event).await?;
            if !goes_on {
                break;
            }
        }
        if goes_on {
            self.pair.settle(timetable.after).await?;
            self.pair.close_sample();
            if self.pair.is_back() {
                self.rehearsal().regain_service();
            }
        }
        self.rehearsal().note_outage();
        if goes_on {
            self.close().await?;
        }
        self.pair.inspect().await
    }

    /// Lets an event happen that was to be at `planned`. Whether the drill goes on.
    async fn happen(
        &self,
        planned: Span,
        begun: Time,
        event: &P::Event,
    ) -> Result<bool, CourseError> {
        let (now, meaning) = (self.now(), self.pair.meaning(event));
        if matches!(meaning, Meaning::Scheduled) {
            return Ok(true);
        }
        if now > begun + planned + P::PUNCTUAL {
            let by = P::DELAYED_BY;
            self.rehearsal().tell(format!("now, what was to be at {planned}, during {by}:"));
        }
        let serving = self.rehearsal().serving.get();
        match meaning {
            Meaning::FailOver(to, decision) if to != serving => {
                return self.fail_over(to, decision).await;
            }
            Meaning::FailOver(to, _) => {
                self.rehearsal().tell(format!("no failover: the {} serves already", to.word()));
                return Ok(true);
            }
            Meaning::Lost(side) if side == serving => self.pair.lose_service(),
            _ => {}
        }
        self.pair.happen(now, event).await?;
        Ok(true)
    }

    /// Everything fails over to `to`. Whether the drill goes on.
    async fn fail_over(&self, to: Side, decision: Decision) -> Result<bool, CourseError> {
        if let Decision::Automatic { silence } = decision {
            self.miss(silence).await?;
        }
        let (name, now) = (name(decision, to), self.now());
        let lost = self.rehearsal().lost();
        let (failed_at, at_risk) = lost.unwrap_or_else(|| (now, self.pair.at_risk()));
        let at_risk = match decision {
            Decision::Planned => AtRisk::default(),
            _ => at_risk,
        };
        self.rehearsal().tell(format!("{name} to the {} begins", to.word()));
        self.pair.close_sample();
        self.rehearsal().lose_service(at_risk);
        let mut steps = Steps::new(failed_at);
        for step in procedure(decision, self.pair.hand_over(to, decision)) {
            let Step { name: step, ends, is_given, otherwise } = step;
            let why = match self.end_of(ends, to).await {
                Ok(ended) => {
                    steps.push(step, ended, is_given);
                    continue;
                }
                Err(error) if otherwise == Otherwise::NoAnswer => return Err(error),
                Err(error) => error.words()?,
            };
            match otherwise {
                Otherwise::Refused => self.rehearsal().refused(name, &why, at_risk),
                _ => self.rehearsal().unusable(name, why, at_risk),
            }
            return Ok(self.pair.goes_on(false));
        }
        let served = self.now();
        self.rehearsal().served(name, &steps, served, to.word());
        let loss = self.loss(failed_at).await?;
        let survives = loss.is_ok();
        let reported = self.pair.reported(at_risk);
        self.rehearsal().survived(name, &steps, served, loss, reported);
        let goes_on = self.pair.goes_on(survives);
        if goes_on && let Err(error) = self.pair.work().await {
            self.is_no_survivor(error.words_of_site()?);
            self.rehearsal().lose_service(at_risk);
        }
        Ok(goes_on)
    }

    /// Waits until the serving site has said nothing for `silence`.
    async fn miss(&self, silence: Span) -> Result<(), CourseError> {
        loop {
            let until = self.pair.heard()? + silence;
            if self.now() >= until {
                break;
            }
            self.pair.pass(until.min(self.now() + HEEDS)).await?;
        }
        let missed = self.rehearsal().serving.get().word();
        self.rehearsal().tell(format!("the witness has not heard from the {missed} for {silence}"));
        Ok(())
    }

    /// When a step of a failover to `to` has ended.
    async fn end_of(&self, ends: Ends<P::Duty>, to: Side) -> Result<Time, CourseError> {
        match ends {
            Ends::Here => {}
            Ends::After(length) => self.pair.pass(self.now() + length).await?,
            Ends::ShutDown => self.pair.shut_down().await?,
            Ends::Own(duty) => self.pair.perform(duty).await?,
            Ends::Recovered => return self.pair.recover(to).await,
            Ends::Served => self.pair.first_operation().await?,
        }
        Ok(self.now())
    }

    /// What is lost of the ledgers of all servers, which then go on from what is kept. It is read
    /// after the first operation: users do not wait for it.
    async fn loss(&self, failed_at: Time) -> Result<Result<Loss, Broken>, CourseError> {
        let mut all = Loss::default();
        let mut broken = self.pair.broken_order().map(Broken::Order);
        for (server, ledger) in self.pair.ledgers().iter().enumerate() {
            // A source that only lost its link goes on asking; what it asks for from now on is not
            // looked for.
            let asked = ledger.lock().clone();
            let found = match self.pair.found(server, asked.keys()).await {
                Ok(found) => found,
                Err(error) => {
                    broken.get_or_insert(Broken::Unusable(error.words()?));
                    continue;
                }
            };
            let cut = match found {
                Survivor::Records(found) => Cut::of(&asked, &found),
                Survivor::Ends(ends) => {
                    let end = |stream: usize| ends.get(stream).copied().unwrap_or_default();
                    Ok(Cut::at(&asked, end))
                }
            };
            let mut ledger = ledger.lock();
            match cut {
                Ok(cut) => {
                    all.add(&Loss::of(&ledger, &cut, failed_at));
                    self.pair.settled(&ledger, &cut);
                    ledger.settle(&cut.kept);
                }
                Err(why) => {
                    broken.get_or_insert(why);
                }
            }
        }
        Ok(broken.map_or(Ok(all), Err))
    }

    /// Compares every changed record, and closes the servers.
    async fn close(&self) -> Result<(), CourseError> {
        let has_service = self.rehearsal().lost().is_none();
        if has_service && self.pair.has_content() {
            let wrong = self.wrong_records().await?;
            self.rehearsal().evidence().wrong_records = Some(wrong);
        }
        if let Err(error) = self.pair.shut_down().await {
            let why = error.words_of_site()?;
            match has_service {
                true => self.is_no_survivor(why.clone()),
                false => self.rehearsal().tell(why.clone()),
            }
            self.rehearsal().evidence().not_read.get_or_insert(why);
        }
        Ok(())
    }

    /// Records of the serving side that are not as committed.
    async fn wrong_records(&self) -> Result<u64, CourseError> {
        let mut wrong = 0;
        for (server, ledger) in self.pair.ledgers().iter().enumerate() {
            wrong += match self.at_rest(server, ledger).await {
                Ok(Survivor::Ends(_)) => 0,
                Ok(Survivor::Records(found)) => {
                    let now = ledger.lock().newest();
                    let differs = found.iter().filter(|(key, is)| now.get(*key) != Some(*is));
                    differs.count() as u64
                }
                Err(error) => {
                    self.is_no_survivor(error.words_of_site()?);
                    1
                }
            };
        }
        Ok(wrong)
    }

    /// What a server has of its records once its sessions rest.
    async fn at_rest(&self, server: usize, ledger: &SharedLedger) -> Result<Survivor, CourseError> {
        self.pair.rest(server).await?;
        let keys = ledger.lock().keys();
        self.pair.found(server, keys).await
    }

    /// The newest survivor turns out not to be one.
    fn is_no_survivor(&self, why: String) {
        self.rehearsal().tell(why.clone());
        self.rehearsal().is_no_survivor(Broken::Unusable(why));
    }
}
