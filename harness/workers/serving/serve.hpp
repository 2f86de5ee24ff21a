#pragma once
// The worker's side: takes requests from its parent and works them off with what runs in one
// process (run.hpp), until the parent closes the socket.

#include <functional>
#include <memory>
#include <string>

#include "core/catalog.hpp"
#include "harness/backends/backend.hpp"
#include "harness/engine/assignment.hpp"

namespace gla_bench {

struct WorkerSetup {
  Catalog catalog;
  /// Opens the backend. May throw InputError, which the parent then raises.
  std::function<std::unique_ptr<Backend>()> open;
  std::function<Place(const Backend&)> place;
  std::string command_line;
};

/// The process's exit code: 0 after the end of the socket; other codes tell the parent nothing that
/// it has not been told by a message. Ends the process at once where the device was lost.
int serve(int descriptor, const WorkerSetup& setup);

}  // namespace gla_bench
