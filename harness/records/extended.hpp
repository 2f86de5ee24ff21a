#pragma once
// When and how a results file was gone on with under another config: its "extended".

#include <cstdint>
#include <string>
#include <vector>

#include "harness/support/facts.hpp"
#include "harness/support/json.hpp"

namespace gla_bench {

/// One `--extend`. Rows behind it are of this commit, driver and GPU, those before it of the
/// environment's, or of an earlier extension's.
struct Extension {
  std::string git_commit;
  bool git_dirty = false;
  std::string started;               ///< UTC, as in the environment
  std::string driver;                ///< empty on the host
  std::string uuid;                  ///< of the GPU; empty on the host and in files from before it
  std::int64_t records_kept = 0;     ///< what it found done
  std::int64_t records_dropped = 0;  ///< what its config no longer asks for
  std::int64_t records_stale = 0;    ///< of sources that had changed: made again

  /// True where both are of the same program on the same driver and GPU.
  bool same_program(const Extension& other) const;
};

/// An extension by the program and the driver that an environment names, without its counts.
Extension extension_by(const Facts& environment);

/// "commit abc (with changes), driver 580.1, GPU-d898", for people.
std::string describe_program(const Extension& extension);

/// The member "extended" of a results file, both ways. @throws InputError
Json extensions_to_json(const std::vector<Extension>& extensions);
std::vector<Extension> read_extensions(const JsonNode& node);

}  // namespace gla_bench
