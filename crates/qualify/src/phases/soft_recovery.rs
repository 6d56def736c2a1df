//! Soft recovery: how long does it take to replay a number of logs after a crash?
//!
//! ```text
//!   sessions write logs, the checkpoint stays behind --> all sessions stop --> the server is abandoned as in a crash
//!      --> opened again: redo and undo, instance by instance, timed --> closed --> every record compared
//! ```
//!
//! Pages are written when they are old, as in any other test, but the checkpoint is held back, so
//! that recovery replays all logs. It reads nearly every page that they changed, finds most changes
//! done, and repeats those from the end of the log. Published recoveries behaved the same: they
//! read a thousand pages a second and wrote seventeen (EMC, CX3-20 for 700 users, H2930, 2007). The
//! log is durable to its end when the server is abandoned, so every record is known then, and lost
//! ones are detected.

use std::rc::Rc;

use brunt_ese::instance::Instance;
use brunt_report::counted;
use brunt_report::result::PhaseName;
use brunt_run::{News, TELL};
use brunt_units::ByteSize;
use brunt_workload::keys::{Extent, Population};

use crate::load::Load;
use crate::load::punctuality::Punctuality;
use crate::phases::growth::rough;
use crate::phases::run::{Director, GaveUp, TICK};
use crate::phases::test_run::TestRun;
use crate::rules::Ending;
use crate::sampling::Sampler;
use crate::server::{Server, Table};
use crate::truth::verification;

impl Director<'_> {
    /// Runs the test. Returns what the databases must hold then; `None` if something went wrong.
    pub(crate) async fn recover<T: Table>(
        &self,
        run: &mut TestRun,
        server: &Rc<Server<T>>,
        populations: Vec<Population>,
    ) -> Option<Vec<Extent>> {
        let sessions = self.plan.sessions;
        let mut load = Load::start(self.world, self.plan, server, populations, sessions);
        let enough = self.generate(run, server, &mut load).await;
        if self.unless_hung(load.sessions.stop()).await == Err(GaveUp) {
            run.ending = Ending::Broken(self.hung());
            return None;
        }
        run.note_sessions(&load.sessions);
        run.note_errors(server.failure());
        run.last = server.file_sizes();
        if self.stop.is_asked() || !enough || run.log.errors > 0 {
            run.ending = self.ended_early(run, server, load.outgrown).await;
            return None;
        }
        let extents = load.sessions.with_workload(|w| verification::extents(w.populations()));
        match self.unless_hung(self.crash_and_recover(run, server)).await {
            Ok(Ok(())) => Some(extents),
            Ok(Err(error)) => {
                run.note_lost_log(&error);
                run.ending = Ending::Broken(error.to_string());
                None
            }
            Err(GaveUp) => {
                run.ending = Ending::Broken(self.hung());
                None
            }
        }
    }

    /// Runs sessions until every instance has as many logs as wanted; returns whether they do.
    async fn generate<T: Table>(
        &self,
        run: &mut TestRun,
        server: &Rc<Server<T>>,
        load: &mut Load<T>,
    ) -> bool {
        let (board, page) = (server.board(), self.plan.engine.page.bytes_u64());
        let first = server.generations();
        let begun = self.now();
        // Otherwise pages evicted from a small cache would advance the checkpoint, and recovery
        // would replay fewer logs than were written.
        server.instances().iter().for_each(Instance::hold_checkpoint);
        self.note(format!(
            "first, sessions write {} of {} for each instance, for at most {}",
            counted(self.plan.logs.into(), "log file"),
            self.plan.engine.log_file,
            rough(self.plan.duration)
        ));
        self.tell(News::Dispatching);
        self.tell(News::CollectionStarted);
        let mut sampler = Sampler::start(self.plan, begun, board);
        let punctuality = Punctuality::watch(self.world, self.recorder);
        load.sessions.begin_collection();
        let mut tell_at = begun;
        let mut enough = false;
        loop {
            let now = self.now();
            let written = server.generations();
            let written = written.iter().zip(&first).map(|(now, first)| now - first);
            let least = written.min().unwrap_or(0);
            enough |= least >= self.plan.logs;
            let over = enough || self.is_over(load) || now - begun >= self.plan.duration;
            if now >= sampler.due() || (over && now > sampler.closed_at()) {
                let resident = u64::from(server.resident().0) * page;
                let operations = load.sessions.take_latencies();
                if over {
                    sampler.is_last();
                }
                let so_far = self.so_far(run, load, &punctuality);
                let standing = so_far.standing_at_end();
                let recorded = sampler.close(now, board, &operations, resident, standing);
                self.listener.recorded(&recorded);
            }
            if over {
                break;
            }
            self.tend(load);
            if now >= tell_at {
                tell_at = now + TELL;
                let wanted = self.plan.logs;
                self.tell(News::GeneratingLogs { done: least, wanted });
            }
            self.world.sleep(TICK).await;
        }
        self.tell(News::CollectionEnded);
        run.delays = punctuality.end();
        run.collection_ended = Some(sampler.closed_at());
        run.collected = Some(sampler.collected());
        enough
    }

    /// Ends the test cleanly without a recovery; returns the reason.
    async fn ended_early<T: Table>(
        &self,
        run: &mut TestRun,
        server: &Rc<Server<T>>,
        outgrown: Option<String>,
    ) -> Ending {
        let closed = self.close(server).await;
        if let Ok(Err(error)) = &closed {
            run.note_errors(server.failure().or(Some(error.clone())));
        }
        match (server.failure(), closed) {
            (_, Err(GaveUp)) => Ending::Broken(self.hung()),
            (Some(error), _) | (None, Ok(Err(error))) => Ending::Broken(error.to_string()),
            (None, Ok(Ok(()))) if self.stop.is_asked() => Ending::Stopped,
            (None, Ok(Ok(()))) => match &run.log.first_error {
                Some(error) => Ending::Broken(error.to_string()),
                None => outgrown.map_or_else(|| self.too_few_logs(), Ending::Broken),
            },
        }
    }

    fn too_few_logs(&self) -> Ending {
        Ending::Unanswered(format!(
            "fewer than {} log files were written in {} s; more sessions, a longer test.duration, or fewer test.logs",
            self.plan.logs,
            self.plan.duration.0.div_euclid(1_000_000_000)
        ))
    }

    async fn crash_and_recover<T: Table>(
        &self,
        run: &mut TestRun,
        server: &Rc<Server<T>>,
    ) -> Result<(), brunt_ese::error::EngineError> {
        server.abandon().await?;
        run.attempted = true;
        self.note("the server was left without a shutdown; its logs are replayed".to_owned());
        self.tell(News::Recovering { done: 0, logs: 0 });
        self.begin_phase(PhaseName::Replay);
        let again = T::reopen(self.world, self.plan, self.listener, server).await;
        self.end_phase(run);
        let again = again?;
        let (done, total) = (ByteSize::bytes(0), again.unwritten());
        self.tell(News::Closing { done, total });
        run.recoveries = again.recoveries().to_vec();
        run.last = again.file_sizes();
        again.close().await
    }
}
