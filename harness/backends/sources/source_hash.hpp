#pragma once
// The code of a candidate as one short hash. With it, `gate` names committed records whose kernels
// have changed since. The hash depends on code and not on files: a source may be moved, renamed,
// reformatted or get better comments, and its records stay valid.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/variant.hpp"
#include "harness/backends/sources/code_tokens.hpp"
#include "harness/backends/sources/source_store.hpp"

namespace gla_bench {

/// Maps a string literal to its replacement. If it returns nothing, the literal itself counts.
using StandIn = std::function<std::optional<std::string>(const std::string& literal)>;

/// 16 hexadecimal digits over code, which depend on the order of the tokens.
std::string code_hash(const std::vector<Token>& code, const StandIn& stand_in = {});

/// 16 hexadecimal digits over several code_hash() values, independent of their order.
std::string hash_of_all(std::vector<std::string> code_hashes);

/// The hashes of the sources of a store. Each source is read once.
class SourceHashes {
 public:
  explicit SourceHashes(SourceStore store) : store_(std::move(store)) {}

  const SourceStore& store() const { return store_; }

  /// code_hash() of one source. A literal that names a source of the store, or a folder of it with
  /// a slash at the end, counts only as the fact that it does. The path itself does not count.
  /// @throws InputError for a path that the store lacks
  const std::string& of_source(const std::string& path);

  /// 16 hexadecimal digits over the code of the variant's sources and everything that they include
  /// transitively. Paths and order do not count. A literal that names one of these sources (the
  /// file that a recipe compiles) counts as that source's code. The sources of a variant from
  /// outside are its own texts, its manifest among them. @throws InputError for a listed source
  /// that the store lacks, or when the variant lists none
  const std::string& of(const Variant& variant);

 private:
  const std::vector<Token>& code_of(const std::string& path);
  std::optional<std::string> without_path(const std::string& literal) const;
  const std::string& of_list(const std::vector<std::string>& sources);

  SourceStore store_;
  std::map<std::string, std::vector<Token>> code_;
  std::map<std::string, std::string> of_source_;
  std::map<std::vector<std::string>, std::string> of_list_;
  std::map<SourceTexts, std::string> of_texts_;
};

/// SourceHashes::of() with the given sources.
std::string source_hash(const Variant& variant, const SourceStore& store);

/// The same with the sources inside the binary.
std::string source_hash(const Variant& variant);

}  // namespace gla_bench
