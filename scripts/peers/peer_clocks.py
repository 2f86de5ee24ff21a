"""What the driver says of a GPU's clocks while peers are timed, through NVML."""

import ctypes

SM_CLOCK = 1  # NVML_CLOCK_SM
# The bits of nvmlDeviceGetCurrentClocksEventReasons, by the names that the program's records use.
REASONS = {0x1: "idle", 0x2: "application_clocks", 0x4: "sw_power_cap", 0x8: "hw_slowdown",
           0x10: "sync_boost", 0x20: "sw_thermal_slowdown", 0x40: "hw_thermal_slowdown",
           0x80: "hw_power_brake_slowdown", 0x100: "display_clocks"}
SLOWING = {"sw_power_cap", "hw_slowdown", "sw_thermal_slowdown", "hw_thermal_slowdown",
           "hw_power_brake_slowdown"}


def names_of(bits):
    return [name for bit, name in REASONS.items() if bits & bit]


class Clocks:
    """The SM clock in MHz and the reasons for it, of the GPU with this UUID; None and nothing where
    there is no driver to ask."""

    def __init__(self, uuid):
        self.library, self.device = None, ctypes.c_void_p()
        try:
            library = ctypes.CDLL("libnvidia-ml.so.1")
        except OSError:
            return
        found = (library.nvmlInit_v2() == 0 and
                 library.nvmlDeviceGetHandleByUUID(uuid.encode(), ctypes.byref(self.device)) == 0)
        self.library = library if found else None

    def megahertz(self):
        value = ctypes.c_uint()
        known = self.library and self.library.nvmlDeviceGetClockInfo(
            self.device, SM_CLOCK, ctypes.byref(value)) == 0
        return float(value.value) if known else None

    def reasons(self):
        bits = ctypes.c_ulonglong()
        ask = getattr(self.library, "nvmlDeviceGetCurrentClocksEventReasons", None)
        known = ask and ask(self.device, ctypes.byref(bits)) == 0
        return names_of(bits.value) if known else []


class Watch:
    """Reads the clocks at both ends of a timing, and the reasons whenever it is told to look."""

    def __init__(self, clocks):
        self.clocks, self.seen = clocks, []
        self.before = clocks.megahertz()
        self.look()

    def look(self):
        self.seen += [reason for reason in self.clocks.reasons() if reason not in self.seen]

    def facts(self):
        """The members of a record's `timing` that say how the clocks were."""
        self.look()
        return {"clock_mhz_before": self.before, "clock_mhz_after": self.clocks.megahertz(),
                "throttled": bool(SLOWING & set(self.seen)), "clock_reasons": self.seen}
