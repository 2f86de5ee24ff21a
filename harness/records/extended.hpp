#pragma once
// When and how a results file was continued under another config, or with other sources than
// before: its "extended".

#include <cstdint>
#include <string>
#include <vector>

#include "harness/support/facts.hpp"
#include "harness/support/fields/fields.hpp"
#include "harness/support/json.hpp"

namespace gla_bench {

/// One `--extend`, or a `--resume` that made rows again. The rows after it were made with this
/// commit, driver and GPU. The rows before it were made with those of the environment, or of an
/// earlier extension.
struct Extension {
  std::string git_commit;
  bool git_dirty = false;
  std::string started;
  std::string driver;
  std::string uuid;
  std::int64_t records_kept = 0;
  std::int64_t records_dropped = 0;
  std::int64_t records_stale = 0;
  std::int64_t records_renewed = 0;

  /// True where both were made by the same program on the same driver and GPU.
  bool same_program(const Extension& other) const;
};

template <class Visitor>
void fields(Visitor& visit, Of<Extension>) {
  visit.of("extension",
           "One continuation of the file under another config (--extend), with other sources "
           "(--resume), or by the verdicts of a newer verification (renew).");
  visit("git_commit", &Extension::git_commit, {"The program's commit."});
  visit("git_dirty", &Extension::git_dirty,
        {"Whether the program was built from uncommitted sources."});
  visit("started", &Extension::started, {"When it started, UTC."});
  visit("driver", &Extension::driver, {"The version of the GPU's driver; empty on the host."});
  visit("uuid", &Extension::uuid,
        {.about = "The UUID of the GPU; empty on the host, missing in files from before it was "
                  "kept.",
         .presence = Presence::added});
  visit("records_kept", &Extension::records_kept,
        {.about = "How many records were tried before, are still asked for, and are of sources "
                  "that had not changed.",
         .least = 0});
  visit("records_dropped", &Extension::records_dropped,
        {.about = "How many records were tried before and are no longer asked for.", .least = 0});
  visit("records_stale", &Extension::records_stale,
        {.about = "How many records were tried before with sources that had changed, and so were "
                  "made again; of `renew`, how many could not take the newer verdict.",
         .least = 0});
  visit("records_renewed", &Extension::records_renewed,
        {.about = "How many of the kept records took the verdict of this program's verification "
                  "and have the time of an earlier one (renew); missing where none did.",
         .presence = Presence::sparse,
         .least = 1});
}

/// An extension by the program and the driver that an environment names, without its counts.
Extension extension_by(const Facts& environment);

/// "extended 2026-01-02T03:04:05Z with commit abc", or "196 rows verified anew ...", for people.
std::string describe(const Extension& extension);

/// "commit abc (with changes), driver 580.1, GPU-d898", for people.
std::string describe_program(const Extension& extension);

/// The member "extended" of a results file, both ways. @throws InputError
Json extensions_to_json(const std::vector<Extension>& extensions);
std::vector<Extension> read_extensions(const JsonNode& node);

}  // namespace gla_bench
