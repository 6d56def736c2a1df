//! The worker: a process that runs the test in the folder of its run.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};

use brunt_fleet::Task;

use crate::worker::{ToWorker, line};

pub(crate) struct Worker {
    process: Arc<Mutex<Child>>,
    stdin: Option<ChildStdin>,
}

impl Worker {
    /// Starts `command` on `task`. A disk without room for its words is said before.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn start(
        command: &[OsString],
        folder: &Path,
        task: &Task,
    ) -> io::Result<(Self, ChildStdout)> {
        let (path, out) = (folder.join("scenario.toml"), folder.join("out"));
        let mut file = File::create(&path)?;
        file.write_all(task.scenario.as_bytes())?;
        file.sync_all()?;
        fs::create_dir_all(&out)?;
        let words = File::create(folder.join("worker.log"))?;
        let program = command.first().cloned().unwrap_or_default();
        let mut process = Command::new(program)
            .args(command.iter().skip(1))
            .args(task.replace.then_some("--replace"))
            .args([task.server.as_ref(), path.as_os_str(), out.as_os_str()])
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::from(words))
            // What is sent to the keeper is not meant for the test.
            .process_group(0)
            .spawn()?;
        let (stdin, stdout) = (process.stdin.take(), process.stdout.take());
        let stdout = stdout.ok_or_else(|| io::Error::other("its stdout is not ours"))?;
        Ok((Self { process: Arc::new(Mutex::new(process)), stdin }, stdout))
    }

    /// For the thread that waits for its end.
    pub(crate) fn process(&self) -> Arc<Mutex<Child>> {
        Arc::clone(&self.process)
    }

    pub(crate) fn tell(&mut self, message: &ToWorker) {
        if let Some(stdin) = &mut self.stdin {
            // A worker that has ended is seen by its end.
            let _ = stdin.write_all(line(message).as_bytes());
        }
    }

    /// Its stdin ends: it is to stop in order.
    pub(crate) fn dismiss(&mut self) {
        self.stdin = None;
    }
}
