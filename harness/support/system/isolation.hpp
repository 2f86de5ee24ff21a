#pragma once
// Shuts a process off before it runs code that nobody here knows.

#include <cstdint>
#include <string>
#include <vector>

namespace gla_bench {

/// What a process may still do that is isolated.
struct IsolationPlan {
  /// Folders besides its own; those that are missing are not.
  std::vector<std::string> writable = {};
  std::uint64_t memory_bytes = 0;    ///< of data, for each of its processes; 0: no limit
  std::string files_stay_open = {};  ///< why files are not closed; empty: they are
};

/// What the system allowed.
struct Isolation {
  bool network = false;  ///< there is none, not even to this machine's own addresses
  bool files = false;    ///< none can be changed outside of a folder of its own
  std::string why;       ///< not more; empty where both hold
};

/// Takes from this process, and from all that it starts or becomes, the network and the right to
/// change files: by Linux's namespaces, of a user's own where it is not root. The folder of its own
/// is in memory and ends with it; TMPDIR names it, as do the variables of programs that keep caches
/// (CUDA, Triton, PyTorch, CuPy). The process must have a single thread. It has no capabilities
/// afterwards, and cannot get others. Never throws.
Isolation isolate(const IsolationPlan& plan);

/// "network and files", "nothing (unshare: Operation not permitted)".
std::string describe(const Isolation& isolation);

}  // namespace gla_bench
