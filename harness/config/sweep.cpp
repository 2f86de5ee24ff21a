#include "harness/config/sweep.hpp"

#include <algorithm>
#include <fstream>

#include "harness/config/random_problems.hpp"
#include "harness/support/text.hpp"
#include "harness/tensors/tensor_file.hpp"

namespace gla_bench {
namespace {

constexpr double guard_bytes_per_tensor = 2 * 4096;  // an upper figure for both guard zones

Problem with_flags(Problem problem, bool initial_state, bool final_state) {
  problem.initial_state = initial_state;
  problem.final_state = final_state;
  return problem;
}

/// Every choice of options, without those that are the operator's defaults; the first option
/// slowest.
std::vector<std::map<std::string, std::string>> option_choices(const Sweep& sweep) {
  const Operator* op = find_operator(sweep.op);
  std::vector<std::map<std::string, std::string>> choices{{}};
  for (const auto& [name, values] : sweep.options) {
    std::vector<std::map<std::string, std::string>> wider;
    for (const auto& choice : choices)
      for (const std::string& value : values) {
        wider.push_back(choice);
        if (op == nullptr || option(*op, {}, name) != value) wider.back()[name] = value;
      }
    choices = std::move(wider);
  }
  return choices;
}

std::vector<Problem> problems_from_file(const Sweep& sweep) {
  std::vector<Problem> list;
  for (const Layout layout : sweep.layouts)
    for (const bool final_state : sweep.final_state)
      for (const auto& options : option_choices(sweep)) {
        Problem wanted;
        wanted.options = options;
        wanted.op = sweep.op;
        wanted.direction = sweep.direction;
        wanted.layout = layout;
        wanted.scale = sweep.scale;
        wanted.final_state = final_state;
        wanted.tensors = sweep.tensors->file;
        wanted.tensor_names = sweep.tensors->names;
        list.push_back(problem_from_file(wanted));
      }
  return list;
}

/// The variant's space with the narrowing applied.
TileSpace narrowed_space(const Variant& variant, const Narrowing& narrowing) {
  TileSpace space = variant.space;
  for (TileAxis& axis : space) {
    const auto found = narrowing.axes.find(axis.name);
    if (found == narrowing.axes.end()) continue;
    std::vector<int> kept;
    for (const int value : found->second)
      if (std::find(axis.values.begin(), axis.values.end(), value) != axis.values.end())
        kept.push_back(value);
    if (kept.empty()) kept.push_back(axis.values.front());
    axis.values = kept;
  }
  return space;
}

/// Stops at the last tile that is wanted; otherwise a thousand problems would list a million tiles.
Candidates drawn_candidates(const Variant& variant, const Problem& problem,
                            const Narrowing& narrowing, const Limits& limits, int max_tiles,
                            std::uint64_t draw) {
  const TileSpace space = narrowed_space(variant, narrowing);
  const DrawnTiles order(space, problem, variant.name, draw);
  const auto most = max_tiles > 0 ? static_cast<std::size_t>(max_tiles) : order.count();
  Candidates result;
  for (std::size_t i = 0; i < order.count() && result.accepted.size() < most; ++i) {
    const Candidate candidate{&variant, problem, order.at(i)};
    if (!std::all_of(narrowing.where.begin(), narrowing.where.end(),
                     [&](const Condition& condition) { return condition.holds(candidate.tile); }))
      continue;
    if (auto reason = variant.reject(problem, candidate.tile, limits))
      result.rejected.push_back({candidate, std::move(*reason)});
    else
      result.accepted.push_back(candidate);
  }
  if (!result.accepted.empty()) result.rejected.clear();
  std::size_t all = 1;
  for (const TileAxis& axis : variant.space) all *= axis.values.size();
  result.narrowed = all - result.accepted.size() - result.rejected.size();
  return result;
}

}  // namespace

std::vector<Problem> problems(const Sweep& sweep) {
  if (sweep.tensors) return problems_from_file(sweep);
  if (sweep.random) return random_problems(sweep);
  std::vector<Problem> list;
  Problem problem;
  problem.op = sweep.op;
  problem.direction = sweep.direction;
  problem.scale = sweep.scale;
  problem.seed = sweep.seed;
  for (const Shape& shape : sweep.shapes)
    for (const DType dtype : sweep.dtypes)
      for (const Layout layout : sweep.layouts)
        for (const std::string& gate : sweep.gates) {
          problem.shape = shape;
          problem.dtype = dtype;
          problem.layout = layout;
          problem.gate = gate;
          for (const bool initial_state : sweep.initial_state)
            for (const bool final_state : sweep.final_state)
              for (const auto& options : option_choices(sweep)) {
                list.push_back(with_flags(problem, initial_state, final_state));
                list.back().options = options;
              }
        }
  return list;
}

std::vector<Point> points(const Config& config) {
  std::vector<Point> list;
  std::map<Problem, std::size_t> index;
  for (const Sweep& sweep : config.sweeps)
    for (const Problem& problem : problems(sweep)) {
      const auto [place, fresh] = index.try_emplace(problem, list.size());
      if (fresh) list.push_back({problem, {}});
      for (const std::string& variant : sweep.variants) {
        const auto narrowing = sweep.tiles.find(variant);
        list[place->second].requests.push_back(
            {variant, narrowing == sweep.tiles.end() ? Narrowing{} : narrowing->second,
             sweep.max_tiles, sweep.refusals_allowed,
             sweep.random ? std::optional(sweep.seed) : std::nullopt});
      }
    }
  return list;
}

Candidates candidates(const Variant& variant, const Problem& problem, const Narrowing& narrowing,
                      const Limits& limits, int max_tiles, std::optional<std::uint64_t> draw) {
  if (draw) return drawn_candidates(variant, problem, narrowing, limits, max_tiles, *draw);
  Candidates result;
  std::vector<Tile> tiles = all_tiles(narrowed_space(variant, narrowing));
  for (const Condition& condition : narrowing.where)
    std::erase_if(tiles, [&](const Tile& tile) { return !condition.holds(tile); });
  result.narrowed = all_tiles(variant.space).size() - tiles.size();
  for (const Tile& tile : tiles) {
    const Candidate candidate{&variant, problem, tile};
    if (max_tiles > 0 && result.accepted.size() >= static_cast<std::size_t>(max_tiles))
      ++result.narrowed;
    else if (auto reason = variant.reject(problem, tile, limits))
      result.rejected.push_back({candidate, std::move(*reason)});
    else
      result.accepted.push_back(candidate);
  }
  return result;
}

MemoryNeed memory_need(const Operator& op, const Problem& problem) {
  MemoryNeed need;
  for (const TensorSpec& spec : op.tensors(problem)) {
    const double elements = static_cast<double>(spec.elements());
    // An output in place takes no memory of its own, but the input's first bytes are kept.
    need.tensors += static_cast<double>(spec.memory_bytes()) +
                    (spec.in_place_of.empty() ? guard_bytes_per_tensor : 0.0);
    // Inputs: as float, with other signs, and once more while they are converted. Outputs: two
    // float64 references, a baseline, a download and its repeat.
    need.host += elements * (spec.role == TensorSpec::Role::input ? 4.0 + 4.0 + 4.0
                                                                  : 8.0 + 8.0 + 4.0 + 4.0 + 4.0);
  }
  return need;
}

std::optional<std::string> does_not_fit(const MemoryNeed& need, double workspace,
                                        double backend_limit, double host_limit) {
  const double backend_need = need.tensors + workspace;
  if (backend_limit > 0 && !(backend_need <= backend_limit))
    return "does not fit: needs " + format_bytes(backend_need) + " (tensors " +
           format_bytes(need.tensors) + ", workspace " + format_bytes(workspace) + "), " +
           format_bytes(backend_limit) + " are there";
  if (host_limit > 0 && !(need.host <= host_limit))
    return "does not fit: inputs, reference and results need " + format_bytes(need.host) +
           " of host memory, " + format_bytes(host_limit) + " are there";
  return std::nullopt;
}

double available_host_memory() {
  std::ifstream in("/proc/meminfo");
  std::string key, unit;
  double kibibytes = 0, available = 0;
  while (available == 0 && in >> key >> kibibytes) {
    std::getline(in, unit);
    if (key == "MemAvailable:") available = kibibytes * 1024;
  }
  // In a container its own limit may be lower. "max" does not parse as a number.
  std::ifstream limit("/sys/fs/cgroup/memory.max"), usage("/sys/fs/cgroup/memory.current");
  double most = 0, used = 0;
  if (limit >> most && usage >> used)
    available = available > 0 ? std::min(available, std::max(1.0, most - used)) : most - used;
  return available;
}

}  // namespace gla_bench
