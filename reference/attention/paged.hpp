#pragma once
// Paged keys, as serving holds its cache. The keys and values of all sequences lie in pages of
// page_size tokens in one pool [pages, page_size, ..]. block_table [B,P] says which page holds the
// tokens [i page_size, (i + 1) page_size) of a sequence, and cache_seqlens [B] how many keys it
// has, up to Tk. Query i stands at position i + its keys - T. Log decays per token are of keys and
// lie in the same pages, so that one token more is one row more in each of the three.
//
// The pool of drawn inputs has more pages than are needed, in a random order. Rows that hold no key
// are NaN, and entries of the table behind a sequence's last page name a page of such rows.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/operator.hpp"
#include "reference/attention/problem.hpp"

namespace gla_bench::attention {

/// page_size: the tokens of a page; 0 where keys are not paged.
OptionAxis page_axis();
std::int64_t page_size(const Problem& problem);

/// Pages of the longest sequence: P, the length of a row of block_table.
std::int64_t pages_of_sequence(const Problem& problem);
/// Pages of the pool: those that B sequences of Tk keys need, and more.
std::int64_t pool_pages(const Problem& problem);

/// Keys of all sequences together, paged or not.
std::int64_t keys_in_all(const Problem& problem);
/// Bytes of cache_seqlens and of the entries of block_table that name a page of keys; 0 where keys
/// are not paged.
double table_bytes(const Problem& problem);

/// Says why there is no such paged problem, or returns nothing.
std::optional<std::string> refuse_paged(const Problem& problem);

/// The numbers of keys [B]. One sequence has Tk; the others are drawn by `lengths`, some without
/// any.
std::vector<float> draw_key_counts(const Problem& problem);
/// block_table [B,P] for these numbers of keys.
std::vector<float> draw_block_table(const Problem& problem);
/// Makes the rows of the pool that hold no key NaN.
void spoil_free_rows(const Problem& problem, HostTensors& inputs);

/// A sequence of paged keys with its keys side by side: k, v and log decays in their order.
struct SideBySide {
  std::vector<float> k, v, log_decay;
  View view;

  explicit SideBySide(const View& paged);
};

}  // namespace gla_bench::attention
