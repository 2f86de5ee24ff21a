#pragma once
// Which code a candidate was made of, as one short text: `gate` names committed records whose
// kernels have changed since. It follows code and not files: a source may move, get another name,
// be formatted anew or commented better, and its records stay fresh.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/variant.hpp"
#include "harness/backends/sources/code_tokens.hpp"
#include "harness/backends/sources/source_store.hpp"

namespace gla_bench {

/// Maps a string literal to what stands for it; nothing: the literal counts as it is.
using StandIn = std::function<std::optional<std::string>(const std::string& literal)>;

/// 16 hexadecimal digits over code, in its order.
std::string code_hash(const std::vector<Token>& code, const StandIn& stand_in = {});

/// 16 hexadecimal digits over several code_hash(), in whatever order they come.
std::string hash_of_all(std::vector<std::string> code_hashes);

/// The hashes of the sources of a store. Each source is read once.
class SourceHashes {
 public:
  explicit SourceHashes(SourceStore store) : store_(std::move(store)) {}

  const SourceStore& store() const { return store_; }

  /// code_hash() of one source. Literals that name a source of the store, or a folder of it with a
  /// slash at the end, count as the fact that they do: the path itself counts nothing.
  /// @throws InputError for a path that the store lacks
  const std::string& of_source(const std::string& path);

  /// 16 hexadecimal digits over the code of the variant's sources and of everything that they
  /// include transitively. Their paths and their order count nothing. A literal that names one of
  /// these sources (the file that a recipe compiles) counts as that source's code.
  /// @throws InputError for a listed source that the store lacks, or when the variant lists none
  const std::string& of(const Variant& variant);

 private:
  const std::vector<Token>& code_of(const std::string& path);
  std::optional<std::string> without_path(const std::string& literal) const;

  SourceStore store_;
  std::map<std::string, std::vector<Token>> code_;
  std::map<std::string, std::string> of_source_;
  std::map<std::vector<std::string>, std::string> of_list_;
};

/// SourceHashes::of() among the given sources.
std::string source_hash(const Variant& variant, const SourceStore& store);

/// The same among the sources inside the binary.
std::string source_hash(const Variant& variant);

}  // namespace gla_bench
