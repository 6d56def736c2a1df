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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_a_kernel_and_memory() {
        let host = host();
        assert!(!host.kernel.is_empty() && !host.architecture.is_empty());
        assert!(host.memory > Some(ByteSize::mib(1)));
    }
}
