#include "harness/config/random_problems.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <span>

#include "reference/inputs.hpp"

namespace gla_bench {
namespace {

constexpr std::int64_t most_tokens = 4096;   ///< of a sequence, or of all ragged ones together
constexpr std::int64_t wanted_tokens = 130;  ///< rather fewer heads than no second chunk
constexpr int tries = 64;                    ///< for what the operator knows not to exist

/// Draws numbers for one purpose, one after another.
class Draws {
 public:
  Draws(std::uint64_t seed, const std::string& purpose) : stream_(stream(seed, purpose)) {}

  std::uint64_t word() { return random_word(stream_, next_++); }
  /// first .. last
  std::int64_t between(std::int64_t first, std::int64_t last) {
    return first + static_cast<std::int64_t>(word() % static_cast<std::uint64_t>(last - first + 1));
  }
  bool one_in(std::int64_t chances) { return between(1, chances) == 1; }
  template <class List>
  auto of(const List& list) {
    return *(std::begin(list) + between(0, static_cast<std::int64_t>(std::size(list)) - 1));
  }
  /// 1 .. most, each order of magnitude as likely as another.
  std::int64_t size(std::int64_t most) {
    const double u = static_cast<double>(word() >> 11) * 0x1p-53;
    const double value = std::exp(u * std::log(static_cast<double>(most) + 1.0));
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(value), 1, most);
  }

 private:
  Stream stream_;
  std::uint64_t next_ = 0;
};

constexpr std::array<std::int64_t, 5> usual_dims{16, 32, 64, 128, 256};
constexpr std::array<std::int64_t, 7> head_counts{1, 1, 2, 3, 4, 5, 8};
constexpr std::array<std::int64_t, 5> batches{1, 1, 2, 3, 4};
constexpr std::array<std::int64_t, 6> sequence_counts{1, 2, 3, 5, 8, 13};

std::int64_t draw_dim(Draws& draws) {
  const std::int64_t kind = draws.between(0, 9);
  if (kind < 5) return draws.of(usual_dims);
  if (kind < 8) return 8 * draws.between(1, 32);
  return kind < 9 ? draws.between(1, 160) : 8 * draws.between(1, 64);
}

DType draw_dtype(Draws& draws, const std::vector<DType>& dtypes) {
  std::vector<DType> list = dtypes;
  if (std::find(list.begin(), list.end(), DType::bfloat16) != list.end())
    list.push_back(DType::bfloat16);
  return draws.of(list);
}

bool exists(const Operator* op, const Problem& problem) {
  return op == nullptr || !op->refuse || !op->refuse(problem);
}

/// Draws what kernels are compiled for, the layout and the states. Extents that kernels take at run
/// time are not drawn here.
Problem draw_kernel(Draws& draws, const Sweep& sweep, const Operator* op) {
  Problem problem;
  problem.op = sweep.op;
  problem.direction = sweep.direction;
  problem.scale = sweep.scale;
  problem.dtype = draw_dtype(draws, sweep.dtypes);
  problem.layout = draws.of(sweep.layouts);
  problem.shape.key_dim = draw_dim(draws);
  problem.shape.value_dim = draws.one_in(2) ? problem.shape.key_dim : draw_dim(draws);
  problem.shape.sequences = draws.one_in(3) ? 1 : 0;
  problem.initial_state =
      draws.between(0, 1) < 1 ? sweep.initial_state.front() : sweep.initial_state.back();
  problem.final_state =
      draws.between(0, 1) < 1 ? sweep.final_state.front() : sweep.final_state.back();
  for (const auto& [name, values] : sweep.options) {
    const std::string value = draws.one_in(2) ? draws.of(values) : values.front();
    if (op == nullptr || option(*op, {}, name) != value) problem.options[name] = value;
  }
  return problem;
}

/// A length, `most` at most.
std::int64_t draw_tokens(Draws& draws, std::int64_t most) {
  const std::int64_t kind = draws.between(0, 5);
  if (kind == 0) return draws.between(1, std::min<std::int64_t>(8, most));
  if (kind < 3) {
    const std::int64_t block = draws.one_in(2) ? 16 : 64;
    const std::int64_t blocks = std::max<std::int64_t>(1, most / block);
    return std::clamp<std::int64_t>(block * draws.size(blocks) + draws.between(-1, 1), 1, most);
  }
  return draws.size(most);
}

/// Batch, heads and lengths that keep the work within its limit.
void draw_sizes(Draws& draws, Shape& shape) {
  const std::int64_t of_head = shape.key_dim * shape.value_dim;
  const std::int64_t pairs =
      std::max<std::int64_t>(1, most_random_work / (of_head * wanted_tokens));
  shape.heads = std::min(draws.of(head_counts), pairs);
  const bool ragged = shape.sequences > 0;
  shape.batch =
      ragged ? 1 : std::min(draws.of(batches), std::max<std::int64_t>(1, pairs / shape.heads));
  if (ragged) shape.sequences = draws.of(sequence_counts);
  const std::int64_t most = most_random_work / (of_head * shape.heads * shape.batch);
  shape.seq = draw_tokens(draws, std::clamp<std::int64_t>(most, 1, most_tokens));
}

std::vector<Problem> draw_kernels(const Sweep& sweep, const Operator* op) {
  std::vector<Problem> kernels;
  for (int i = 0; i < sweep.random->kernels; ++i) {
    Draws draws(sweep.seed, sweep.op + " kernel " + std::to_string(i));
    for (int attempt = 0; attempt < tries; ++attempt) {
      Problem kernel = draw_kernel(draws, sweep, op);
      kernel.gate = draws.of(sweep.gates);
      if (!exists(op, kernel)) continue;
      kernels.push_back(std::move(kernel));
      break;
    }
  }
  return kernels;
}

/// Two problems of the same text have the same kernels for the same tile.
std::string kernel_text(Problem problem) {
  const Shape& shape = problem.shape;
  problem.shape = {1, 1, 1, shape.key_dim, shape.value_dim};
  problem.layout = Layout::seq_first;
  problem.gate = problem.tensors = {};
  problem.initial_state = problem.final_state = false;
  problem.seed = 0;
  problem.options.erase("in_place");
  problem.options.erase("lengths");
  return describe(problem) + (shape.sequences > 0 ? " ragged" : "");
}

}  // namespace

bool has_random_problems(const Operator& op) {
  return op.extents == Operator{}.extents &&
         op.optional_extents == std::vector<std::string>{"sequences"};
}

std::vector<Problem> random_problems(const Sweep& sweep) {
  const Operator* op = find_operator(sweep.op);
  const std::vector<Problem> kernels = draw_kernels(sweep, op);
  std::vector<Problem> list;
  if (kernels.empty()) return list;
  for (int i = 0; i < sweep.random->problems; ++i) {
    Draws draws(sweep.seed, sweep.op + " problem " + std::to_string(i));
    Problem problem = draws.of(kernels);
    draw_sizes(draws, problem.shape);
    problem.seed = static_cast<std::uint64_t>(draws.between(1, 1'000'000'000));
    const std::string known = problem.gate;
    problem.gate = draws.of(sweep.gates);
    for (int attempt = 0; attempt < tries && !exists(op, problem); ++attempt)
      problem.gate = draws.of(sweep.gates);
    if (!exists(op, problem)) problem.gate = known;
    list.push_back(std::move(problem));
  }
  return list;
}

DrawnTiles::DrawnTiles(const TileSpace& space, const Problem& problem, std::string_view variant,
                       std::uint64_t seed)
    : space_(space) {
  for (const TileAxis& axis : space) count_ *= axis.values.size();
  Draws draws(seed, std::string(variant) + " on " + kernel_text(problem) +
                        (problem.seed % 2 == 0 ? " even" : " odd"));
  if (count_ < 2) return;
  first_ = draws.word() % count_;
  // Steps without a common divisor reach every tile.
  do step_ = 1 + draws.word() % (count_ - 1);
  while (std::gcd(step_, count_) != 1);
}

Tile DrawnTiles::at(std::size_t place) const {
  std::size_t index = (first_ + place % count_ * step_) % count_;
  Tile tile;
  for (auto axis = space_.rbegin(); axis != space_.rend(); ++axis) {
    tile[axis->name] = axis->values[index % axis->values.size()];
    index /= axis->values.size();
  }
  return tile;
}

}  // namespace gla_bench
