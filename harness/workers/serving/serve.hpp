#pragma once
// The worker's side. It serves its parent's requests with the code that runs in one process
// (run.hpp), until the parent closes the socket.

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "core/catalog.hpp"
#include "harness/backends/backend.hpp"
#include "harness/engine/assignment.hpp"

namespace gla_bench {

struct WorkerSetup {
  Catalog catalog;  ///< may be set by `open`
  /// Opens the backend. May throw InputError, which is passed on to the parent.
  std::function<std::unique_ptr<Backend>()> open;
  std::function<Place(const Backend&)> place;
  std::string command_line;
  /// Further facts of the environment, asked for once the backend is open. May be empty.
  std::function<std::map<std::string, std::string>()> facts = {};
};

/// Returns the process's exit code: 0 after the end of the socket. Other codes only repeat what a
/// message has already told the parent. Ends the process at once where the device was lost.
int serve(int descriptor, const WorkerSetup& setup);

}  // namespace gla_bench
