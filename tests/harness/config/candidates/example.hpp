#pragma once
// The committed example of a kernel from outside, and changed copies of it in a folder.

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "core/error.hpp"
#include "harness/config/candidates/candidates.hpp"
#include "harness/config/candidates/manifest.hpp"
#include "harness/support/json.hpp"
#include "tests/support/places.hpp"
#include "tests/support/temporary_folder.hpp"

namespace gla_bench::example {

inline std::string file(const std::string& name) {
  return std::string(places::source_dir) + "/examples/" + name;
}

inline Json manifest() {
  return read_json_file(file("naive_gla.json"));
}

inline std::string source() {
  return read_text_file(file("naive_gla.cu"));
}

/// The manifest with another value at a JSON pointer; null removes what stands there.
inline Json changed(const std::string& pointer, const Json& value) {
  Json json = manifest();
  const Json::json_pointer place(pointer);
  if (value.is_null())
    json[place.parent_pointer()].erase(place.back());
  else
    json[place] = value;
  return json;
}

inline Manifest read(const Json& json) {
  return read_manifest(JsonNode(json, "m.json"), program_catalog());
}

/// A manifest and its source in a folder of their own.
class Files {
 public:
  explicit Files(const Json& manifest = example::manifest(),
                 const std::string& source = example::source()) {
    write("naive_gla.json", manifest.dump(1));
    write("naive_gla.cu", source);
  }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_.file(name)) << text;
  }
  std::string path() const { return folder_.file("naive_gla.json"); }
  const TemporaryFolder& folder() const { return folder_; }

  Catalog catalog() const { return with_manifest(program_catalog(), path()); }
  /// The variant, which lives as long as the catalog.
  static const Variant& variant(const Catalog& catalog) { return catalog.variants.back(); }

 private:
  TemporaryFolder folder_;
};

/// A problem that the example takes.
inline Problem problem() {
  Problem p;
  p.op = "gla";
  p.dtype = DType::bfloat16;
  p.shape = {2, 33, 3, 40, 72};
  p.initial_state = true;
  return p;
}

}  // namespace gla_bench::example
