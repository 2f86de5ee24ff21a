#include "kernels/softmax_attention/host/variant.hpp"

#include <algorithm>

#include "reference/attention/ragged.hpp"

namespace gla_bench::softmax_attention::host {

Variant make_variant(std::string_view op, Direction direction, HostForm form) {
  Variant variant;
  variant.op = op;
  variant.name = std::move(form.name);
  variant.summary = std::move(form.summary);
  variant.backend = BackendId::host;
  variant.direction = direction;
  variant.space = form.space;
  variant.sources = std::move(form.sources);
  variant.sources.push_back("softmax_attention/family.cpp");
  variant.sources.push_back("softmax_attention/host/variant.cpp");
  variant.arithmetic = [](const Problem&, const Tile&) { return Arithmetic::float32; };
  variant.workspace = form.workspace ? form.workspace : [](const Problem&, const Tile&) {
    return std::vector<Region>{};
  };
  variant.reject = [op = variant.op, direction, space = form.space, workspace = variant.workspace,
                    takes_pages = form.takes_pages](
                       const Problem& problem, const Tile& tile,
                       const Limits& limits) -> std::optional<std::string> {
    if (limits.arch != 0) return "runs on the host only";
    if (auto reason = refuse_choice(space, tile)) return reason;
    if (auto reason = refuse_problem(problem, op, direction)) return reason;
    if (!takes_pages)
      if (auto reason = refuse_pages(problem)) return reason;
    double bytes = 0;
    for (const Region& region : workspace(problem, tile))
      bytes += static_cast<double>(region.bytes);
    return refuse_workspace(bytes, limits);
  };
  variant.bind = [workspace = variant.workspace](const Problem& problem, const Tile& tile,
                                                 const Address& address) {
    return softmax_attention::bind(problem, address, workspace(problem, tile));
  };
  variant.traffic = with_indices(std::move(form.traffic));
  variant.flops = std::move(form.flops);
  variant.code = std::move(form.code);
  return variant;
}

double query_rows(const Problem& problem) {
  const Shape& s = problem.shape;
  return static_cast<double>(s.batch) * static_cast<double>(s.seq) * static_cast<double>(s.heads);
}

double decay_rows(const Problem& problem) {
  return query_rows(problem) / static_cast<double>(problem.shape.seq) *
         static_cast<double>(problem.shape.keys_seq());
}

Region floats(const std::string& name, double elements) {
  return {name, static_cast<std::size_t>(elements) * sizeof(float)};
}

double count_blocks(std::int64_t extent, std::int64_t size) {
  return static_cast<double>(ceil_div(extent, std::max<std::int64_t>(size, 1)));
}

double block_pairs(const Problem& problem, std::int64_t rows, std::int64_t keys) {
  double products = 0;
  for (const attention::Lengths& one : attention::lengths(problem))
    for (std::int64_t first = 0; first < one.queries; first += rows) {
      const std::int64_t end = std::min(first + rows, one.queries);
      std::int64_t seen = one.keys;
      if (causal(problem)) seen = std::clamp<std::int64_t>(end + seen - one.queries, 0, seen);
      const std::int64_t taken = std::min(ceil_div(seen, keys) * keys, one.keys);
      products += static_cast<double>(end - first) * static_cast<double>(taken * one.times);
    }
  return products * static_cast<double>(problem.shape.heads);
}

}  // namespace gla_bench::softmax_attention::host
