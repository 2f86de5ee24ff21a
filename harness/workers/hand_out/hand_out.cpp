#include "harness/workers/hand_out/hand_out.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "harness/support/json.hpp"

namespace gla_bench {
namespace {

constexpr const char* from_run = "a run";
constexpr const char* from_rank_0 = "rank 0";

std::vector<std::int64_t> read_numbers(const JsonNode& node) {
  constexpr std::int64_t most = 100'000'000;
  std::vector<std::int64_t> numbers;
  for (const JsonNode& item : node.items()) numbers.push_back(item.integer(1, most));
  return numbers;
}

}  // namespace

HandOut::HandOut(std::size_t runs) : hellos_(runs) {}

void HandOut::hello(std::size_t run, const HandOutHello& hello) {
  for (std::size_t other = 0; other < hellos_.size(); ++other) {
    if (!hellos_[other]) continue;
    if (hellos_[other]->plan != hello.plan || hellos_[other]->order != hello.order)
      throw InputError("rank " + std::to_string(run) + " and rank " + std::to_string(other) +
                       ": have different problems to run, expected the same program, config "
                       "and kind of device");
  }
  for (const std::int64_t problem : hello.begun)
    if (const auto [known, fresh] = begun_by_.try_emplace(problem, run); !fresh)
      throw InputError("rank " + std::to_string(run) + " and rank " +
                       std::to_string(known->second) + ": both have rows of problem " +
                       std::to_string(problem));
  hellos_.at(run) = hello;
  if (!std::all_of(hellos_.begin(), hellos_.end(), [](const auto& one) { return !!one; })) return;
  left_.emplace();
  for (const std::int64_t problem : hello.order)
    if (!begun_by_.contains(problem)) left_->push_back(problem);
}

void HandOut::gone(std::size_t run) const {
  if (!hellos_.at(run))
    throw InputError("rank " + std::to_string(run) +
                     ": its gla-bench ended before it said which problems its file has");
}

void HandOut::ask(std::size_t run) {
  asking_.push_back(run);
}

std::vector<HandOut::Answer> HandOut::answers() {
  std::vector<Answer> list;
  while (left_ && !asking_.empty()) {
    Answer answer{asking_.front(), {}};
    asking_.pop_front();
    if (!left_->empty()) {
      answer.problems.push_back(left_->front());
      left_->pop_front();
    }
    list.push_back(std::move(answer));
  }
  return list;
}

std::string hello_line(const HandOutHello& hello) {
  Json line;
  line["plan"] = hello.plan;
  line["order"] = hello.order;
  line["begun"] = hello.begun;
  return line.dump();
}

std::string ask_line() {
  return R"({"ask":true})";
}

std::string problems_line(const std::vector<std::int64_t>& problems) {
  Json line;
  line["problems"] = problems;
  return line.dump();
}

std::optional<HandOutHello> read_run_line(const std::string& line) {
  const Json document = parse_json(line, from_run);
  const JsonNode node(document, from_run);
  if (node.find("ask")) {
    node.expect_keys({"ask"});
    return std::nullopt;
  }
  node.expect_keys({"plan", "order", "begun"});
  return HandOutHello{node.at("plan").text(), read_numbers(node.at("order")),
                      read_numbers(node.at("begun"))};
}

std::vector<std::int64_t> read_problems_line(const std::string& line) {
  const Json document = parse_json(line, from_rank_0);
  const JsonNode node(document, from_rank_0);
  node.expect_keys({"problems"});
  return read_numbers(node.at("problems"));
}

}  // namespace gla_bench
