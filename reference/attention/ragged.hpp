#pragma once
// Ragged batches of attention: sequences that lie one behind the other, with cu_seqlens for queries
// and cu_seqlens_k for keys. Sequence n is attention by itself, aligned at its own end.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/operator.hpp"
#include "reference/attention/problem.hpp"

namespace gla_bench::attention {

/// Queries and keys of a sequence. Either may be 0 in a ragged batch.
struct Lengths {
  std::int64_t queries, keys;
  std::int64_t times = 1;  ///< sequences of these lengths
};

/// cu_seqlens or cu_seqlens_k [N+1] of a problem with drawn inputs. Without key_seq the keys'
/// sequences are those of the queries.
std::vector<float> draw_ends(const Problem& problem, bool of_keys);

/// The lengths of all sequences, ragged, paged or neither. Those of a file, which a problem does
/// not know, are taken to be alike.
std::vector<Lengths> lengths(const Problem& problem);

/// Adds the options of batches whose sequences have lengths of their own: `lengths`, `page_size`
/// and `nan_sequence`.
void add_options(Operator& op);

/// Says why there is no such ragged batch, or returns nothing.
std::optional<std::string> refuse_ragged(const Problem& problem);

/// Makes all inputs of two sequences NaN: of one that has keys and no queries, and of one that has
/// queries and no keys. What they hold is in no output.
void spoil_sequences(const Problem& problem, const std::vector<TensorSpec>& tensors,
                     HostTensors& inputs);

/// The outputs of a ragged batch, or of paged keys, from those of its sequences: outputs of tokens
/// one behind the other, and the gradient of a constant decay as a sum.
template <class Real, class Compute>
std::map<std::string, std::vector<Real>> of_sequences(const View& view, Compute compute) {
  std::map<std::string, std::vector<Real>> outputs;
  for (std::int64_t n = 0; n < view.sequences; ++n)
    for (const auto& [name, part] : compute(view.sequence(n))) {
      std::vector<Real>& whole = outputs[name];
      if (name == "dlog_decay" && view.constant_decay) {
        whole.resize(part.size());
        for (std::size_t i = 0; i < part.size(); ++i) whole[i] += part[i];
      } else {
        whole.insert(whole.end(), part.begin(), part.end());
      }
    }
  return outputs;
}

}  // namespace gla_bench::attention
