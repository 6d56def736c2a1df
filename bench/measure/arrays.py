"""A modelled array alone, without servers: `array_rate` of brunt-array."""

from . import programs, rounds

GOAL_DEVICE_IOS = 4e6


def raid10(program, count, virtual_seconds):
    """48 drives, cache, controllers, depth 384: requests to drives per second of processor time, in `count` rounds."""
    command = [program, "raid10", virtual_seconds]
    speed = rounds.Comparison("RAID 10", 1.0, programs.shown(command), unit="device I/Os per CPU second")
    for _ in range(count):
        result = programs.run_json(command)
        busy = result["utilisation_min"]
        if busy < 0.8:
            raise programs.Failed(f"a drive is busy for {busy:.0%} only")
        speed.add(
            result["device_ios_per_cpu_second"],
            GOAL_DEVICE_IOS,
            utilisation_min=busy,
            response_ms_mean=result["response_ms_mean"],
        )
    return speed
