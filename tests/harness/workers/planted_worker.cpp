// The worker that tests start: planted_worker MODE STATE. Modes: serve; die (at once); faint (its
// device cannot be opened); poor (its device has no metric but the harness's own); once (serves the
// first time that it is started, and dies at once from then on).

#include <omp.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>

#include "harness/backends/counters.hpp"
#include "harness/workers/protocol.hpp"
#include "harness/workers/serving/serve.hpp"
#include "tests/harness/workers/planted_catalog.hpp"
#include "tests/support/toy_backend.hpp"

namespace {

class PoorBackend final : public gla_bench::toy::ToyBackend {
 public:
  using ToyBackend::ToyBackend;
  gla_bench::CounterCheck check_counters(std::span<const std::string> metrics) const override {
    gla_bench::CounterCheck check;
    check.source = gla_bench::CounterSource::cupti;
    check.passes = 1;
    const std::vector<std::string> known = gla_bench::with_io_metrics({});
    for (const std::string& metric : metrics)
      if (std::find(known.begin(), known.end(), metric) == known.end())
        check.unknown.push_back(metric);
    return check;
  }
};

}  // namespace

int main(int count, char** arguments) {
  using namespace gla_bench;
  const std::string mode = count > 1 ? arguments[1] : "", state = count > 2 ? arguments[2] : "";
  const bool again = mode == "once" && std::ifstream(state + ".once").good();
  if (mode == "once") std::ofstream(state + ".once") << "started\n";
  if (mode == "die" || again) {
    std::cerr << "no wish to live" << std::endl;
    return 9;
  }
  omp_set_num_threads(1);  // tiny problems: threads that wait for each other would only cost time
  WorkerSetup setup;
  setup.catalog = planted_catalog(state);
  toy::Script broken;
  broken.stage_fails = true;
  setup.open = [&]() -> std::unique_ptr<Backend> {
    if (mode == "poor") return std::make_unique<PoorBackend>(BackendId::host, broken);
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
