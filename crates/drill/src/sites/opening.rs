//! The beginning of a course: both sites begin, the source creates the databases, and replication
//! starts.

use std::net::SocketAddr;
use std::path::Path;

use brunt_scenario::SiteReplication;

use super::messages::{Answer, Command};
use super::pair::{SitePair, unexpected};
use crate::{Base, CourseError, Ledger, Side};

impl SitePair {
    /// Starts both sites, connects them, creates the databases and lets sessions work.
    pub(super) async fn create(&self) -> Result<(), CourseError> {
        if self.storage.is_remote() {
            let there = self.take_there().await?;
            self.log_segment.set(self.log_segment.get().max(there));
        }
        let drill = &self.drill;
        self.begin_site(Side::Source, &drill.source.value).await?;
        // What replicates elsewhere brings the folder of the destination later.
        if self.plan.replication != SiteReplication::External {
            self.begin_site(Side::Destination, &drill.destination.value).await?;
            self.mirror().await?;
        }
        let Answer::Created { records } = self.ask(Side::Source, &Command::Create).await? else {
            return Err(unexpected(Side::Source));
        };
        let instances = self.drill.scenario.instances.iter().enumerate();
        let names = instances.flat_map(|(stream, instance)| {
            let databases = (0_u8..).zip(&instance.databases);
            databases.map(move |(number, _)| (stream, number))
        });
        *self.ledger.lock() = Ledger::new(Base::created(names.zip(records)));
        if self.plan.replication == SiteReplication::Asynchronous {
            self.ship().await?;
        }
        self.ask(Side::Source, &Command::Work).await?;
        Ok(())
    }

    /// Lets the destination take its folder on another host. The bytes of its log segments.
    async fn take_there(&self) -> Result<usize, CourseError> {
        let take = Command::Take {
            folder: self.drill.destination.value.clone(),
            replace: self.storage.may_replace(),
            drill: self.storage.speaker(),
        };
        let Answer::Taken { log_segment, site } = self.ask(Side::Destination, &take).await? else {
            return Err(unexpected(Side::Destination));
        };
        let own = self.storage.speaker();
        match own.is(&site) {
            true => Ok(log_segment),
            false => Err(CourseError::OtherProgram { there: site, own }),
        }
    }

    /// Lets the process of `side` begin in `folder`.
    pub(super) async fn begin_site(&self, side: Side, folder: &Path) -> Result<(), CourseError> {
        let begin = Command::Begin {
            scenario: self.drill.to_toml(),
            folder: folder.to_owned(),
            log_segment: self.log_segment.get(),
        };
        self.ask(side, &begin).await.map(drop)
    }

    /// Everything that the source writes goes to the destination from now on.
    async fn mirror(&self) -> Result<(), CourseError> {
        let listening = self.ask(Side::Destination, &Command::Receive).await?;
        let Answer::Listening { at, token } = listening else {
            return Err(unexpected(Side::Destination));
        };
        let to = self.link.way_to(&self.rehearsal.world, at).await?;
        let mirror = Command::Mirror { to, token, epoch: 1 };
        self.ask(Side::Source, &mirror).await.map(drop)
    }

    /// Both sites have the same databases; from now on only closed logs go to the destination.
    async fn ship(&self) -> Result<(), CourseError> {
        self.ask(Side::Source, &Command::Close).await?;
        let copying = self.ask(Side::Destination, &Command::Copy).await?;
        let Answer::Copying { at, token } = copying else {
            return Err(unexpected(Side::Destination));
        };
        let mut to: Vec<SocketAddr> = Vec::new();
        for at in at {
            to.push(self.link.way_to(&self.rehearsal.world, at).await?);
        }
        let ship = Command::Ship { to, token };
        self.ask(Side::Source, &ship).await.map(drop)
    }
}
