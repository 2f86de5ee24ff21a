#include "harness/tuned_table/foretell.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include "core/operator.hpp"

namespace gla_bench {
namespace {

constexpr std::int64_t least_amount = 64, most_amount = 131072, most_blocks = 4096;
constexpr std::int64_t most_heads = 32;  // before the batch grows

std::vector<std::int64_t> amounts() {
  std::vector<std::int64_t> list;
  for (std::int64_t value = least_amount; value <= most_amount; value *= 2) list.push_back(value);
  return list;
}

std::vector<std::int64_t> block_numbers() {
  std::vector<std::int64_t> list{1};
  for (std::int64_t value = 2; value <= most_blocks; value *= 2) {
    list.push_back(value);
    if (value + value / 2 <= most_blocks) list.push_back(value + value / 2);
  }
  return list;
}

/// The shape with so many blocks: heads first, as many as there mostly are, then batch. Nothing
/// where the blocks cannot be shared out.
std::optional<Shape> with_blocks(Shape shape, std::int64_t blocks) {
  if (shape.columns > 0) {
    shape.batch = blocks;
    return shape;
  }
  const std::int64_t group = shape.heads / std::max<std::int64_t>(1, shape.keys_heads());
  if (group < 1 || blocks % group != 0) return std::nullopt;
  std::int64_t heads = shape.sequences > 0 ? blocks : group;
  while (2 * heads <= most_heads && blocks % (2 * heads) == 0) heads *= 2;
  shape.heads = heads;
  shape.key_heads = shape.key_heads > 0 ? heads / group : 0;
  shape.batch = blocks / heads;
  return shape;
}

Shape with_amount(Shape shape, std::int64_t amount) {
  if (shape.columns > 0)
    shape.columns = amount;
  else if (shape.key_seq > 0 && shape.key_seq != shape.seq)
    shape.key_seq = amount;
  else
    shape.seq = amount;
  return shape;
}

bool exists(const Problem& problem, double memory) {
  const Shape& shape = problem.shape;
  for (const ExtentAxis& axis : extent_axes)
    if (shape.*axis.extent > axis.most) return false;
  if (shape.sequences > 0 && (shape.batch != 1 || shape.seq < shape.sequences)) return false;
  const Operator* op = find_operator(problem.op);
  if (op == nullptr || largest_tensor(shape) > most_elements) return false;
  if (op->refuse && op->refuse(problem)) return false;
  double bytes = 0;
  for (const TensorSpec& spec : op->tensors(problem))
    bytes += static_cast<double>(spec.memory_bytes());
  return bytes <= memory;
}

/// The nearest entry's own candidate: what a table says that is asked alone.
bool says(const TunedTable& table, const Problem& problem, const Candidate& choice) {
  const auto near = nearest_entries(table, problem);
  if (near.empty()) return false;
  const TunedChoice& winner = table.entries[near.front().entry].winner;
  return winner.variant == choice.variant->name && winner.tile == choice.tile;
}

TunedEntry entry_of(const Problem& problem, const Candidate& choice) {
  TunedEntry entry;
  entry.bucket = bucket_of(problem);
  entry.winner.variant = choice.variant->name;
  entry.winner.tile = choice.tile;
  entry.won_by = "model";
  return entry;
}

}  // namespace

std::vector<Problem> tuned_examples(const TunedTable& table) {
  std::vector<Problem> list;
  for (const TunedEntry& entry : table.entries)
    if (!entry.problems.empty()) list.push_back(entry.problems.front().problem);
  return list;
}

std::vector<Problem> problem_grid(std::span<const Problem> like, double memory) {
  std::vector<Problem> list;
  std::set<Bucket> seen;
  for (const Problem& example : like)
    for (const std::int64_t amount : amounts())
      for (const std::int64_t blocks : block_numbers()) {
        const auto shape = with_blocks(with_amount(example.shape, amount), blocks);
        if (!shape) continue;
        Problem problem = example;
        problem.shape = *shape;
        if (exists(problem, memory) && seen.insert(bucket_of(problem)).second)
          list.push_back(std::move(problem));
      }
  return list;
}

TunedTable with_choices(const Chooser& chooser, std::span<const Problem> grid,
                        const Refusal& refuse) {
  std::vector<std::optional<Candidate>> choices(grid.size());
#pragma omp parallel for schedule(dynamic)
  for (std::size_t i = 0; i < grid.size(); ++i)
    choices[i] = chooser.choose(grid[i], refuse).candidate;
  TunedTable table = chooser.table();
  // In order all the time: of entries at the same distance the first one is the nearest.
  const auto before = [](const TunedEntry& a, const TunedEntry& b) { return a.bucket < b.bucket; };
  std::stable_sort(table.entries.begin(), table.entries.end(), before);
  // An added entry may become the nearest of problems that were served before, which then get
  // their own. Each problem adds at most one, so that this ends.
  std::vector<bool> added(grid.size());
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = 0; i < grid.size(); ++i) {
      if (!choices[i] || added[i] || says(table, grid[i], *choices[i])) continue;
      TunedEntry entry = entry_of(grid[i], *choices[i]);
      const auto own = std::lower_bound(table.entries.begin(), table.entries.end(), entry, before);
      if (own == table.entries.end() || own->bucket != entry.bucket)
        table.entries.insert(own, std::move(entry));
      else
        *own = std::move(entry);
      added[i] = changed = true;
    }
  }
  return table;
}

}  // namespace gla_bench
