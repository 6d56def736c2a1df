//! The machine that a run was made on.

use std::fs;
use std::path::Path;

use brunt_units::ByteSize;

use super::{kib, text, value};

/// The machine, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Host {
    /// Kernel release: `6.1.0-18-amd64`.
    pub kernel: String,
    /// Architecture: `x86_64`.
    pub architecture: String,
    /// Model of the first processor.
    pub processor: Option<String>,
    /// Processors available to this process.
    pub processors: Option<usize>,
    /// Memory of the machine.
    pub memory: Option<ByteSize>,
    /// Whether it is a virtual machine; known on x86 only.
    pub is_virtual: Option<bool>,
    /// Manufacturer and product name.
    pub product: Option<String>,
}

/// This machine.
pub fn host() -> Host {
    let name = rustix::system::uname();
    let processors = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let identity = Path::new("/sys/class/dmi/id");
    let product = ["sys_vendor", "product_name"].map(|file| text(&identity.join(file)));
    let product: Vec<String> = product.into_iter().flatten().collect();
    Host {
        kernel: name.release().to_string_lossy().into_owned(),
        architecture: name.machine().to_string_lossy().into_owned(),
        processor: value(&processors, "model name").map(str::to_owned),
        processors: std::thread::available_parallelism().ok().map(usize::from),
        memory: value(&memory, "MemTotal").and_then(kib),
        is_virtual: value(&processors, "flags")
            .map(|flags| flags.split(' ').any(|flag| flag == "hypervisor")),
        product: (!product.is_empty()).then(|| product.join(" ")),
    }
}

/// Memory that may hold what a test reads: all that the machine has, not only what a container is
/// shown. A limit of a control group counts where the machine does not tell.
pub fn memory_that_caches() -> Option<ByteSize> {
    let physical = physical_memory(Path::new("/sys/devices/system/memory"));
    let limit = || super::group_limits().memory;
    host().memory.max(physical.or_else(limit))
}

/// All blocks of memory that are online. Source: kernel documentation,
/// `admin-guide/mm/memory-hotplug`.
fn physical_memory(tree: &Path) -> Option<ByteSize> {
    let block = text(&tree.join("block_size_bytes"))?;
    let block = u64::from_str_radix(&block, 16).ok()?;
    let entries = fs::read_dir(tree).ok()?.filter_map(Result::ok);
    let online = entries.filter(|entry| {
        let name = entry.file_name();
        let is_block = name
            .to_str()
            .and_then(|name| name.strip_prefix("memory"))
            .is_some_and(|number| number.parse::<u64>().is_ok());
        is_block && text(&entry.path().join("state")).as_deref() == Some("online")
    });
    let bytes = block.checked_mul(online.count() as u64)?;
    (bytes > 0).then(|| ByteSize::bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_a_kernel_and_memory() {
        let host = host();
        assert!(!host.kernel.is_empty() && !host.architecture.is_empty());
        assert!(host.memory > Some(ByteSize::mib(1)));
        assert!(memory_that_caches() >= host.memory);
    }

    #[test]
    fn memory_that_a_container_is_not_shown_counts() {
        let tree = tempfile::tempdir().unwrap();
        assert_eq!(physical_memory(tree.path()), None);
        fs::write(tree.path().join("block_size_bytes"), "8000000\n").unwrap();
        for (block, state) in
            [("memory0", "online"), ("memory32", "online"), ("memory33", "offline")]
        {
            let block = tree.path().join(block);
            fs::create_dir(&block).unwrap();
            fs::write(block.join("state"), state).unwrap();
        }
        fs::create_dir(tree.path().join("power")).unwrap();
        assert_eq!(physical_memory(tree.path()), Some(ByteSize::mib(256)));
    }
}
