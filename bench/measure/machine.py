"""Facts about the machine that its numbers depend on."""

import os
import platform
import subprocess


def _first(path, key):
    try:
        with open(path, encoding="utf-8") as lines:
            found = (line.split(":", 1)[1].strip() for line in lines if line.startswith(key))
            return next(found, None)
    except OSError:
        return None


def _file_system(folder):
    """Type and device of the file system that holds `folder`."""
    done = subprocess.run(
        ["df", "--output=fstype,source", str(folder)], capture_output=True, text=True, check=False
    )
    lines = done.stdout.splitlines()
    return " on ".join(lines[1].split()) if len(lines) == 2 else None


def machine(folder):
    """Part of every result. `load_1min` shows what else was running."""
    return {
        "processor": _first("/proc/cpuinfo", "model name"),
        "processors": os.cpu_count(),
        "virtual": "hypervisor" in (_first("/proc/cpuinfo", "flags") or ""),
        "memory": _first("/proc/meminfo", "MemTotal"),
        "kernel": platform.release(),
        "file_system": _file_system(folder),
        "load_1min": round(os.getloadavg()[0], 1),
    }
