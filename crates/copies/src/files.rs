//! Log files: read in the pieces of log shipping, and put durably into a folder.
//!
//! A file arrives under a temporary name, which the engine ignores and `brunt` knows as its own. It
//! gets its real name when its content is durable, and is acknowledged when the name is durable,
//! too. A crash leaves the temporary file or the whole log.
//!
//! There are two temporary names, so that a log is written while the one before it gets its name.
//! Names are given in order, each durably.

use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use brunt_ese::content::{Bytes, Content};
use brunt_ese::error::{EngineError, file_error, name_error};
use brunt_ese::format::log_file::{LOG_HEADER_BYTES, SIGNATURE_AT, generation_of, log_file_name};
use brunt_ese::format::stamp::Signature;
use brunt_units::Span;
use brunt_world::{Class, FileId, Io, Op, OpenMode, Segments, VolumeError, World};

use crate::wire::PIECE_BYTES;

/// Prefix of log names.
const BASE: &str = "edb";
/// Logs that may be arriving at a time.
pub(crate) const ARRIVING_MAX: usize = 2;

/// The path of a generation that is arriving: one of [`ARRIVING_MAX`].
fn arriving(directory: &Path, generation: u32) -> PathBuf {
    directory.join(format!("{BASE}copy{}.log", generation & 1))
}

/// The path of a closed generation.
pub(crate) fn archived(directory: &Path, generation: u32) -> PathBuf {
    directory.join(log_file_name(BASE, generation))
}

/// The path of the file that an active writes to.
pub(crate) fn current(directory: &Path) -> PathBuf {
    directory.join(format!("{BASE}.log"))
}

/// The path of a generation that is put aside for the `number`-th time.
fn aside(directory: &Path, generation: u32, number: u32) -> PathBuf {
    directory.join(format!("{BASE}{generation:05X}-aside{number}.log"))
}

/// The generations of closed logs in a folder, ascending.
pub(crate) async fn generations(world: &World, directory: &Path) -> Result<Vec<u32>, EngineError> {
    let names = world.volume.list(directory).await;
    let names = names.map_err(name_error(directory))?;
    let found = names.iter().filter_map(|name| generation_of(BASE, name));
    let mut found: Vec<u32> = found.collect();
    found.sort_unstable();
    Ok(found)
}

/// A log file, open for reading: a header of 4 KiB, then pieces of 256 KiB, so a file of 1 MiB
/// takes one small read and four large ones.
///
/// Source: published tests with copies show a mean of 232.6 kB over log reads (Dell PowerVault
/// MD3820f, 500 users, Exchange 2013, ESRP-Storage 4.0).
pub struct LogReader<C: Content> {
    content: PhantomData<C>,
    world: World,
    class: Class,
    path: PathBuf,
    file: FileId,
    length: u64,
    at: u64,
}

impl<C: Content> LogReader<C> {
    /// Opens the file; `None` when there is none.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub async fn open(
        world: &World,
        class: Class,
        path: &Path,
    ) -> Result<Option<Self>, EngineError> {
        let Some(mut reader) = Self::open_sized(world, class, path, 0).await? else {
            return Ok(None);
        };
        match world.volume.length(reader.file).await {
            Ok(length) => {
                reader.length = length - length.rem_euclid(LOG_HEADER_BYTES as u64);
                Ok(Some(reader))
            }
            Err(error) => {
                // The first error is the one that counts.
                reader.close().await;
                Err(name_error(path)(error))
            }
        }
    }

    /// The same for a file that is known to have `length` bytes.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub async fn open_sized(
        world: &World,
        class: Class,
        path: &Path,
        length: u64,
    ) -> Result<Option<Self>, EngineError> {
        let file = match world.volume.open(path, OpenMode::Read).await {
            Ok(file) => file,
            Err(VolumeError::NotFound) => return Ok(None),
            Err(error) => return Err(name_error(path)(error)),
        };
        Ok(Some(Self {
            content: PhantomData,
            world: world.clone(),
            class,
            path: path.to_owned(),
            file,
            length,
            at: 0,
        }))
    }

    /// Bytes of the file, whole blocks.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// The next piece, its bytes, and how long its read took; `None` at the end.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn next(&mut self) -> Result<Option<(C::Page, u64, Span)>, EngineError> {
        let most = match self.at {
            0 => LOG_HEADER_BYTES,
            _ => PIECE_BYTES,
        };
        let piece = (most as u64).min(self.length - self.at);
        if piece == 0 {
            return Ok(None);
        }
        let bytes = usize::try_from(piece).expect("a piece is small");
        let segments = Segments::from_buf([C::incoming(&self.world.frames, bytes)]);
        let io = Io::new(self.class, Op::Read, self.file, self.at, segments);
        let mut done = self.world.disk.submit(io).await;
        let latency = done.latency();
        done.result.map_err(file_error(&self.path))?;
        self.at += piece;
        let segment = done.segments.pop().expect("it had one");
        Ok(Some((C::arrived(segment), piece, latency)))
    }

    /// Reads the rest of the file, tells `seen` of each piece as [`Self::next`] returns it, and
    /// closes the file.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn each(
        mut self,
        mut seen: impl FnMut(C::Page, u64, Span),
    ) -> Result<(), EngineError> {
        let read = loop {
            match self.next().await {
                Ok(Some((piece, bytes, latency))) => seen(piece, bytes, latency),
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        self.close().await;
        read
    }

    /// Closes the file.
    pub async fn close(self) {
        // It was only read, so a failed close does not matter.
        let _ = self.world.volume.close(self.file).await;
    }
}

/// Reads a whole log file; `None` when there is none, or when it has more than `most` bytes.
pub(crate) async fn read_log(
    world: &World,
    class: Class,
    path: &Path,
    most: u64,
) -> Result<Option<Vec<u8>>, EngineError> {
    let Some(reader) = LogReader::<Bytes>::open(world, class, path).await? else {
        return Ok(None);
    };
    if reader.length() > most {
        reader.close().await;
        return Ok(None);
    }
    let mut bytes = Vec::new();
    let read = reader.each(|piece, _, _| bytes.extend_from_slice(&piece));
    read.await?;
    Ok(Some(bytes))
}

/// Puts a closed log file into a folder, durably; see the [module](self).
///
/// # Errors
/// When it cannot be written. Nothing of it is left, or the next start removes it.
pub async fn put_log<C: Content>(
    world: &World,
    directory: &Path,
    generation: u32,
    bytes: &[u8],
) -> Result<(), EngineError> {
    write_log::<C>(world, directory, generation, bytes).await?;
    name_log(world, directory, generation).await
}

/// Writes a closed log file under its temporary name, durably. The generation before the previous
/// one has its name.
pub(crate) async fn write_log<C: Content>(
    world: &World,
    directory: &Path,
    generation: u32,
    bytes: &[u8],
) -> Result<(), EngineError> {
    let path = arriving(directory, generation);
    let written = write_new::<C>(world, &path, bytes).await;
    if written.is_err() {
        forget_log(world, directory, generation).await;
    }
    written
}

/// Removes a log that was not given its name. If that fails, the next start removes it.
pub(crate) async fn forget_log(world: &World, directory: &Path, generation: u32) {
    let _ = world.volume.remove(&arriving(directory, generation)).await;
}

/// Gives a log that was written its name, durably.
pub(crate) async fn name_log(
    world: &World,
    directory: &Path,
    generation: u32,
) -> Result<(), EngineError> {
    let (path, to) = (arriving(directory, generation), archived(directory, generation));
    let renamed = world.volume.rename(&path, &to).await;
    renamed.map_err(name_error(&path))?;
    let synced = world.volume.sync_directory(directory).await;
    synced.map_err(name_error(directory))
}

async fn write_new<C: Content>(
    world: &World,
    path: &Path,
    bytes: &[u8],
) -> Result<(), EngineError> {
    let volume = &world.volume;
    let file = volume.open(path, OpenMode::CreateNew).await;
    let file = file.map_err(name_error(path))?;
    let written = write_whole::<C>(world, file, path, bytes).await;
    let closed = volume.close(file).await;
    written?;
    closed.map_err(name_error(path))
}

async fn write_whole<C: Content>(
    world: &World,
    file: FileId,
    path: &Path,
    bytes: &[u8],
) -> Result<(), EngineError> {
    let allocated = world.volume.allocate(file, bytes.len() as u64).await;
    allocated.map_err(name_error(path))?;
    for (number, piece) in (0_u64..).zip(bytes.chunks(PIECE_BYTES)) {
        let segments = Segments::from_buf([C::outgoing(&world.frames, piece)]);
        let at = number * PIECE_BYTES as u64;
        let io = Io::new(Class::Log, Op::Write, file, at, segments);
        let done = world.disk.submit(io).await;
        done.result.map_err(file_error(path))?;
    }
    let synced = world.disk.submit(Io::sync(Class::Log, file)).await;
    synced.result.map_err(file_error(path))
}

/// Removes what a crash left of logs that were arriving.
///
/// # Errors
/// [`EngineError::NotOurs`] when a file of that name is foreign. It was not touched.
pub(crate) async fn remove_arriving(world: &World, directory: &Path) -> Result<(), EngineError> {
    for generation in 0..ARRIVING_MAX {
        let generation = u32::try_from(generation).expect("two");
        remove_own(world, &arriving(directory, generation)).await?;
    }
    Ok(())
}

/// Removes a file of ours, if there is one.
async fn remove_own(world: &World, path: &Path) -> Result<(), EngineError> {
    let Some(mut reader) = LogReader::<Bytes>::open(world, Class::Recovery, path).await? else {
        return Ok(());
    };
    let header = reader.next().await;
    reader.close().await;
    let start = header?.map(|(bytes, ..)| bytes.to_vec()).unwrap_or_default();
    let is_blank = start.iter().take(512).all(|byte| *byte == 0);
    let is_ours =
        start.len() >= LOG_HEADER_BYTES && Signature::read(&start, SIGNATURE_AT).is_ours();
    if !is_blank && !is_ours {
        return Err(EngineError::NotOurs(path.to_owned()));
    }
    let removed = world.volume.remove(path).await;
    removed.map_err(name_error(path))
}

/// Renames the generations in `which`, newest first and each durably, so that a crash leaves
/// consecutive ones.
pub(crate) async fn put_aside(
    world: &World,
    directory: &Path,
    which: impl DoubleEndedIterator<Item = u32>,
) -> Result<(), EngineError> {
    let names = world.volume.list(directory).await;
    let names = names.map_err(name_error(directory))?;
    let is_free = |path: &PathBuf| {
        let name = path.file_name().expect("it was joined").to_string_lossy();
        !names.iter().any(|known| *known == name)
    };
    for generation in which.rev() {
        let from = archived(directory, generation);
        let mut places = (1..).map(|number| aside(directory, generation, number));
        let to = places.find(is_free).expect("numbers do not end");
        let renamed = world.volume.rename(&from, &to).await;
        renamed.map_err(name_error(&from))?;
        let synced = world.volume.sync_directory(directory).await;
        synced.map_err(name_error(directory))?;
    }
    Ok(())
}
