#include "harness/records/extended.hpp"

namespace gla_bench {

bool Extension::same_program(const Extension& other) const {
  return git_commit == other.git_commit && git_dirty == other.git_dirty && driver == other.driver &&
         uuid == other.uuid;
}

Extension extension_by(const Facts& environment) {
  Extension extension;
  extension.git_commit = fact_text(environment, "git_commit");
  extension.git_dirty = fact_text(environment, "git_dirty") == "true";
  extension.started = fact_text(environment, "started");
  extension.driver = fact_text(environment, "driver");
  extension.uuid = fact_text(environment, "uuid");
  return extension;
}

std::string describe(const Extension& extension) {
  const std::int64_t renewed = extension.records_renewed;
  const std::string what = renewed == 0   ? "extended "
                           : renewed == 1 ? "1 row verified anew "
                                          : std::to_string(renewed) + " rows verified anew ";
  return what + extension.started + " with " + describe_program(extension);
}

std::string describe_program(const Extension& extension) {
  std::string text = "commit " + extension.git_commit;
  if (extension.git_dirty) text += " (with changes)";
  if (!extension.driver.empty()) text += ", driver " + extension.driver;
  if (!extension.uuid.empty()) text += ", " + extension.uuid;
  return text;
}

}  // namespace gla_bench
