#include "harness/records/extended.hpp"

#include <limits>
#include <nlohmann/json.hpp>

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

std::string describe_program(const Extension& extension) {
  std::string text = "commit " + extension.git_commit;
  if (extension.git_dirty) text += " (with changes)";
  if (!extension.driver.empty()) text += ", driver " + extension.driver;
  if (!extension.uuid.empty()) text += ", " + extension.uuid;
  return text;
}

Json extensions_to_json(const std::vector<Extension>& extensions) {
  Json list = Json::array();
  for (const Extension& extension : extensions)
    list.push_back({{"git_commit", extension.git_commit},
                    {"git_dirty", extension.git_dirty},
                    {"started", extension.started},
                    {"driver", extension.driver},
                    {"uuid", extension.uuid},
                    {"records_kept", extension.records_kept},
                    {"records_dropped", extension.records_dropped},
                    {"records_stale", extension.records_stale}});
  return list;
}

std::vector<Extension> read_extensions(const JsonNode& node) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  std::vector<Extension> list;
  for (const JsonNode& item : node.items()) {
    item.expect_keys({"git_commit", "git_dirty", "started", "driver", "uuid", "records_kept",
                      "records_dropped", "records_stale"});
    Extension extension;
    extension.git_commit = item.at("git_commit").text();
    extension.git_dirty = item.at("git_dirty").boolean();
    extension.started = item.at("started").text();
    extension.driver = item.at("driver").text();
    if (const auto uuid = item.find("uuid")) extension.uuid = uuid->text();
    extension.records_kept = item.at("records_kept").integer(0, most);
    extension.records_dropped = item.at("records_dropped").integer(0, most);
    extension.records_stale = item.at("records_stale").integer(0, most);
    list.push_back(std::move(extension));
  }
  return list;
}

}  // namespace gla_bench
