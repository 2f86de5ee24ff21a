#pragma once
// Searches of a config's problems by several workers at once, one for each GPU.

#include <memory>
#include <span>
#include <vector>

#include "harness/search/tune.hpp"

namespace gla_bench::search {

using WorkerClients = std::vector<std::unique_ptr<WorkerClient>>;

/// tune() by all of these workers: each takes the next problem when it has searched one. A worker
/// that cannot be kept alive is given up with a message, and its problem is searched anew by
/// another. The hooks are called by one thread at a time, also `request.signal`; `request.start`
/// and the predictor are used by several at once. The problems are in the work's order.
/// @throws as tune(), WorkerError where no worker is left
TuneEnd tune_on_all(const WorkerClients& clients, std::span<const Assignment> work,
                    const TuneRequest& request, const LiveHooks& journal, Progress& progress);

}  // namespace gla_bench::search
