#include "harness/backends/host/call.hpp"

#include <utility>

#include "harness/backends/host/threads.hpp"

namespace gla_bench {
namespace {

class CallOnHost final : public DirectCall {
 public:
  CallOnHost(Candidate candidate, int threads)
      : candidate_(std::move(candidate)), threads_(threads) {}

  BuildInfo info() const override { return {}; }

  std::vector<Region> workspace() const override { return workspace_of(candidate_); }

  void run(const Address& address, void*) const override {
    const Threads scope(threads_);
    const Variant& variant = *candidate_.variant;
    const ParamBytes params = variant.bind(candidate_.problem, candidate_.tile, address);
    std::get<std::function<void(const HostCall&)>>(variant.code)(
        {candidate_.problem, candidate_.tile, params});
    if (variant.after_call) variant.after_call(params, nullptr);
  }

 private:
  Candidate candidate_;
  int threads_;
};

}  // namespace

std::unique_ptr<DirectCall> call_on_host(const Candidate& candidate, int threads) {
  return std::make_unique<CallOnHost>(candidate, threads);
}

}  // namespace gla_bench
