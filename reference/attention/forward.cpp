// The forward in blocks. A task owns 64 queries of one head, walks over the keys that they see with
// running maxima and sums, and divides at the end.

#include "reference/attention/blocked.hpp"
#include "reference/attention/blocks.hpp"
#include "reference/attention/paged.hpp"
#include "reference/attention/ragged.hpp"

namespace gla_bench::attention {
namespace {

template <class Real>
class Forward {
 public:
  Forward(const View& view, std::optional<Arithmetic> arithmetic)
      : view_(view),
        arithmetic_(arithmetic),
        q_(view.keys),
        k_(view.keys),
        v_(view.values),
        scores_(static_cast<std::size_t>(block * block)) {}

  void run(const Decays& decays, std::int64_t b, std::int64_t h, std::int64_t first,
           Outputs<Real>& outputs) {
    const std::int64_t queries = std::min(block, view_.seq - first);
    const std::int64_t keys = view_.seen(first + queries - 1), head = view_.key_head(h);
    q_.load(view_.q + view_.query_row(b, first, h) * view_.keys, view_.heads * view_.keys, queries,
            false, arithmetic_);
    out_.assign(static_cast<std::size_t>(block * padded(view_.values)), Real(0));
    most_.assign(block, -std::numeric_limits<Real>::infinity());
    sums_.assign(block, Real(0));
    for (std::int64_t key = 0; key < keys; key += block) {
      const std::int64_t count = std::min(block, view_.key_seq - key);
      const std::int64_t row = view_.key_row(b, key, head);
      k_.load(view_.k + row * view_.keys, view_.key_heads * view_.keys, count, true, arithmetic_);
      v_.load(view_.v + row * view_.values, view_.key_heads * view_.values, count, false,
              arithmetic_);
      form_scores(view_, decays, first, queries, key, count, q_, k_, scores_);
      for (std::int64_t r = 0; r < queries; ++r) weigh(r);
      round_operands(scores_, arithmetic_);
      add_product<Real>(block, padded(view_.values), block, scores_.data(), block, 1,
                        v_.rows.data(), padded(view_.values), out_.data(), padded(view_.values));
    }
    for (std::int64_t r = 0; r < queries; ++r) finish(r, view_.query_row(b, first + r, h), outputs);
  }

 private:
  // Turns the scores of a row into weights relative to its running maximum.
  void weigh(std::int64_t r) {
    Real* row = scores_.data() + r * block;
    const Real most = std::max(most_[r], *std::max_element(row, row + block));
    if (std::isinf(most) && most < 0) {
      std::fill_n(row, block, Real(0));
      return;
    }
    const Real shrink = exponential(most_[r] - most);
    Real sum = 0;
    for (std::int64_t j = 0; j < block; ++j) row[j] = exponential(row[j] - most);
    for (std::int64_t j = 0; j < block; ++j) sum += row[j];
    sums_[r] = sums_[r] * shrink + sum;
    most_[r] = most;
    Real* out = out_.data() + r * padded(view_.values);
    if (shrink != Real(1))
      for (std::int64_t c = 0; c < view_.values; ++c) out[c] *= shrink;
  }

  void finish(std::int64_t r, std::int64_t row, Outputs<Real>& outputs) {
    const Real* out = out_.data() + r * padded(view_.values);
    const Real inverse = sums_[r] > 0 ? 1 / sums_[r] : Real(0);
    Real* o = outputs.at("o").data() + row * view_.values;
    for (std::int64_t c = 0; c < view_.values; ++c) o[c] = out[c] * inverse;
    if (view_.lse) outputs.at("lse")[row] = most_[r] + std::log(sums_[r]);
  }

  const View& view_;
  std::optional<Arithmetic> arithmetic_;
  Operand<Real> q_, k_, v_;
  std::vector<Real> scores_, out_, most_, sums_;
};

}  // namespace

template <class Real>
Outputs<Real> forward(const View& view, std::optional<Arithmetic> arithmetic) {
  if (view.sequences > 0)
    return of_sequences<Real>(view,
                              [&](const View& one) { return forward<Real>(one, arithmetic); });
  if (view.block_table != nullptr) return forward<Real>(SideBySide(view).view, arithmetic);
  Outputs<Real> outputs;
  outputs["o"].resize(static_cast<std::size_t>(view.pairs() * view.seq * view.values));
  if (view.lse) outputs["lse"].resize(static_cast<std::size_t>(view.pairs() * view.seq));
  std::vector<Decays> decays(static_cast<std::size_t>(view.pairs()));
  const std::int64_t blocks = (view.seq + block - 1) / block, tasks = blocks * view.pairs();
#pragma omp parallel if (view.large())
  {
    Forward<Real> walk(view, arithmetic);
#pragma omp for schedule(dynamic)
    for (std::int64_t pair = 0; pair < view.pairs(); ++pair)
      decays[pair] = view.decays(pair / view.heads, pair % view.heads);
      // The last blocks see the most keys, so they start first.
#pragma omp for schedule(dynamic)
    for (std::int64_t task = 0; task < tasks; ++task) {
      const std::int64_t pair = task % view.pairs(), first = blocks - 1 - task / view.pairs();
      walk.run(decays[pair], pair / view.heads, pair % view.heads, first * block, outputs);
    }
  }
  return outputs;
}

template Outputs<double> forward<double>(const View&, std::optional<Arithmetic>);
template Outputs<float> forward<float>(const View&, std::optional<Arithmetic>);

}  // namespace gla_bench::attention
