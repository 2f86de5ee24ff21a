#pragma once
// What the host's backward variants share: the gradients' places, and how rows of them are loaded,
// finished and stored. reference/linear_recurrence/backward/backward.hpp has the formulas.
//
// A normalizer is one more column of v (1 throughout), of the states and of the outputs, and its
// gradients are one more column of theirs. So the forms know of it only by the width of their rows.

#include <span>
#include <string>
#include <vector>

#include "kernels/linear_recurrence/backward/gradients.hpp"
#include "kernels/linear_recurrence/host/rows.hpp"

namespace gla_bench::linear_recurrence::host {

/// A variant's own workspace regions, followed by those that GradientParams names. `tasks`: how
/// many tasks add to sums over the tokens of a head.
std::vector<Region> gradient_regions(const Problem& problem, std::vector<Region> own, double tasks);

struct GradientCall : Call {
  GradientParams g;  ///< the host's helpers read the first member
  long long width;   ///< columns of v and of a normalizer

  explicit GradientCall(const HostCall& call);

  /// All columns of a pair's tokens.
  Rows rows(long long pair, long long first, long long count) const {
    return {pair, first, count, 0, values};
  }
  bool has_gates() const { return decay != Decay::none; }
  /// Whether the outputs are asked for as well as the gradients.
  bool trains() const { return p.o != nullptr; }
  /// Whether the way forwards has to form outputs.
  bool forms_outputs() const { return trains() || extra > 0; }
};

/// What the way forwards does with a piece's outputs, [rows, width] with their denominators. In
/// training it stores them and keeps what a normalizer needs, since the gradients of outputs do not
/// exist before all outputs do. Otherwise it forms these gradients at once.
void leave_outputs(const GradientCall& call, const Rows& at, const float* outputs);

/// What the way back does first with a piece that leave_outputs() has left.
void take_outputs(const GradientCall& call, const Rows& at);

/// Forms the gradients of a piece's outputs from those that the forward has, [rows, width] with
/// their denominators, and keeps them. Does nothing without a normalizer.
void keep_output_gradients(const GradientCall& call, const Rows& at, const float* outputs);

/// Loads the gradients of a piece's outputs: out [rows, width]. With a normalizer these are what
/// keep_output_gradients() kept.
void load_output_gradients(const GradientCall& call, const Rows& at, float* out);

/// Loads the gradient of a pair's final state: out [K, width]. Zeros where there is none.
void load_final_gradient(const GradientCall& call, long long pair, float* out);

/// Stores the gradient of a pair's initial state where one is asked for.
void store_initial_gradient(const GradientCall& call, long long pair, const float* in);

/// Gradients of a piece's tokens, and the operands that they are finished with.
struct PieceGradients {
  const float *q, *k;  ///< [rows, K], with features
  float *dq, *dk;      ///< [rows, K], of the features; overwritten
  const float* dv;     ///< [rows, width]
  float* dg;           ///< [rows, K], of the log decays; overwritten
};

/// Goes from features and log decays to what is stored, rounds and stores. Gradients of constant
/// decays are added to `constant` instead.
void store_gradients(const GradientCall& call, const Rows& at, const PieceGradients& of,
                     double& constant);

/// What a task adds to sums over the tokens of its head.
struct HeadSums {
  std::vector<double> bonus;  ///< [K]
  double constant = 0;        ///< of a constant decay

  explicit HeadSums(const GradientCall& call) : bonus(static_cast<std::size_t>(call.keys)) {}
};

/// Keeps a task's sums, which thus do not depend on the order of tasks.
void keep_sums(const GradientCall& call, long long task, const HeadSums& sums);

/// Adds up what the tasks kept, in their order, and stores du and dlog_decay. `pairs` has the pair
/// of each task; without it each pair is one task, of its number.
void store_sums(const GradientCall& call, std::span<const long long> pairs);
void store_sums(const GradientCall& call);

}  // namespace gla_bench::linear_recurrence::host
