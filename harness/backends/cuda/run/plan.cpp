#include "harness/backends/cuda/run/plan.hpp"

#include <functional>

#include "core/error.hpp"
#include "harness/backends/cuda/device/check.hpp"
#include "harness/backends/stage_times.hpp"

namespace gla_bench::cuda {
namespace {

// The number of calls whose stages are timed, enough for a median.
constexpr std::size_t stage_calls = 11;

}  // namespace

CudaPlan::CudaPlan(Candidate candidate, Recipe recipe, std::vector<CodePtr> codes, BuildInfo info,
                   Device* device)
    : candidate_(std::move(candidate)),
      recipe_(std::move(recipe)),
      codes_(std::move(codes)),
      info_(std::move(info)),
      device_(device) {}

// Adds the candidate's name to the exceptions of its work.
template <class Work>
auto CudaPlan::with_context(Work work) const {
  try {
    return work();
  } catch (const DeviceLost& error) {
    throw DeviceLost(describe(candidate_) + ": " + error.what());
  } catch (const RunError& error) {
    throw RunError(describe(candidate_) + ": " + error.what());
  } catch (const BuildError& error) {
    throw BuildError(describe(candidate_) + ": " + error.what());
  }
}

Device& CudaPlan::device() const {
  if (device_ == nullptr) throw RunError("compiled only: there is no device of this architecture");
  return *device_;
}

void* CudaPlan::address(const CudaWorkset& workset, const std::string& buffer) const {
  if (void* region = workspace_->find(buffer)) return region;
  return workset.first_element(buffer);
}

Binding CudaPlan::bind(const CudaWorkset& workset) const {
  Binding binding = recipe_on_device_->bind(
      [&](std::string_view name) -> void* { return address(workset, std::string(name)); });
  if (recipe_on_device_->multiplies()) device_->cublas();
  return binding;
}

CudaWorkset& CudaPlan::staged_here(Workset& workset) const {
  auto* tensors = dynamic_cast<CudaWorkset*>(&workset);
  if (tensors == nullptr) throw RunError("the tensors are staged for another backend");
  return *tensors;
}

void CudaPlan::prepare(Workset& workset) {
  with_context([&] {
    CudaWorkset& tensors = staged_here(workset);
    Device& on = device();
    workset_ = &tensors;
    if (!workspace_) {
      std::vector<LibraryPtr> libraries;
      for (const CodePtr& code : codes_) libraries.push_back(std::make_shared<Library>(code));
      recipe_on_device_ = std::make_unique<BoundRecipe>(candidate_, recipe_, std::move(libraries));
      workspace_ =
          std::make_unique<GuardedBuffers>(on.helpers(), on.stream(), workspace_of(candidate_));
    }
    workspace_->poison_all();
    bound_ = bind(tensors);
    ran_ = false;
  });
}

void CudaPlan::poison_workspace() {
  if (!workspace_) return;
  with_context([&] {
    workspace_->poison_all();
    device_->helpers().poison_leftovers(device_->stream());
  });
}

std::optional<std::string> CudaPlan::damage() {
  if (!workspace_) return std::nullopt;
  return with_context([&] { return workspace_->damage(); });
}

void CudaPlan::enqueue(const Binding& binding, const BoundStep& step) const {
  cuda::enqueue(binding, step, device_->stream(),
                recipe_on_device_->multiplies() ? device_->cublas() : nullptr);
}

void CudaPlan::enqueue(const Binding& binding) const {
  for (const BoundStep& step : binding.steps) enqueue(binding, step);
}

void CudaPlan::follow(const Binding& binding) const {
  const auto& after_call = candidate_.variant->after_call;
  if (!after_call) return;
  after_call(binding.params.front(), device_->stream());
  device_->synchronize();
}

void CudaPlan::run() {
  with_context([&] {
    if (bound_.steps.empty()) throw RunError("run before prepare, or nothing to launch");
    enqueue();
    device_->synchronize();
    follow(bound_);
    ran_ = true;
  });
}

double CudaPlan::sample(CacheState cache, int calls) {
  if (!ran_) run();
  return with_context([&] {
    std::function<void()> restore;
    if (workset_->updates()) restore = [this] { workset_->restore_updated(); };
    const double seconds = device_->timer().sample(
        cache, calls, bound_.steps.size(), [this] { enqueue(); }, restore);
    follow(bound_);
    return seconds;
  });
}

std::vector<StageTime> CudaPlan::stage_times(CacheState cache) {
  std::vector<std::string> names;   // of the parts, which are consecutive steps of one stage
  std::vector<std::size_t> begins;  // where each part begins, and where the last one ends
  for (std::size_t i = 0; i < recipe_.steps.size(); ++i) {
    const std::string& stage = stage_of(recipe_.steps[i]);
    if (!names.empty() && names.back() == stage) continue;
    names.push_back(stage);
    begins.push_back(i);
  }
  begins.push_back(recipe_.steps.size());
  if (names.empty() || names.front().empty()) return {};
  if (!ran_) run();
  const auto enqueue_part = [&](std::size_t part) {
    for (std::size_t i = begins[part]; i < begins[part + 1]; ++i) enqueue(bound_, bound_.steps[i]);
  };
  return with_context([&] {
    std::vector<std::vector<double>> calls(stage_calls);
    for (std::vector<double>& parts : calls) {
      if (workset_->updates()) workset_->restore_updated();
      parts = device_->timer().split(cache, names.size(), bound_.steps.size(), enqueue_part);
    }
    return medians_of_stages(names, calls);
  });
}

CounterReading CudaPlan::count(std::span<const std::string> metrics) {
  if (!ran_) run();
  return with_context([&] {
    CountedWork work;
    work.prepare = [this] {
      if (workset_->updates()) workset_->restore_updated();
      device_->timer().empty_cache();
      device_->synchronize();
    };
    work.call = [this] {
      enqueue();
      device_->synchronize();
    };
    work.evict = [this] {
      device_->timer().empty_cache();
      device_->synchronize();
    };
    return device_->counters().read(metrics, work);
  });
}

void CudaPlan::repeat(int calls) {
  if (!ran_) run();
  with_context([&] {
    for (int call = 0; call < calls; ++call) enqueue();
    device_->synchronize();
    follow(bound_);
  });
}

double CudaPlan::sustained(std::span<Workset* const> worksets, int rounds) {
  if (!ran_) run();
  return with_context([&] {
    std::vector<Binding> bindings;
    for (Workset* each : worksets) bindings.push_back(bind(staged_here(*each)));
    std::size_t next = 0;
    const double seconds =
        device_->timer().round_and_round(bindings.size(), rounds, bound_.steps.size(), [&] {
          enqueue(bindings[next]);
          next = (next + 1) % bindings.size();
        });
    for (const Binding& binding : bindings) follow(binding);
    return seconds;
  });
}

}  // namespace gla_bench::cuda
