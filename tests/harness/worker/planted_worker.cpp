// The worker that tests start: planted_worker MODE STATE. Modes: serve; die (at once); faint (its
// device can not be opened).

#include <omp.h>

#include <iostream>
#include <memory>
#include <string>

#include "harness/worker/protocol.hpp"
#include "harness/worker/serve.hpp"
#include "tests/harness/toy_backend.hpp"
#include "tests/harness/worker/planted_catalog.hpp"

int main(int count, char** arguments) {
  using namespace gla_bench;
  const std::string mode = count > 1 ? arguments[1] : "", state = count > 2 ? arguments[2] : "";
  if (mode == "die") {
    std::cerr << "no wish to live" << std::endl;
    return 9;
  }
  omp_set_num_threads(1);  // tiny problems: threads that wait for each other would only cost time
  WorkerSetup setup;
  setup.catalog = planted_catalog(state);
  toy::Script broken;
  broken.stage_fails = true;
  setup.open = [&]() -> std::unique_ptr<Backend> {
    if (mode == "faint") return std::make_unique<toy::ToyBackend>(BackendId::host, broken);
    return make_host_backend({1});
  };
  setup.place = [&](const Backend& backend) {
    Place place;
    place.backend = backend.id();
    place.limits = backend.limits();
    place.source_hash = [](const Variant& variant) { return "hash of " + variant.name; };
    return place;
  };
  return serve(protocol_descriptor, setup);
}
