#pragma once
// Cuts a config's problems into shards that take about the same time. The cut is a pure function of
// the config and the kind of device: what differs from machine to machine (measured rates, free
// memory, tuned tables) has no part in it.

#include <cstddef>
#include <span>
#include <vector>

#include "harness/config/config.hpp"
#include "harness/engine/assignment.hpp"
#include "harness/records/shards/shard.hpp"

namespace gla_bench {

/// For each problem the number of its shard, counted from 1: the longest first, each to the shard
/// that has least to do so far (of equal ones the one with fewer problems, then the first). The
/// largest sum is at most 4/3 of the best cut's, and at most the mean and one problem.
std::vector<int> balanced_cut(std::span<const double> seconds, int shards);

/// The seconds that each problem is expected to take at nominal rates, with all of its candidates
/// and with what has to be compiled for it. A kernel that several problems need is compiled once,
/// and its time is divided among them.
std::vector<double> nominal_seconds(std::span<const Assignment> work, BackendId backend,
                                    bool measure, const TimingPolicy& timing);

/// nominal_seconds() of a config's problems; the same on all machines with this kind of device.
std::vector<double> nominal_seconds_of(const Config& config, const Catalog& catalog,
                                       const Place& place, bool measure);

/// The shard of each of a config's problems, in its order; the same on all machines with this kind
/// of device.
std::vector<int> shards_of(const Config& config, const Catalog& catalog, const Place& place,
                           bool measure, int shards);

/// The places of the problems in one shard, counted from 0.
std::vector<std::size_t> places_of(std::span<const int> shards, int number);

/// Keeps only the problems at these places, which ascend.
void keep_places(std::vector<Assignment>& work, std::span<const std::size_t> places);

/// What is to be brought of these problems, which stand at these places of the config.
std::vector<AskedPoint> asked_points(std::span<const Assignment> work,
                                     std::span<const std::size_t> places);

}  // namespace gla_bench
