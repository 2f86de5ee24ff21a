// The backward in blocks, in two passes that each recompute P. A task of the first pass owns 64
// queries (dq, row sums of dS). A task of the second pass owns 64 keys (dk, dv, column sums). So
// every sum has one owner and one order.

#include "reference/attention/blocked.hpp"
#include "reference/attention/blocks.hpp"
#include "reference/attention/gradients.hpp"
#include "reference/attention/ragged.hpp"

namespace gla_bench::attention {
namespace {

std::int64_t query_blocks(const View& view) {
  return (view.seq + block - 1) / block;
}

// What both passes share: P and dS of a block of queries and a block of keys.
template <class Real>
class Gradients {
 public:
  Gradients(const View& view, const std::vector<Real>& row_terms,
            std::optional<Arithmetic> arithmetic)
      : view_(view),
        row_terms_(row_terms),
        arithmetic_(arithmetic),
        q(view.keys),
        k(view.keys),
        v(view.values),
        d_o(view.values),
        p(static_cast<std::size_t>(block * block)),
        ds(p),
        lse_(block),
        d_(block) {}

  void load_queries(std::int64_t b, std::int64_t h, std::int64_t first) {
    first_query = first;
    queries = std::min(block, view_.seq - first);
    const std::int64_t row = view_.query_row(b, first, h), values = view_.values;
    q.load(view_.q + row * view_.keys, view_.heads * view_.keys, queries, false, arithmetic_);
    d_o.load(view_.d_o + row * values, view_.heads * values, queries, false, arithmetic_);
    for (std::int64_t r = 0; r < queries; ++r) {
      const std::int64_t at = row + r * view_.heads;
      lse_[r] = static_cast<Real>(view_.given_lse[at]);
      d_[r] = row_terms_[at];
    }
  }

  void load_keys(std::int64_t b, std::int64_t key_head, std::int64_t first) {
    first_key = first;
    keys = std::min(block, view_.key_seq - first);
    const std::int64_t row = view_.key_row(b, first, key_head);
    k.load(view_.k + row * view_.keys, view_.key_heads * view_.keys, keys, true, arithmetic_);
    v.load(view_.v + row * view_.values, view_.key_heads * view_.values, keys, true, arithmetic_);
  }

  void form(const Decays& decays) {
    form_scores(view_, decays, first_query, queries, first_key, keys, q, k, p);
    std::fill(ds.begin(), ds.end(), Real(0));
    add_product<Real>(block, block, view_.values, d_o.rows.data(), padded(view_.values), 1,
                      v.columns.data(), block, ds.data(), block);
    for (std::int64_t r = 0; r < block; ++r) {
      Real *weights = p.data() + r * block, *changes = ds.data() + r * block;
      // A query with lse = -inf sees nothing, and rows after the last query are padding.
      const bool sees = r < queries && std::isfinite(lse_[r]);
      const Real lse = sees ? lse_[r] : Real(0), d = sees ? d_[r] : Real(0);
      for (std::int64_t j = 0; j < block; ++j) weights[j] = exponential(weights[j] - lse);
      for (std::int64_t j = 0; j < block; ++j) changes[j] = weights[j] * (changes[j] - d);
    }
  }

  void round() {
    round_operands(p, arithmetic_);
    round_operands(ds, arithmetic_);
  }

 private:
  const View& view_;
  const std::vector<Real>& row_terms_;
  std::optional<Arithmetic> arithmetic_;

 public:
  Operand<Real> q, k, v, d_o;
  std::vector<Real> p, ds;  // [queries, keys]; unseen elements are zero
  std::int64_t first_query = 0, queries = 0, first_key = 0, keys = 0;

 private:
  std::vector<Real> lse_, d_;
};

template <class Real>
class Backward {
 public:
  Backward(const View& view, const std::vector<Real>& row_terms,
           std::optional<Arithmetic> arithmetic)
      : view_(view), blocks_(view, row_terms, arithmetic) {}

  void queries(const Decays& decays, std::int64_t b, std::int64_t h, std::int64_t first,
               Outputs<Real>& outputs, DecaySums<Real>& sums) {
    const std::int64_t width = padded(view_.keys);
    blocks_.load_queries(b, h, first);
    first_.assign(static_cast<std::size_t>(block * width), Real(0));
    const std::int64_t keys = view_.seen(first + blocks_.queries - 1);
    for (std::int64_t key = 0; key < keys; key += block) {
      blocks_.load_keys(b, view_.key_head(h), key);
      blocks_.form(decays);
      if (view_.log_decay != nullptr) add_rows(b * view_.heads + h, sums);
      blocks_.round();
      add_product<Real>(block, width, block, blocks_.ds.data(), block, 1, blocks_.k.rows.data(),
                        width, first_.data(), width);
    }
    store(first_, blocks_.queries, view_.keys, static_cast<Real>(view_.scale), view_.heads,
          outputs.at("dq").data() + view_.query_row(b, first, h) * view_.keys);
  }

  void keys(const std::vector<Decays>& decays, std::int64_t b, std::int64_t key_head,
            std::int64_t first, Outputs<Real>& outputs, DecaySums<Real>& sums) {
    const std::int64_t width = padded(view_.keys), value_width = padded(view_.values);
    const std::int64_t group = view_.heads / view_.key_heads;
    blocks_.load_keys(b, key_head, first);
    first_.assign(static_cast<std::size_t>(block * width), Real(0));
    second_.assign(static_cast<std::size_t>(block * value_width), Real(0));
    for (std::int64_t h = key_head * group; h < (key_head + 1) * group; ++h)
      for (std::int64_t query = view_.first_query(first) / block * block; query < view_.seq;
           query += block) {
        blocks_.load_queries(b, h, query);
        blocks_.form(decays[b * view_.heads + h]);
        if (view_.log_decay != nullptr) add_columns(b * view_.heads + h, sums);
        blocks_.round();
        add_product<Real>(block, width, block, blocks_.ds.data(), 1, block, blocks_.q.rows.data(),
                          width, first_.data(), width);
        add_product<Real>(block, value_width, block, blocks_.p.data(), 1, block,
                          blocks_.d_o.rows.data(), value_width, second_.data(), value_width);
      }
    const std::int64_t row = view_.key_row(b, first, key_head);
    store(first_, blocks_.keys, view_.keys, static_cast<Real>(view_.scale), view_.key_heads,
          outputs.at("dk").data() + row * view_.keys);
    store(second_, blocks_.keys, view_.values, Real(1), view_.key_heads,
          outputs.at("dv").data() + row * view_.values);
  }

 private:
  void add_rows(std::int64_t pair, DecaySums<Real>& sums) const {
    Real* rows = sums.rows.data() + pair * view_.seq + blocks_.first_query;
    Real far = 0;
    for (std::int64_t r = 0; r < blocks_.queries; ++r) {
      const Real* ds = blocks_.ds.data() + r * block;
      const std::int64_t position = view_.position(blocks_.first_query + r);
      for (std::int64_t j = 0; j < blocks_.keys; ++j) {
        rows[r] += ds[j];
        far += static_cast<Real>(position - blocks_.first_key - j) * ds[j];
      }
    }
    sums.distances[pair * query_blocks(view_) + blocks_.first_query / block] += far;
  }

  void add_columns(std::int64_t pair, DecaySums<Real>& sums) const {
    Real* columns = sums.columns.data() + pair * view_.key_seq + blocks_.first_key;
    for (std::int64_t r = 0; r < blocks_.queries; ++r)
      for (std::int64_t j = 0; j < blocks_.keys; ++j) columns[j] += blocks_.ds[r * block + j];
  }

  static void store(const std::vector<Real>& from, std::int64_t rows, std::int64_t columns,
                    Real scale, std::int64_t heads, Real* to) {
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < columns; ++c)
        to[r * heads * columns + c] = scale * from[r * padded(columns) + c];
  }

  const View& view_;
  Gradients<Real> blocks_;
  std::vector<Real> first_, second_;
};

template <class Real>
std::vector<Real> zeros(std::int64_t elements) {
  return std::vector<Real>(static_cast<std::size_t>(elements), Real(0));
}

}  // namespace

template <class Real>
std::vector<Real> row_terms(const View& view) {
  const std::int64_t rows = view.pairs() * view.seq, values = view.values;
  std::vector<Real> terms = zeros<Real>(rows);
#pragma omp parallel for schedule(static) if (rows * values > 65536)
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t c = row * values; c < (row + 1) * values; ++c)
      terms[row] += static_cast<Real>(view.d_o[c]) * static_cast<Real>(view.o[c]);
  return terms;
}

template <class Real>
DecaySums<Real>::DecaySums(const View& view) {
  if (view.log_decay == nullptr) return;
  rows = zeros<Real>(view.pairs() * view.seq);
  columns = zeros<Real>(view.pairs() * view.key_seq);
  distances = zeros<Real>(view.pairs() * query_blocks(view));
}

template <class Real>
std::vector<Real> decay_gradients(const View& view, const DecaySums<Real>& sums) {
  std::vector<Real> gradients = zeros<Real>(view.decay_gradients());
  for (std::int64_t pair = 0; pair < view.pairs(); ++pair) {
    const std::int64_t b = pair / view.heads, h = pair % view.heads;
    Real sum = 0;
    for (std::int64_t i = 0; view.constant_decay && i < query_blocks(view); ++i)
      sum += sums.distances[pair * query_blocks(view) + i];
    if (view.constant_decay) gradients[h] += sum;
    for (std::int64_t t = 0; !view.constant_decay && t < view.key_seq; ++t) {
      gradients[view.decay_row(b, t, h)] = sum;
      const std::int64_t query = t - view.key_seq + view.seq;
      sum += sums.columns[pair * view.key_seq + t];
      if (query >= 0) sum -= sums.rows[pair * view.seq + query];
    }
  }
  return gradients;
}

template <class Real>
Outputs<Real> backward(const View& view, std::optional<Arithmetic> arithmetic) {
  if (view.sequences > 0)
    return of_sequences<Real>(view,
                              [&](const View& one) { return backward<Real>(one, arithmetic); });
  const std::int64_t key_pairs = view.batch * view.key_heads;
  const std::int64_t query_tasks = query_blocks(view) * view.pairs();
  const std::int64_t key_blocks = (view.key_seq + block - 1) / block;
  Outputs<Real> outputs = zero_gradients<Real>(view);
  const std::vector<Real> terms = row_terms<Real>(view);
  DecaySums<Real> sums(view);
  std::vector<Decays> decays(static_cast<std::size_t>(view.pairs()));
#pragma omp parallel if (view.large())
  {
    Backward<Real> walk(view, terms, arithmetic);
#pragma omp for schedule(dynamic)
    for (std::int64_t pair = 0; pair < view.pairs(); ++pair)
      decays[pair] = view.decays(pair / view.heads, pair % view.heads);
      // In causal problems the last queries and the first keys have the most work, so they start
      // first.
#pragma omp for schedule(dynamic) nowait
    for (std::int64_t task = 0; task < query_tasks; ++task) {
      const std::int64_t pair = task % view.pairs(),
                         i = query_blocks(view) - 1 - task / view.pairs();
      walk.queries(decays[pair], pair / view.heads, pair % view.heads, i * block, outputs, sums);
    }
#pragma omp for schedule(dynamic)
    for (std::int64_t task = 0; task < key_blocks * key_pairs; ++task) {
      const std::int64_t pair = task % key_pairs, i = task / key_pairs;
      walk.keys(decays, pair / view.key_heads, pair % view.key_heads, i * block, outputs, sums);
    }
  }
  if (view.log_decay != nullptr) outputs["dlog_decay"] = decay_gradients(view, sums);
  return outputs;
}

template std::vector<double> row_terms<double>(const View&);
template std::vector<float> row_terms<float>(const View&);
template struct DecaySums<double>;
template struct DecaySums<float>;
template std::vector<double> decay_gradients<double>(const View&, const DecaySums<double>&);
template std::vector<float> decay_gradients<float>(const View&, const DecaySums<float>&);
template Outputs<double> backward<double>(const View&, std::optional<Arithmetic>);
template Outputs<float> backward<float>(const View&, std::optional<Arithmetic>);

}  // namespace gla_bench::attention
