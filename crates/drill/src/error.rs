//! Why a course did not come to its end.

use brunt_units::Span;

use crate::sites::messages::Speaker;

/// Why a course did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum CourseError {
    /// The user stopped it.
    #[error("stopped before its end")]
    Stopped,
    /// A site could not do what it was asked.
    #[error("the {site}: {why}")]
    Failed { site: &'static str, why: String },
    /// A site hangs.
    #[error("the {site} has not answered for {patience}")]
    Silent { site: &'static str, patience: Span },
    /// A site answers something else than was asked.
    #[error("the {0} gave an unexpected answer")]
    Unexpected(&'static str),
    /// A site writes a line without a meaning.
    #[error("the {site} says \"{line}\"")]
    Nonsense { site: &'static str, line: String },
    /// The process of a site ended too early.
    #[error("the {site} ended: {last_words}")]
    Ended { site: &'static str, last_words: String },
    /// The destination runs another brunt.
    #[error("the destination is brunt {there}, and this is {own}: install the same there")]
    OtherProgram { there: Speaker, own: Speaker },
    /// The mirror broke without a failover.
    #[error("the mirror is broken: {0}")]
    MirrorBroken(String),
    /// The source went on before it was missed.
    #[error(
        "another program resumed the frozen source: the witness hears it again, and nothing fails over"
    )]
    Resumed,
    /// The cut steps left the storage of the source in place.
    #[error("the storage of the source can still be read after the cut steps")]
    NotCut,
    /// What the sites lie on, a tunnel between them or a command of the user failed.
    #[error("{0}")]
    Surroundings(Box<dyn std::error::Error + Send + Sync>),
    /// Servers or storage in a model could not do what they were asked.
    #[error("{0}")]
    Unable(Box<dyn std::error::Error + Send + Sync>),
    /// Nobody watches these sites.
    #[error("nobody watches these sites: they do not fail over by themselves")]
    NoWitness,
}

impl CourseError {
    /// `error`, of what the sites lie on.
    pub fn of(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Surroundings(Box::new(error))
    }

    /// What is in the way, in words; a stop stays one.
    pub fn words(self) -> Result<String, Self> {
        match self {
            Self::Stopped => Err(self),
            other => Ok(other.to_string()),
        }
    }

    /// The same where a site could not do what it was asked; everything else stays an error.
    pub fn words_of_site(self) -> Result<String, Self> {
        match self {
            Self::Failed { .. } | Self::Silent { .. } | Self::Unable(_) => self.words(),
            other => Err(other),
        }
    }
}
