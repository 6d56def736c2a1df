//! A Slurm of two nodes on this machine: Debian's daemons, as an ordinary user, in a folder of their
//! own, on loopback.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// `nobody`, for whom daemons run where the test is root.
const NOBODY: u32 = 65534;
const PROGRAMS: [&str; 7] =
    ["munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "sinfo"];
const NODES: [&str; 2] = ["n1", "n2"];

pub(super) struct Cluster {
    home: TempDir,
    brunt: PathBuf,
    is_root: bool,
    daemons: Vec<(&'static str, Child)>,
}

/// A process of a task.
pub(super) struct Task {
    pub(super) process: u32,
    pub(super) node: String,
}

impl Cluster {
    /// Starts it; says what is missing.
    pub(super) fn start() -> Result<Self, String> {
        if let Some(missing) = PROGRAMS.iter().find(|name| !is_installed(name)) {
            return Err(format!("{missing} is not installed"));
        }
        let is_root = rustix::process::geteuid().is_root();
        let home = TempDir::new().unwrap();
        let mut cluster = Self { home, brunt: PathBuf::new(), is_root, daemons: Vec::new() };
        fs::set_permissions(cluster.home.path(), fs::Permissions::from_mode(0o755)).unwrap();
        for name in ["etc", "run", "log", "state", "spool-n1", "spool-n2", "work"] {
            fs::create_dir(cluster.path(name)).unwrap();
        }
        cluster.brunt = cluster.program();
        let key: String = (0..128).map(|at| char::from(b'a' + (at * 7 % 26) as u8)).collect();
        fs::write(cluster.path("etc/munge.key"), key).unwrap();
        let private = fs::Permissions::from_mode(0o600);
        fs::set_permissions(cluster.path("etc/munge.key"), private).unwrap();
        fs::write(cluster.path("etc/slurm.conf"), cluster.configuration()).unwrap();
        cluster.own(cluster.home.path());
        let (run, log) = (cluster.path("run"), cluster.path("log"));
        cluster.daemon(
            "munged",
            &[
                "-F",
                &format!("--socket={}", run.join("munge.sock").display()),
                &format!("--key-file={}", cluster.path("etc/munge.key").display()),
                &format!("--log-file={}", log.join("munged.log").display()),
                &format!("--pid-file={}", run.join("munged.pid").display()),
                &format!("--seed-file={}", run.join("munge.seed").display()),
            ],
        );
        cluster.until("munged", |cluster| cluster.path("run/munge.sock").exists());
        cluster.daemon("slurmctld", &["-D", "-c"]);
        for node in NODES {
            cluster.node(node);
        }
        cluster.until("both nodes", Self::is_idle);
        Ok(cluster)
    }

    /// The program, where that user may run it.
    fn program(&self) -> PathBuf {
        let own = PathBuf::from(env!("CARGO_BIN_EXE_brunt"));
        let runs = self.as_user(&own).arg("--version").output();
        if runs.is_ok_and(|output| output.status.success()) {
            return own;
        }
        let copy = self.path("brunt");
        fs::copy(own, &copy).unwrap();
        copy
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// Where jobs work.
    pub(super) fn work(&self) -> PathBuf {
        self.path("work")
    }

    fn own(&self, path: &Path) {
        if !self.is_root {
            return;
        }
        chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
        if path.is_dir() {
            fs::read_dir(path).unwrap().for_each(|entry| self.own(&entry.unwrap().path()));
        }
    }

    fn as_user(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.stdin(Stdio::null()).env("SLURM_CONF", self.path("etc/slurm.conf"));
        let sbin = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
        command.env("PATH", sbin).env("NO_COLOR", "1");
        if self.is_root {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }

    /// Brunt, in the folder where jobs work.
    pub(super) fn brunt(&self, arguments: &[&str]) -> Output {
        let mut command = self.as_user(&self.brunt);
        command.current_dir(self.work()).args(arguments).output().unwrap()
    }

    /// What a command of Slurm or a shell prints.
    pub(super) fn ask(&self, program: &str, arguments: &[&str]) -> String {
        let mut command = self.as_user(Path::new(program));
        let output = command.current_dir(self.work()).args(arguments).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn daemon(&mut self, name: &'static str, arguments: &[&str]) {
        let log = fs::File::create(self.path(&format!("log/{name}-{}.out", self.daemons.len())));
        let mut command = self.as_user(Path::new(name));
        let log = log.unwrap();
        command.args(arguments).stdout(log.try_clone().unwrap()).stderr(log);
        let daemon = command.current_dir(self.path("log")).spawn().unwrap();
        self.daemons.push((name, daemon));
    }

    /// Starts a node.
    pub(super) fn node(&mut self, node: &'static str) {
        self.daemon("slurmd", &["-D", "-N", node]);
        self.daemons.last_mut().expect("it was started").0 = node;
    }

    /// A node and all that runs on it are gone at once.
    pub(super) fn lose(&mut self, node: &str) {
        let at = self.daemons.iter().position(|(name, _)| *name == node).unwrap();
        let (_, mut daemon) = self.daemons.remove(at);
        daemon.kill().unwrap();
        daemon.wait().unwrap();
        for process in own_processes(&self.path("etc/slurm.conf")) {
            let is_of_node = variable(process, "SLURMD_NODENAME").as_deref() == Some(node);
            let is_step = fs::read_to_string(format!("/proc/{process}/comm"))
                .is_ok_and(|name| name.starts_with("slurmstepd"));
            let has_task = || {
                children(process)
                    .into_iter()
                    .any(|child| variable(child, "SLURMD_NODENAME").as_deref() == Some(node))
            };
            if is_of_node || is_step && has_task() {
                kill(process);
            }
        }
    }

    fn is_idle(&self) -> bool {
        self.ask("sinfo", &["-h", "-t", "idle", "-o", "%D"]).trim() == "2"
    }

    /// Waits until nothing is queued or runs.
    pub(super) fn wait(&self) {
        self.until("an empty queue", |cluster| cluster.ask("squeue", &["-h", "-r"]).is_empty());
    }

    /// The process of a task that `fits`, once there is one.
    pub(super) fn task(&self, fits: impl Fn(&str, &str) -> bool) -> Task {
        let mut found = None;
        self.until("a task", |cluster| {
            for process in own_processes(&cluster.path("etc/slurm.conf")) {
                let is_brunt = fs::read_to_string(format!("/proc/{process}/comm"))
                    .is_ok_and(|name| name.trim() == "brunt");
                let of = |name| variable(process, name);
                if let (true, Some(index), Some(node)) =
                    (is_brunt, of("SLURM_ARRAY_TASK_ID"), of("SLURMD_NODENAME"))
                    && fits(&index, &node)
                {
                    found = Some(Task { process, node });
                }
            }
            found.is_some()
        });
        found.expect("it was waited for")
    }

    fn until(&self, what: &str, is_so: impl FnMut(&Self) -> bool) {
        let mut is_so = is_so;
        let begun = Instant::now();
        while !is_so(self) {
            if begun.elapsed() > Duration::from_secs(300) {
                let queue = self.ask("squeue", &["-r"]) + &self.ask("sinfo", &["-N", "-l"]);
                panic!("waited for {what}: {queue}");
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn configuration(&self) -> String {
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let host = host.trim().split('.').next().unwrap_or("localhost").to_owned();
        let free: Vec<TcpListener> =
            (0..3).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let ports: Vec<u16> = free.iter().map(|port| port.local_addr().unwrap().port()).collect();
        let base = self.home.path().display();
        let user = match self.is_root {
            true => "nobody".to_owned(),
            false => self.ask("id", &["-un"]).trim().to_owned(),
        };
        let nodes: String = (NODES.iter().zip(&ports[1..]))
            .map(|(node, port)| {
                format!(
                    "NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=1 RealMemory=2000 State=UNKNOWN\n"
                )
            })
            .collect();
        format!(
            "ClusterName=brunt\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={port}\nSlurmUser={user}\nSlurmdUser={user}\n\
             AuthType=auth/munge\nAuthInfo=socket={base}/run/munge.sock,cred_expire=5\nCredType=cred/munge\n\
             CommunicationParameters=NoInAddrAny,NoCtldInAddrAny\nStateSaveLocation={base}/state\n\
             SlurmctldPidFile={base}/run/slurmctld.pid\nSlurmctldLogFile={base}/log/slurmctld.log\n\
             SlurmdSpoolDir={base}/spool-%n\nSlurmdPidFile={base}/run/slurmd-%n.pid\nSlurmdLogFile={base}/log/slurmd-%n.log\n\
             ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nSelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\n\
             SchedulerType=sched/backfill\n\
             SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0,bf_interval=1\n\
             JobAcctGatherType=jobacct_gather/none\nAccountingStorageType=accounting_storage/none\nMpiDefault=none\n\
             ReturnToService=2\nSlurmdParameters=config_overrides\nSlurmdTimeout=15\nSlurmctldTimeout=30\nInactiveLimit=10\n\
             KillWait=5\nMinJobAge=600\n{nodes}\
             PartitionName=main Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP\n",
            port = ports[0]
        )
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for (_, daemon) in self.daemons.iter_mut().rev() {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
        own_processes(&self.path("etc/slurm.conf")).into_iter().for_each(kill);
    }
}

fn is_installed(program: &str) -> bool {
    ["/usr/bin", "/usr/sbin"].iter().any(|folder| Path::new(folder).join(program).exists())
}

/// Ends a process of this cluster.
pub(super) fn kill(process: u32) {
    let _ = Command::new("kill").args(["-s", "KILL", &process.to_string()]).output();
}

/// Processes that have this configuration of Slurm in their environment.
fn own_processes(configuration: &Path) -> Vec<u32> {
    let own = configuration.to_string_lossy().into_owned();
    let names = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let processes = names.filter_map(|name| name.parse().ok());
    let is_own = |process: &u32| {
        *process != std::process::id() && variable(*process, "SLURM_CONF") == Some(own.clone())
    };
    processes.filter(is_own).collect()
}

fn variable(process: u32, name: &str) -> Option<String> {
    let all = fs::read(format!("/proc/{process}/environ")).ok()?;
    let mut all = all.split(|byte| *byte == 0).map(String::from_utf8_lossy);
    all.find_map(|one| Some(one.strip_prefix(name)?.strip_prefix('=')?.to_owned()))
}

fn children(process: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten();
    let lists =
        tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("children")).ok());
    lists
        .flat_map(|list| {
            list.split_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<u32>>()
        })
        .collect()
}
