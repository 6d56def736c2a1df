//! Systems that allow less: a limit on locked memory, and a filter that refuses io_uring.
//!
//! Both are set up for one test's thread only: capabilities and seccomp filters belong to threads.
//! The limit belongs to the process, but does not apply to a thread with the capability.

#![expect(unsafe_code, reason = "installs a seccomp filter; the block says why it is sound")]

use crate::skipped::skipped;
use brunt_world::{Class, Io, OpenMode};
use brunt_world_real::{Backend, Choice, Kind, Options, RealWorld, StartError, TaskRun};
use rustix::process::{Resource, Rlimit, setrlimit};
use rustix::thread::{CapabilitySet, capabilities, set_capabilities};

/// Makes `io_uring_setup` fail with EPERM on this thread, as container runtimes do.
fn refuse_io_uring() {
    let statement = |code: u32, k: u32, jt: u8, jf: u8| libc::sock_filter {
        code: u16::try_from(code).unwrap(),
        jt,
        jf,
        k,
    };
    let eperm = libc::SECCOMP_RET_ERRNO | libc::EPERM.unsigned_abs();
    let setup = u32::try_from(libc::SYS_io_uring_setup).unwrap();
    let mut filter = [
        // The system call number is the first word of the data that a filter sees.
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, setup, 0, 1),
        statement(libc::BPF_RET | libc::BPF_K, eperm, 0, 0),
        statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW, 0, 0),
    ];
    let program =
        libc::sock_fprog { len: u16::try_from(filter.len()).unwrap(), filter: filter.as_mut_ptr() };
    // SAFETY: the program and its filter outlive the call, which copies them; it only removes
    // rights.
    let installed = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) == 0
    };
    assert!(installed, "{}", std::io::Error::last_os_error());
}

/// Removes this thread's right to lock memory beyond the limit, and sets the limit to one mebibyte.
fn limit_locked_memory() {
    let limit = Rlimit { current: Some(1 << 20), maximum: Some(1 << 20) };
    setrlimit(Resource::Memlock, limit).unwrap();
    let mut sets = capabilities(None).unwrap();
    sets.effective.remove(CapabilitySet::IPC_LOCK);
    set_capabilities(None, sets).unwrap();
}

/// Checks that the world reads what it wrote; returns its backend record.
fn works(mut real: RealWorld) -> Backend {
    let folder = tempfile::tempdir().unwrap();
    let (world, path) = (real.world.clone(), folder.path().join("file"));
    real.executor.block_on(async move {
        let file = world.volume.open(&path, OpenMode::CreateNew).await.unwrap();
        let mut frame = world.frames.zeroed(4096);
        frame[7] = 7;
        let write = Io::write_through(Class::Log, file, 0, &std::rc::Rc::new(frame));
        assert_eq!(world.disk.submit(write).await.result, Ok(()));
        let read = Io::read(Class::Log, file, 0, world.frames.zeroed(4096));
        assert_eq!(world.disk.submit(read).await.into_frame()[7], 7);
    });
    real.backend()
}

fn on_a_thread_of_its_own(test: impl FnOnce() + Send + 'static) {
    let name = std::thread::current().name().map(str::to_owned);
    let thread = std::thread::Builder::new().name(name.unwrap_or_default());
    thread.spawn(test).unwrap().join().unwrap();
}

#[test]
fn threads_where_io_uring_is_refused() {
    on_a_thread_of_its_own(|| {
        refuse_io_uring();
        let backend = works(RealWorld::new(&Options::default()).unwrap());
        assert_eq!((backend.kind, backend.task_run), (Kind::Threads, None));
        assert_eq!(backend.refused.len(), 2);
        assert!(backend.refused[0].contains("not permitted"), "{backend:?}");
        for kind in [Kind::Registered, Kind::Unregistered] {
            let only = Options { backend: Choice::Only(kind), ..Options::default() };
            let error = RealWorld::new(&only).err().unwrap();
            assert!(matches!(error, StartError::Backend { .. }), "{error}");
        }
    });
}

#[test]
fn unregistered_where_memory_may_not_be_locked() {
    on_a_thread_of_its_own(|| {
        if RealWorld::new(&Options::default()).unwrap().backend().kind != Kind::Registered {
            return skipped("io_uring with registered memory is refused here anyway");
        }
        limit_locked_memory();
        let backend = works(RealWorld::new(&Options::default()).unwrap());
        assert_eq!(backend.kind, Kind::Unregistered);
        assert_eq!((backend.slabs, backend.slabs_registered), (1, 0));
        assert_ne!(backend.task_run, None::<TaskRun>);
        assert!(backend.refused[0].contains("locking 64 MiB"), "{backend:?}");
        let only = Options { backend: Choice::Only(Kind::Registered), ..Options::default() };
        let error = RealWorld::new(&only).err().unwrap().to_string();
        assert!(error.contains("ulimit -l"), "{error}");
    });
}
