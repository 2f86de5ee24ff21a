#include "harness/calls/place.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/backends/sources/source_hash.hpp"
#include "harness/config/sweep.hpp"
#include "harness/engine/exec.hpp"
#include "harness/records/environment.hpp"
#include "harness/records/record_json.hpp"
#include "harness/support/text.hpp"

namespace gla_bench::calls {
namespace {

constexpr std::size_t region_alignment = 256;    // as DirectCall::workspace() says
constexpr std::uintptr_t device_alignment = 16;  // of a tensor, for the widest loads of a kernel

std::unique_ptr<Backend> backend_of(const PlaceOptions& options) {
  if (options.backend == BackendId::host) return make_host_backend(options.host);
  auto cuda = make_cuda_backend(options.cuda);
  if (!cuda) throw InputError("the backend cuda is not in this build: " + cuda_build_description());
  return cuda;
}

/// Boundaries of ragged sequences in memory of the host. Those on a device cannot be looked at
/// without waiting for it.
void check_boundaries(const std::string& name, const std::int32_t* ends, std::int64_t sequences,
                      std::int64_t seq) {
  for (std::int64_t n = 0; n < sequences; ++n)
    if (ends[n] > ends[n + 1])
      throw InputError(name + " falls from " + std::to_string(ends[n]) + " to " +
                       std::to_string(ends[n + 1]) + "; expected numbers that never fall");
  if (ends[0] != 0 || ends[sequences] != seq)
    throw InputError(name + " goes from " + std::to_string(ends[0]) + " to " +
                     std::to_string(ends[sequences]) + "; expected 0 to the " +
                     std::to_string(seq) + " tokens");
}

std::size_t rounded_up(std::size_t bytes) {
  return (bytes + region_alignment - 1) / region_alignment * region_alignment;
}

std::string direction_text(const Problem& problem) {
  return problem.op + " " + std::string(name(problem.direction));
}

}  // namespace

PlannedCall::PlannedCall(Candidate candidate, std::optional<ChosenBy> by, std::string device)
    : candidate_(std::move(candidate)),
      by_(std::move(by)),
      device_(std::move(device)),
      specs_(find_operator(candidate_.problem.op)->tensors(candidate_.problem)) {}

Json PlannedCall::describe() const {
  const Variant& variant = *candidate_.variant;
  Json json = problem_to_json(candidate_.problem);
  json["variant"] = variant.name;
  json["backend"] = name(variant.backend);
  json["tile"] = candidate_.tile;
  json["chosen_by"] = by_ ? chosen_by_to_json(*by_) : Json(nullptr);
  json["device"] = device_;
  json["arithmetic"] = name(variant.arithmetic(candidate_.problem, candidate_.tile));
  json["reproducible"] = variant.reproducible;
  json["workspace_bytes"] = is_ready() ? workspace_bytes_ : gla_bench::workspace_bytes(candidate_);
  if (is_ready() && variant.backend == BackendId::cuda) {
    const BuildInfo build = call_->info();
    json["registers"] = build.registers;
    json["spill_bytes"] = build.spill_bytes;
    json["shared_bytes"] = build.shared_bytes;
  }
  return json;
}

void PlannedCall::take(std::unique_ptr<DirectCall> call) {
  for (const Region& region : call->workspace()) {
    parts_.push_back({region.name, workspace_bytes_});
    workspace_bytes_ += rounded_up(region.bytes);
  }
  call_ = std::move(call);
}

void PlannedCall::run(std::span<void* const> tensors, void* workspace, void* stream) const {
  if (!is_ready()) throw RunError(gla_bench::describe(candidate_) + ": run before it was prepared");
  if (tensors.size() != specs_.size())
    throw InputError(gla_bench::describe(candidate_) + ": found " + std::to_string(tensors.size()) +
                     " addresses, expected " + std::to_string(specs_.size()));
  if (candidate_.variant->backend == BackendId::cuda)
    for (std::size_t i = 0; i < specs_.size(); ++i)
      if (const auto place = reinterpret_cast<std::uintptr_t>(tensors[i]) -
                             static_cast<std::uintptr_t>(specs_[i].first_byte());
          place % device_alignment != 0)
        throw InputError("the memory of " + specs_[i].name + " begins " +
                         std::to_string(place % device_alignment) +
                         " bytes behind a multiple of 16, expected a multiple of 16");
  if (const Shape& shape = candidate_.problem.shape;
      candidate_.variant->backend == BackendId::host && shape.sequences > 0)
    for (std::size_t i = 0; i < specs_.size(); ++i)
      if (specs_[i].dtype == DType::int32)
        check_boundaries(specs_[i].name, static_cast<const std::int32_t*>(tensors[i]),
                         shape.sequences,
                         specs_[i].name == "cu_seqlens_k" ? shape.keys_seq() : shape.seq);
  const Address address = [&](std::string_view wanted) -> void* {
    for (std::size_t i = 0; i < specs_.size(); ++i)
      if (specs_[i].name == wanted) return tensors[i];
    for (const Part& part : parts_)
      if (part.name == wanted) return static_cast<std::byte*>(workspace) + part.offset;
    return nullptr;
  };
  call_->run(address, stream);
}

CallPlace::CallPlace(const PlaceOptions& options)
    : backend_(backend_of(options)), catalog_(program_catalog()) {
  if (!backend_->can_run())
    throw InputError("nothing can run on " + std::string(name(backend_->id())) +
                     " here: " + backend_->environment()["device"]);
  limits_ = backend_->limits();
  const Facts environment = make_environment(*backend_, "", std::nullopt);
  device_ = fact_text(environment, "device");
  auto hashes = std::make_shared<SourceHashes>(SourceStore());
  chooser_ = open_chooser(
      options.sources, catalog_, options.backend,
      [hashes](const Variant& variant) { return hashes->of(variant); }, environment,
      [this](const std::string& line) { notes_.push_back(line); },
      [this](const std::string& line) { warnings_.push_back(line); });
}

Candidate CallPlace::wished(const Problem& problem, const Wish& wish) const {
  const BackendId backend = backend_->id();
  const Variant* variant =
      catalog_.find_variant(problem.op, wish.variant, backend, problem.direction);
  if (variant == nullptr) {
    std::vector<std::string> names;
    for (const Variant& one : catalog_.variants)
      if (one.op == problem.op && one.backend == backend && one.direction == problem.direction)
        names.push_back(one.name);
    throw InputError("found the variant '" + wish.variant + "', expected auto" +
                     (names.empty() ? "" : ", ") + join(names) + ", as " +
                     std::string(name(backend)) + " has for " + direction_text(problem));
  }
  Variant allowed = *variant;
  allowed.reject = [&](const Problem& asked, const Tile& tile, const Limits& limits) {
    return refuse_tile(*variant, asked, tile, limits, wish.arithmetic);
  };
  return {variant, problem, choose_tile(allowed, problem, wish.tile, limits_)};
}

Choice CallPlace::chosen(const Problem& problem, const Wish& wish) const {
  if (!wish.tile.empty())
    throw InputError("found the tile " + gla_bench::describe(wish.tile) +
                     " without a variant, expected a variant that has it");
  Choice choice = chooser_->choose(problem, [&](const Candidate& candidate) {
    return refuse_tile(*candidate.variant, candidate.problem, candidate.tile, limits_,
                       wish.arithmetic);
  });
  if (choice.candidate) return choice;
  const bool any =
      std::any_of(catalog_.variants.begin(), catalog_.variants.end(), [&](const Variant& variant) {
        return variant.op == problem.op && variant.backend == backend_->id() &&
               variant.direction == problem.direction;
      });
  throw NoVariant(any ? "no variant takes " + gla_bench::describe(problem) + " on " +
                            std::string(name(backend_->id())) + ": " + choice.by.note
                      : "there is no variant of " + direction_text(problem) + " on " +
                            std::string(name(backend_->id())) + " yet");
}

std::shared_ptr<PlannedCall> CallPlace::plan(const Question& question, const Wish& wish) {
  const Problem problem = problem_of(question);
  const std::lock_guard lock(mutex_);  // hashes of sources are kept as they are made
  if (wish.variant != auto_variant)
    return std::make_shared<PlannedCall>(wished(problem, wish), std::nullopt, device_);
  Choice choice = chosen(problem, wish);
  return std::make_shared<PlannedCall>(*std::move(choice.candidate), std::move(choice.by), device_);
}

void CallPlace::prepare(PlannedCall& call) {
  if (call.is_ready()) return;
  auto made = backend_->call(call.candidate());  // several may compile at once
  const std::lock_guard lock(mutex_);
  if (!call.is_ready()) call.take(std::move(made));
}

}  // namespace gla_bench::calls
