#include "harness/config/sweep.hpp"

#include <algorithm>
#include <fstream>

#include "harness/config/draws/drawn_tiles.hpp"
#include "harness/config/space/rare_tiles.hpp"
#include "harness/config/tiles.hpp"
#include "harness/support/text.hpp"
#include "harness/tensors/tensor_file.hpp"

namespace gla_bench {
namespace {

constexpr double guard_bytes_per_tensor = 2 * 4096;  // an upper figure for both guard zones

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

void add_with_states_and_options(const Sweep& sweep, Problem problem, std::vector<Problem>& list) {
  for (const bool initial_state : sweep.initial_state)
    for (const bool final_state : sweep.final_state)
      for (const auto& options : option_choices(sweep)) {
        problem.initial_state = initial_state;
        problem.final_state = final_state;
        problem.options = options;
        list.push_back(problem);
      }
}

std::vector<Problem> problems_from_file(const Sweep& sweep) {
  std::vector<Problem> list;
  for (const Layout layout : sweep.layouts)
    for (const auto& scale : sweep.scales)
      for (const bool final_state : sweep.final_state)
        for (const auto& options : option_choices(sweep)) {
          Problem wanted;
          wanted.options = options;
          wanted.op = sweep.op;
          wanted.direction = sweep.direction;
          wanted.layout = layout;
          wanted.scale = scale;
          wanted.final_state = final_state;
          wanted.tensors = sweep.tensors->file;
          wanted.tensor_names = sweep.tensors->names;
          list.push_back(problem_from_file(wanted));
        }
  return list;
}

}  // namespace

std::vector<Problem> problems(const Sweep& sweep) {
  if (sweep.tensors) return problems_from_file(sweep);
  if (sweep.random) return sweep.drawn.problems;
  std::vector<Problem> list;
  Problem problem;
  problem.op = sweep.op;
  problem.direction = sweep.direction;
  problem.seed = sweep.seed;
  for (const Shape& shape : sweep.shapes)
    for (const DType dtype : sweep.dtypes)
      for (const Layout layout : sweep.layouts)
        for (const std::string& gate : sweep.gates)
          for (const auto& scale : sweep.scales) {
            problem.shape = shape;
            problem.dtype = dtype;
            problem.layout = layout;
            problem.gate = gate;
            problem.scale = scale;
            add_with_states_and_options(sweep, problem, list);
          }
  return list;
}

std::vector<Point> points(const Config& config) {
  std::vector<Point> list;
  std::map<Problem, std::size_t> index;
  for (std::size_t number = 0; number < config.sweeps.size(); ++number) {
    const Sweep& sweep = config.sweeps[number];
    const bool covers = sweep.random && sweep.random->cover != Cover::none;
    for (const Problem& problem : problems(sweep)) {
      const auto [place, fresh] = index.try_emplace(problem, list.size());
      if (fresh) list.push_back({problem, {}});
      for (const std::string& variant : sweep.variants) {
        const auto found = sweep.tiles.find(variant);
        Narrowing narrowing = found == sweep.tiles.end() ? Narrowing{} : found->second;
        narrowing.arithmetic = sweep.arithmetic;
        narrowing.rare = sweep.rare_tiles;
        list[place->second].requests.push_back(
            {variant, std::move(narrowing), sweep.max_tiles, sweep.refusals_allowed,
             sweep.random ? std::optional(sweep.seed) : std::nullopt,
             covers ? std::optional(number) : std::nullopt});
      }
    }
  }
  return list;
}

std::optional<std::string> refuse_tile(const Variant& variant, const Problem& problem,
                                       const Tile& tile, const Limits& limits,
                                       const std::set<Arithmetic>& arithmetic) {
  if (auto reason = variant.reject(problem, tile, limits)) return reason;
  if (arithmetic.empty()) return std::nullopt;
  const Arithmetic has = variant.arithmetic(problem, tile);
  if (arithmetic.contains(has)) return std::nullopt;
  std::vector<std::string> asked;
  for (const Arithmetic one : arithmetic) asked.emplace_back(name(one));
  return "its products are in " + std::string(name(has)) + ", the config asks for " +
         join(asked, " or ");
}

namespace {

Candidates candidates_in(const TileSpace& space, const Variant& variant, const Problem& problem,
                         const Narrowing& narrowing, const Limits& limits, int max_tiles) {
  Candidates result;
  std::vector<Tile> tiles = all_tiles(narrowed(space, narrowing));
  std::erase_if(tiles, [&](const Tile& tile) { return !allows(narrowing, tile); });
  result.narrowed = tile_count(variant.space) - tiles.size();
  for (const Tile& tile : tiles) {
    const Candidate candidate{&variant, problem, tile};
    if (max_tiles > 0 && result.accepted.size() >= static_cast<std::size_t>(max_tiles))
      ++result.narrowed;
    else if (auto reason = refuse_tile(variant, problem, tile, limits, narrowing.arithmetic))
      result.rejected.push_back({candidate, std::move(*reason), 1});
    else
      result.accepted.push_back(candidate);
  }
  return result;
}

}  // namespace

Candidates candidates(const Variant& variant, const Problem& problem, const Narrowing& narrowing,
                      const Limits& limits, int max_tiles, std::optional<std::uint64_t> draw) {
  if (draw) return drawn_candidates(variant, problem, narrowing, limits, max_tiles, *draw);
  if (!narrowing.rare) {
    Candidates usual = candidates_in(usual_space(variant, narrowing, rare_tiles()), variant,
                                     problem, narrowing, limits, max_tiles);
    if (!usual.accepted.empty()) return usual;
  }
  return candidates_in(variant.space, variant, problem, narrowing, limits, max_tiles);
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
