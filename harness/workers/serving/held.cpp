#include "harness/workers/serving/held.hpp"

#include <chrono>
#include <thread>

#include "core/candidate_name.hpp"
#include "core/error.hpp"

namespace gla_bench {
namespace {

constexpr std::chrono::milliseconds between_looks{10};

std::string key(const std::string& variant, const Tile& tile) {
  return variant + " " + describe(tile);
}

/// Reports the only candidate of an assignment by its index in another one.
class InPlace final : public RunObserver {
 public:
  InPlace(RunObserver& observer, std::size_t place) : observer_(observer), place_(place) {}
  void starting(RunStep step, std::optional<std::size_t> candidate) override {
    observer_.starting(step, candidate ? std::optional(place_) : std::nullopt);
  }
  void verified(std::size_t) override {}
  void timed(const Record&, std::size_t) override {}
  void gone() override { observer_.gone(); }
  void recorded(const Record&, std::size_t) override {}
  void lost(const Record& record, std::optional<std::size_t>) override {
    observer_.lost(record, place_);
  }

 private:
  RunObserver& observer_;
  std::size_t place_;
};

}  // namespace

std::size_t first_ready(Backend& backend, std::span<const Candidate> candidates) {
  if (candidates.empty()) throw InputError("hold: there is no candidate");
  while (true) {
    for (std::size_t i = 0; i < candidates.size(); ++i)
      if (backend.is_ready(candidates[i])) return i;
    std::this_thread::sleep_for(between_looks);
  }
}

std::pair<std::size_t, Record> Held::hold(Backend& backend, const Assignment& work,
                                          const RunRules& plan, RunObserver& observer,
                                          Staged& staged) {
  if (!(problem_ == work.problem)) clear();
  problem_ = work.problem;
  const std::size_t place = first_ready(backend, work.accepted);
  Assignment one = work;
  one.accepted = {work.accepted[place]};
  InPlace observing(observer, place);
  const Candidate& candidate = one.accepted.front();
  Prepared& prepared = held_[key(candidate.variant->name, candidate.tile)];
  Record record = prepared.make(backend, one, plan, observing, staged);
  if (record.status != Status::verified) {
    // The tensors that the candidate damaged were staged anew, and the held plans point to the old
    // ones.
    held_.erase(key(candidate.variant->name, candidate.tile));
    release_all();
  }
  return {place, std::move(record)};
}

Prepared& Held::at(const NamedCandidate& candidate) {
  const auto found = held_.find(key(candidate.variant, candidate.tile));
  if (found == held_.end())
    throw InputError(candidate_name(candidate.variant, candidate.tile) + ": is not held");
  return found->second;
}

void Held::make_ready(Prepared& prepared, Backend& backend) {
  if (prepared.is_ready()) return;
  try {
    prepared.renew(backend);
  } catch (const OutOfMemory&) {
    release_all();
    prepared.renew(backend);
  }
}

void Held::release(std::span<const NamedCandidate> candidates) {
  for (const NamedCandidate& candidate : candidates) {
    const auto found = held_.find(key(candidate.variant, candidate.tile));
    if (found != held_.end()) found->second.release();
  }
}

void Held::release_all() {
  for (auto& [name, prepared] : held_) prepared.release();
}

}  // namespace gla_bench
