#pragma once
// Where calls run: one device or the host, with the table and model that `auto` goes by there.

#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/catalog.hpp"
#include "harness/backends/backend.hpp"
#include "harness/calls/question.hpp"
#include "harness/support/json.hpp"
#include "harness/tuned_table/open_chooser.hpp"

namespace gla_bench::calls {

struct PlaceOptions {
  BackendId backend = BackendId::host;
  CudaOptions cuda = {};
  HostOptions host = {};
  AutoSources sources = {};
};

/// No variant of the place computes it; the message has the variants' reasons.
struct NoVariant : InputError {
  using InputError::InputError;
};

/// What the caller decides; the rest is chosen.
struct Wish {
  std::string variant = std::string(auto_variant);
  Tile tile = {};                        ///< values of some axes; only with a variant
  std::set<Arithmetic> arithmetic = {};  ///< that the products may have; empty: any
};

/// A candidate for a question, and the call once it is prepared. Safe to use from several threads.
class PlannedCall {
 public:
  /// `by`: how `auto` chose it; nothing where the caller named it.
  PlannedCall(Candidate candidate, std::optional<ChosenBy> by, std::string device);

  /// The problem, the candidate and how it was chosen, as records have them (problem, "variant",
  /// "backend", "tile", "chosen_by", which is null for a wish), and "device", "arithmetic",
  /// "reproducible" and "workspace_bytes". Once prepared for a GPU also "registers", "spill_bytes"
  /// and "shared_bytes", the most of its kernels.
  Json describe() const;
  const Candidate& candidate() const { return candidate_; }
  /// The problem's tensors, in the order in which run() takes them.
  const std::vector<TensorSpec>& tensors() const { return specs_; }

  bool is_ready() const { return call_ != nullptr; }
  /// Bytes of scratch memory of one call, which begins at a multiple of 256. Known once prepared.
  std::size_t workspace_bytes() const { return workspace_bytes_; }

  /// One call. `tensors` are the addresses of the first elements, in the order of tensors().
  /// @throws InputError for a number or an address that does not fit; RunError
  void run(std::span<void* const> tensors, void* workspace, void* stream) const;

 private:
  friend class CallPlace;
  void take(std::unique_ptr<DirectCall> call);

  struct Part {
    std::string name;
    std::size_t offset = 0;
  };

  Candidate candidate_;
  std::optional<ChosenBy> by_;
  std::string device_;
  std::vector<TensorSpec> specs_;
  std::unique_ptr<DirectCall> call_;
  std::vector<Part> parts_;  // of the workspace
  std::size_t workspace_bytes_ = 0;
};

class CallPlace {
 public:
  /// @throws InputError for a build without the backend, for a device that there is not, and for
  /// what open_chooser() refuses
  explicit CallPlace(const PlaceOptions& options);

  /// What `auto` goes by here, and what is to be known of it. One line each.
  const std::vector<std::string>& notes() const { return notes_; }
  const std::vector<std::string>& warnings() const { return warnings_; }

  /// The variant and tile for a question: as `auto` chooses them, or as the caller wishes.
  /// @throws InputError as problem_of(), for an unknown variant or tile and for one that refuses
  /// the problem; NoVariant where none takes it
  std::shared_ptr<PlannedCall> plan(const Question& question, const Wish& wish);

  /// Compiles and loads what the call needs, unless that is done. @throws BuildError, RunError
  void prepare(PlannedCall& call);

 private:
  Candidate wished(const Problem& problem, const Wish& wish) const;
  Choice chosen(const Problem& problem, const Wish& wish) const;

  std::unique_ptr<Backend> backend_;
  Catalog catalog_;
  Limits limits_;
  std::string device_;
  std::vector<std::string> notes_, warnings_;
  std::optional<Chooser> chooser_;
  std::mutex mutex_;
};

}  // namespace gla_bench::calls
